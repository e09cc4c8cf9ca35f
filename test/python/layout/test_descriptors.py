"""TMA boxes and wgmma descriptors against the address rules of the hardware."""

import itertools
import random

import pytest

from tilews import layout as L
from tilews.layout import SharedLayout

EXTENTS = (8, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256)


def swizzled(address, span):
    """The address at which the hardware stores a byte.

    The number of the 16-byte chunk is XORed with the number of the 128-byte line, in
    as many bits as the chunks of a span need."""
    if not span:
        return address
    return address ^ (((address >> 7) % (span // 16)) << 4)


# ===--- TMA ---=== #


def walk_boxes(boxes, element_bytes):
    """The bytes that TMA writes: {global coordinate: byte}.

    A box is dense in shared memory, its first dimension is the fastest, and addresses
    are swizzled."""
    found = {}
    for start, base in boxes.instructions:
        assert start % 128 == 0
        for place, coord in enumerate(
            itertools.product(*map(range, reversed(boxes.extents)))
        ):
            element = list(base)
            for dim, step in zip(boxes.dims, reversed(coord), strict=True):
                element[dim] += step
            address = swizzled(start + place * element_bytes, boxes.swizzle)
            assert tuple(element) not in found
            found[tuple(element)] = address
    return found


def check_boxes(layout, bits, global_dims, **region):
    """Compares the boxes with the layout element by element, and returns them."""
    boxes = L.tma_boxes(layout, bits, global_dims, **region)
    rank = region.get("global_rank", len(global_dims))
    assert sorted(boxes.dims) == list(range(rank)) and 1 <= rank <= 5
    assert all(1 <= extent <= 256 for extent in boxes.extents)
    inner = boxes.extents[0] * bits // 8
    assert inner == boxes.swizzle if boxes.swizzle else inner % 16 == 0
    found = walk_boxes(boxes, bits // 8)
    offsets = region.get("offsets", [0] * len(global_dims))
    sizes = region.get("sizes", layout.shape)
    expected = {}
    for coord in itertools.product(*map(range, sizes)):
        element = [0] * rank
        for dim, step in zip(global_dims, coord, strict=True):
            if dim >= 0:
                element[dim] += step
        place = [o + c for o, c in zip(offsets, coord, strict=True)]
        expected[tuple(element)] = layout.offset(place, bits) * bits // 8
    assert found == expected
    return boxes


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("span", [16, 32, 64, 128])
def test_boxes_of_panels(bits, span):
    """Panels of every swizzle: a box is a panel, or at most 256 rows of it."""
    panel = span * 8 // bits
    for rows, panels in [(8, 1), (24, 3), (40, 2), (96, 1), (256, 2), (384, 1)]:
        if rows * span % 128:
            continue
        layout = SharedLayout.panels([rows, panel * panels], bits, span)
        boxes = check_boxes(layout, bits, [0, 1])
        assert boxes.swizzle == (span if span > 16 else 0)
        assert boxes.dims == [1, 0]
        # A single panel without a swizzle is a row-major buffer.
        if panels > 1:
            assert boxes.extents == [panel, min(rows, 192 if rows == 384 else 256)]


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_boxes_of_odd_extents(bits):
    """All extents, with the widest span that divides a row, K-major and MN-major (the
    global matrix is transposed or not)."""
    for rows, columns in itertools.product(EXTENTS, EXTENTS):
        if rows * columns > 64 * 96:
            continue
        row_bytes = columns * bits // 8
        span = next((s for s in (128, 64, 32, 16) if row_bytes % s == 0), None)
        if span is None or rows * span % 128:
            continue
        layout = SharedLayout.panels([rows, columns], bits, span)
        check_boxes(layout, bits, [0, 1])
        check_boxes(layout, bits, [1, 0], inner_dim=0)


@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_boxes_of_versions(span):
    """Boxes of one version in a buffer, and of all versions."""
    one = SharedLayout.panels([24, 192], 16, span)
    atom = 8 * span if span else 128
    many = L.Layout.from_shared(one, 16).expand(3, alignment=atom // 2).to_shared(16)
    whole = check_boxes(one, 16, [0, 1])
    slot = many.offset([1, 0, 0], 16) * 2
    for version in range(3):
        boxes = check_boxes(
            many,
            16,
            [-1, 0, 1],
            offsets=[version, 0, 0],
            sizes=[1, 24, 192],
            global_rank=2,
        )
        assert boxes.extents == whole.extents
        assert boxes.instructions == [
            (start + version * slot, coord) for start, coord in whole.instructions
        ]
    check_boxes(many, 16, [0, 1, 2])


def test_boxes_of_higher_rank():
    """Batches and channels: dimensions in any order, up to five."""
    layout = SharedLayout.row_major([2, 3, 4, 8, 64])
    boxes = check_boxes(layout, 16, [0, 1, 2, 3, 4])
    assert boxes.extents == [64, 8, 4, 3, 2] and len(boxes.instructions) == 1
    boxes = check_boxes(layout, 16, [3, 1, 0, 2, 4])
    assert boxes.dims == [4, 2, 0, 1, 3] and len(boxes.instructions) == 1
    # Rows of the buffer are permuted.
    swapped = SharedLayout([(8, 64, 0), (4, 512, 1), (64, 1, 2)])
    assert check_boxes(swapped, 16, [0, 1, 2]).dims == [2, 0, 1]
    # A fixed coordinate of the global buffer.
    boxes = check_boxes(SharedLayout.row_major([16, 64]), 16, [1, 3], global_rank=4)
    assert boxes.dims == [3, 1, 2, 0] and boxes.extents == [64, 16, 1, 1]


def test_boxes_of_random_regions():
    """Random nested layouts and regions: boxes are right unless they are declined."""
    copied = 0
    for case in range(2000):
        rng = random.Random(f"boxes/{case}")
        bits = rng.choice((8, 16, 32))
        digits = [(rng.choice((2, 3, 4, 8)), rng.randrange(2)) for _ in range(3)]
        inner = rng.choice((16, 32, 64, 128)) * 8 // bits
        digits = [(inner, 1), *digits]
        modes, stride = [[], []], 1
        for extent, dim in digits:
            modes[dim].append((extent, stride, dim))
            stride *= extent * rng.choice((1, 1, 1, 2))
        if not modes[0]:
            continue
        layout = SharedLayout(modes[0] + modes[1], (rng.choice((0, 0, 1, 2, 3)), 4, 3))
        sizes, offsets = list(layout.shape), [0, 0]
        for dim in range(2):
            if rng.random() < 0.5:
                part = rng.choice([e for e, _, _ in modes[dim]])
                if sizes[dim] % part == 0:
                    offsets[dim] = part * rng.randrange(sizes[dim] // part)
                    sizes[dim] = part
        try:
            check_boxes(layout, bits, [0, 1], offsets=offsets, sizes=sizes)
        except ValueError as reason:
            assert len(str(reason)) > 20
            continue
        copied += 1
    assert copied > 400


@pytest.mark.parametrize(
    "layout, bits, options, message",
    [
        (SharedLayout.row_major([8, 4]), 16, {},
         "runs of 8 bytes in shared memory are no multiple of 16 bytes"),
        (SharedLayout.row_major([8, 64]), 4, {},
         "TMA moves elements of 8, 16, 32 or 64 bits, found 4"),
        (SharedLayout([(64, 72, 0), (64, 1, 1)]), 16, {},
         "boxes of 128 bytes without gaps lie 144 bytes apart in shared memory, "
         "not a multiple of 128; the layout is padded"),
        (SharedLayout([(8, 128, 0), (64, 2, 1)]), 16, {},
         "no elements of the region lie side by side in shared memory"),
        (SharedLayout.row_major([64, 64]), 16, {"inner_dim": 0},
         "neighbours in shared memory are 1 apart along global dimension 1, they "
         "have to be neighbours along dimension 0"),
        (SharedLayout([(64, 1, 0), (8, 64, 1)]), 16, {},
         "neighbours in shared memory are 1 apart along global dimension 0"),
        (SharedLayout([(64, 64, 0), (64, 1, 1)], (2, 4, 4)), 16, {},
         "TMA has no swizzle Sw<2,4,4>, only Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>"),
        (SharedLayout([(8, 32, 0), (32, 1, 1)], (3, 4, 3)), 16, {},
         "runs of 64 bytes in shared memory are no multiple of the swizzle's 128"),
        (SharedLayout.panels([64, 256], 16, 128), 16,
         {"offsets": [0, 32], "sizes": [64, 64]},
         "the region cuts through the runs of 64 elements along shared dimension 1"),
        (SharedLayout.row_major([64, 64]), 16,
         {"offsets": [0, 8], "sizes": [64, 56]},
         "the region begins 16 bytes into the buffer, not at a multiple of 128"),
        (SharedLayout.row_major([64, 64]), 16,
         {"offsets": [32, 0], "sizes": [64, 64]},
         "elements 32 to 95 of shared dimension 0 are outside of its extent 64"),
        (SharedLayout.row_major([128, 512]), 16, {},
         "the region falls into 256 boxes of 512 bytes without gaps, more than 64"),
        (SharedLayout.row_major([8, 64]), 16, {"global_rank": 6},
         "a tensor map has 1 to 5 dimensions, the global buffer has 6"),
    ],
)  # fmt: skip
def test_boxes_declined(layout, bits, options, message):
    with pytest.raises(ValueError) as error:
        L.tma_boxes(layout, bits, [0, 1], **options)
    assert message in str(error.value)


# ===--- wgmma ---=== #


def canonical(d, bits, row, k):
    """The byte of an instruction's element before the swizzle (PTX ISA, "Asynchronous
    Warpgroup Level Matrix Shared Memory Layout").

    Rows have 16 bytes without a swizzle and the span with one; eight rows make a core
    matrix."""
    width = (d.swizzle or 16) * 8 // bits
    leading, stride = d.leading_bytes, d.stride_bytes
    if d.major_k:
        # With a swizzle all of K is in a row, so the leading offset is not used.
        chunk, element = divmod(k, width)
        assert chunk == 0 or not d.swizzle
        place = chunk * leading + element * bits // 8
        return row // 8 * stride + row % 8 * (d.swizzle or 16) + place
    if not d.swizzle:
        leading, stride = stride, leading
    panel, element = divmod(row, width)
    place = panel * leading + element * bits // 8
    return k // 8 * stride + k % 8 * (d.swizzle or 16) + place


def check_descriptor(layout, bits, k_dim, extent, k=None):
    """Compares every element of every instruction with the layout."""
    k = k or 256 // bits
    d = L.wgmma_descriptor(layout, bits, k_dim, extent, k)
    shape = layout.shape
    parts = shape[1 - k_dim] // extent, shape[k_dim] // k
    assert (len(d.starts), len(d.k_starts)) == parts
    for i, j in itertools.product(range(shape[1 - k_dim]), range(shape[k_dim])):
        start = d.starts[i // extent] + d.k_starts[j // k]
        address = swizzled(start + canonical(d, bits, i % extent, j % k), d.swizzle)
        coord = (i, j) if k_dim == 1 else (j, i)
        assert address == layout.offset(coord, bits) * bits // 8, (i, j)
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[d.swizzle]
    assert d.bits == mode << 62 | d.stride_bytes >> 4 << 32 | d.leading_bytes >> 4 << 16
    return d


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("span", [16, 32, 64, 128])
def test_descriptors_along_k(bits, span):
    for rows, extent in [(64, 64), (24, 24), (96, 48), (192, 64), (40, 8)]:
        for columns in {span * 8 // bits, 384 * 8 // bits, 128 * 8 // bits}:
            layout = SharedLayout.panels([rows, columns], bits, span)
            if columns * bits == span * 8 < 256:
                continue  # less than an instruction's K
            d = check_descriptor(layout, bits, 1, extent)
            assert d.major_k and d.swizzle == (span if span > 16 else 0)


@pytest.mark.parametrize("span", [16, 32, 64, 128])
def test_descriptors_along_mn(span):
    for depth, columns in [(16, 256), (48, 192), (64, 64), (32, 128), (80, 96)]:
        panel = span // 2
        if columns % panel:
            continue
        layout = SharedLayout.panels([depth, columns], 16, span)
        for extent in {panel, columns}:
            d = check_descriptor(layout, 16, 0, extent)
            assert not d.major_k


def test_descriptors_of_other_layouts():
    """Layouts that the panel functions do not make."""
    # Both operands' rows run along K although K is dimension 0.
    columns_first = SharedLayout([(64, 1, 0), (128, 64, 1)], (3, 4, 3))
    assert check_descriptor(columns_first, 16, 0, 64).major_k
    # Core matrices with gaps between the groups of rows, and along K.
    sparse = SharedLayout([(8, 8, 0), (8, 640, 0), (8, 1, 1), (4, 128, 1)])
    d = check_descriptor(sparse, 16, 1, 64)
    assert (d.leading_bytes, d.stride_bytes) == (256, 1280)
    # K in the outer mode, twice as deep an instruction (wgmma.mma_async.sp).
    check_descriptor(SharedLayout.panels([64, 64], 16, 128), 16, 1, 64, k=32)


def test_descriptors_of_random_layouts():
    """The hardware reads the right elements unless a layout is declined."""
    read = 0
    for case in range(1500):
        rng = random.Random(f"descriptors/{case}")
        bits = rng.choice((8, 16, 16, 32))
        swizzle = rng.choice((0, 1, 2, 3))
        width = rng.choice((16 << swizzle, 16 << swizzle, 64)) * 8 // bits
        inner = rng.randrange(2)
        digits = [(width, inner), (8, 1 - inner)]
        digits += [(rng.choice((2, 2, 3, 4)), rng.randrange(2)) for _ in range(3)]
        if rng.random() < 0.3:
            digits[1:] = rng.sample(digits[1:], 4)
        modes, stride = [[], []], 1
        for extent, dim in digits:
            modes[dim].append((extent, stride, dim))
            stride *= extent * rng.choice((1, 1, 1, 1, 2))
        layout = SharedLayout(modes[0] + modes[1], (swizzle, 4, 3))
        k_dim = rng.randrange(2)
        extent = rng.choice([e for e in (8, 16, 24, 48, 64, layout.shape[1 - k_dim])])
        try:
            check_descriptor(layout, bits, k_dim, extent)
        except ValueError as reason:
            assert len(str(reason)) > 20
            continue
        read += 1
    assert read > 100


@pytest.mark.parametrize(
    "layout, bits, k_dim, extent, message",
    [
        (SharedLayout.row_major([64, 64]), 16, 1, 64,
         "wgmma reads rows along M or N that are 16 bytes apart, found 128"),
        (SharedLayout([(64, 72, 0), (64, 1, 1)]), 16, 1, 64,
         "wgmma reads rows along M or N that are 16 bytes apart, found 144"),
        (SharedLayout([(64, 72, 0), (64, 1, 1)], (3, 4, 3)), 16, 1, 64,
         "wgmma reads rows along M or N that are 128 bytes apart, found 144"),
        (SharedLayout.panels([32, 64], 8, 64), 8, 0, 64,
         "elements of 8 bits that are not side by side along K cannot be transposed"),
        (SharedLayout.panels([64, 64], 16, 128), 16, 0, 32,
         "an instruction's part begins 64 bytes into the buffer, inside of the 1024"),
        (SharedLayout.panels([32, 192], 16, 128), 16, 0, 96,
         "the instruction's 96 elements along M or N cut through a part of the layout"),
        (SharedLayout.panels([64, 64], 16, 128), 16, 1, 48,
         "the instruction's 48 elements along M or N do not divide the buffer's 64"),
        (SharedLayout([(64, 64, 0), (64, 1, 1)], (2, 4, 4)), 16, 1, 64,
         "wgmma has no swizzle Sw<2,4,4>"),
        (SharedLayout([(64, 128, 0), (64, 2, 1)]), 16, 1, 64,
         "no 16 bytes along K, M or N lie side by side"),
        (SharedLayout.row_major([2, 64, 64]), 16, 1, 64,
         "wgmma reads buffers of two dimensions, found 3"),
        (SharedLayout.row_major([64, 64]), 64, 1, 64,
         "wgmma reads elements of 8, 16 or 32 bits, found 64"),
    ],
)  # fmt: skip
def test_descriptors_declined(layout, bits, k_dim, extent, message):
    with pytest.raises(ValueError) as error:
        L.wgmma_descriptor(layout, bits, k_dim, extent, 256 // bits)
    assert message in str(error.value)
