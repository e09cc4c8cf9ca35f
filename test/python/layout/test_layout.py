"""Layouts of fragments and buffers, against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilews import layout as L

shapes = st.lists(st.integers(1, 12), min_size=0, max_size=5).filter(
    lambda shape: math.prod(shape) <= 4096
)


def coordinates(shape):
    """All coordinates of a shape, row by row."""
    return itertools.product(*map(range, shape))


def lanes(count):
    """Lane numbers as a column, for formulas over (lane, register)."""
    return np.arange(count)[:, None]


# Blocked layouts and changes of shape.


@settings(max_examples=300, deadline=None)
@given(
    shapes,
    st.sampled_from([1, 32, 64, 96, 128, 160, 224, 256, 384, 1024]),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_blocked(shape, threads, vector):
    blocked = L.FragmentLayout.blocked(shape, threads, vector)
    assert blocked.threads == threads
    # A reduction exchanges elements between lanes in pairs.
    step, lanes = 1, min(threads & -threads, 64)
    for extent, _, _ in blocked.thread:
        step *= extent
        assert lanes % step == 0 or step % lanes == 0
    table = blocked.table(len(shape))
    held = {tuple(map(int, c)) for c in table.reshape(threads * table.shape[1], -1)}
    assert held >= set(coordinates(shape))
    run = math.gcd(vector, shape[-1]) if shape else 1
    if shape:
        assert blocked.contiguity(len(shape) - 1) % run == 0
        assert (table[:, ::run, -1] % run == 0).all()


@pytest.mark.parametrize(
    "shape, threads, vector, registers",
    [
        ((64, 64), 128, 4, 32),
        ((1, 1024), 128, 4, 8),
        ((128,), 128, 1, 1),
        ((32,), 128, 1, 1),
        ((24, 96), 96, 4, 24),
        ((64, 32), 384, 4, 8),
        ((3, 5), 32, 1, 1),
        ((), 64, 1, 1),
    ],
)
def test_blocked_wastes_no_registers(shape, threads, vector, registers):
    assert L.FragmentLayout.blocked(shape, threads, vector).registers == registers


def same(a, b, rank):
    np.testing.assert_array_equal(a.table(rank), b.table(rank))


@settings(max_examples=300, deadline=None)
@given(
    shapes.filter(bool),
    st.sampled_from([32, 96, 128]),
    st.sampled_from([1, 2, 4]),
    st.data(),
)
def test_dimensions(shape, threads, vector, data):
    """Coordinates after a change of dimensions are the old ones, rearranged."""
    rank = len(shape)
    blocked = L.FragmentLayout.blocked(shape, threads, vector)
    table = blocked.table(rank)
    dim = data.draw(st.integers(0, rank - 1))
    permutation = data.draw(st.permutations(range(rank)))
    np.testing.assert_array_equal(
        blocked.transpose(permutation).table(rank), table[..., permutation]
    )
    same(blocked.coalesce(), blocked, rank)
    collapsed = blocked.collapse_dim(dim).table(rank)
    assert (collapsed[..., dim] == 0).all()
    dropped = blocked.drop_dim(dim)
    assert dropped.threads == threads
    others = [d for d in range(rank) if d != dim]
    for thread in range(threads):
        kept = {tuple(c) for c in table[thread][:, others]}
        assert {tuple(c) for c in dropped.table(rank - 1)[thread]} == kept
        assert {tuple(c) for c in collapsed[thread][:, others]} == kept
    inserted = blocked.insert_dim(dim).table(rank + 1)
    np.testing.assert_array_equal(np.delete(inserted, dim, axis=2), table)
    assert (inserted[..., dim] == 0).all()


def test_coalesce():
    layout = L.FragmentLayout(
        [(4, 1, 0), (1, 7, 1), (8, 4, 0), (2, 0, 1), (3, 0, 0)],
        [(2, 1, 1), (2, 2, 1), (2, 2, 0)],
    )
    coalesced = layout.coalesce()
    assert coalesced.thread == [(32, 1, 0), (6, 0, 0)]
    assert coalesced.value == [(4, 1, 1), (2, 2, 0)]


factored = st.lists(st.sampled_from([2, 3, 4, 5, 8]), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(factored, st.sampled_from([32, 64, 96]), st.sampled_from([1, 2, 4]), st.data())
def test_reshape_keeps_elements(shape, threads, vector, data):
    """Registers keep the row-major numbers of their elements, or there is no layout."""
    total = math.prod(shape)
    divisor = data.draw(
        st.sampled_from([d for d in range(1, total + 1) if total % d == 0])
    )
    for other in ([total], [divisor, total // divisor], [1, *shape, 1]):
        source = L.FragmentLayout.blocked(shape, threads, vector)
        table = source.table(len(shape))
        fits = all((table[..., d] < n).all() for d, n in enumerate(shape))
        result = source.reshape(shape, other)
        if result is None:
            assert not fits or other == [divisor, total // divisor]
            continue
        assert fits and result.threads == threads
        moved = result.table(len(other))
        np.testing.assert_array_equal(
            np.ravel_multi_index(tuple(np.moveaxis(table, -1, 0)), shape),
            np.ravel_multi_index(tuple(np.moveaxis(moved, -1, 0)), other),
        )


def test_reshape_declines():
    # Registers past the extent would become elements of the next row.
    assert L.FragmentLayout([(32, 1, 1)], []).reshape([2, 25], [50]) is None
    # Modes that overlap would need a carry.
    overlap = L.FragmentLayout([(3, 1, 0), (3, 1, 0), (4, 1, 0)], [])
    assert overlap.reshape([8], [2, 4]) is None
    assert L.FragmentLayout([(8, 3, 0)], [(3, 1, 0)]).reshape([24], [3, 8]) is None


# Shared layouts.


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("span", [0, 16, 32, 64, 128])
@pytest.mark.parametrize("panels", [1, 2, 3])
def test_panels(bits, span, panels):
    """Row r, byte b of the row: panel b / span, each of `rows` rows of `span`
    bytes, then bits 4.. of the offset XORed with bits 7.. (PTX ISA, "Shared Memory
    Matrix Layout": swizzling modes)."""
    rows, size = 24, bits // 8
    columns = max(span, 16) * panels // size
    layout = L.SharedLayout.panels([rows, columns], bits, span)
    assert layout.shape == [rows, columns]
    row_bytes = columns * size
    width = span or row_bytes
    mask = {0: 0, 16: 0, 32: 1, 64: 3, 128: 7}[span]
    offsets = set()
    for row, column in coordinates((rows, columns)):
        byte = column * size
        expected = byte // width * rows * width + row * width + byte % width
        expected ^= ((expected >> 7) & mask) << 4
        assert layout.offset([row, column], bits) * size == expected
        offsets.add(expected)
    assert len(offsets) == rows * columns
    assert max(offsets) // size < layout.cosize(bits)
    assert layout.contiguity(bits) * size == (16 if span >= 16 else row_bytes)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 16]), min_size=1, max_size=3),
    st.sampled_from([4, 8, 16, 32]),
    st.sampled_from([0, 32, 64, 128]),
    st.data(),
)
def test_contiguity(shape, bits, span, data):
    """Runs of the returned length are adjacent and start at a multiple of it."""
    if data.draw(st.booleans()):
        layout = L.SharedLayout.panels(shape, bits, span)
    else:
        modes, stride = [], 1
        for dim in data.draw(st.permutations(range(len(shape)))):
            modes.append((shape[dim], stride, dim))
            stride *= shape[dim] * data.draw(st.sampled_from([1, 1, 2, 3]))
        layout = L.SharedLayout(sorted(modes, key=lambda mode: mode[2]))
    run = layout.contiguity(bits)
    assert run >= 1 and shape[-1] % run == 0
    for coords in coordinates(shape):
        offset = layout.offset(coords, bits)
        assert offset % run == coords[-1] % run
        assert offset < layout.cosize(bits)


@settings(max_examples=300, deadline=None)
@given(
    factored,
    st.sampled_from([8, 16, 32]),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([0, 32, 64, 128]),
    st.data(),
)
def test_view_keeps_bytes(shape, from_bits, to_bits, span, data):
    """Element i of a view occupies the same bytes as element i of the source in
    row-major order."""
    shape = [*shape, 64]
    source = L.SharedLayout.panels(shape, from_bits, span)
    total = math.prod(shape) * from_bits // to_bits
    inner = data.draw(
        st.sampled_from([d for d in (1, 16, 32, 64, 128, 192) if total % d == 0])
    )
    target = [total // inner, inner]
    view = source.view(target, from_bits, to_bits)
    if view is None:
        assert span and inner > 1
        return
    assert view.shape == target
    step = min(from_bits, to_bits) // 8

    def place(layout, shape, bits, byte):
        coords = np.unravel_index(byte * 8 // bits, shape)
        return layout.offset([int(c) for c in coords], bits) * bits // 8 + (
            byte % (bits // 8)
        )

    for byte in range(0, min(math.prod(shape) * from_bits // 8, 8192), step * 4):
        assert place(source, shape, from_bits, byte) == place(
            view, target, to_bits, byte
        )


def test_view_of_panels():
    panels = L.SharedLayout.panels([64, 128], 16, 128)
    assert panels.view([64, 64], 16, 32).modes == [
        (64, 32, 0),
        (32, 1, 1),
        (2, 2048, 1),
    ]
    assert panels.view([128, 64], 16, 16).modes == [
        (2, 4096, 0),
        (64, 64, 0),
        (64, 1, 1),
    ]
    assert L.SharedLayout.panels([64, 96], 16, 64).view([96, 64], 16, 16) is None
    column_major = L.SharedLayout([(64, 1, 0), (64, 64, 1)])
    assert column_major.view([64, 32], 16, 32) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: L.SharedLayout([(0, 1, 0)]),
        lambda: L.SharedLayout([(4, 1, 1)]),
        lambda: L.SharedLayout([(4, 1, 0), (4, 4, 1), (2, 16, 0)]),
        lambda: L.SharedLayout([(4, 1, 0)], (4, 4, 3)),
        lambda: L.SharedLayout.panels([], 16, 128),
        lambda: L.SharedLayout.panels([8, 8], 16, 48),
        lambda: L.SharedLayout.panels([8, 8], 0, 128),
        lambda: L.SharedLayout.row_major([8, 8]).offset([8, 0], 16),
        lambda: L.SharedLayout.row_major([8, 8]).offset([0], 16),
        lambda: L.SharedLayout.row_major([8, 8]).view([8], 16, 16),
        lambda: L.FragmentLayout([(4, -1, 0)], []),
        lambda: L.FragmentLayout([(4, 1, 1)], []).table(1),
        lambda: L.FragmentLayout([(4, 1, 1)], []).transpose([0, 0]),
        lambda: L.FragmentLayout.blocked([8], 0),
        lambda: L.FragmentLayout.blocked([8], 32, 0),
        lambda: L.FragmentLayout.blocked([0], 32),
        lambda: L.mma_sync(24),
        lambda: L.wgmma(12, 16),
        lambda: L.mfma(8, 8),
        lambda: L.mfma(32, 3),
        lambda: L.mfma_small(8, 8, 8),
        lambda: L.mfma_small(16, 8, 5),
        lambda: L.wgmma(8, 16).layout("rhs", (1, 1), 16, 8),
        lambda: L.mma_sync(16).layout("b", (1, 1), 16, 8),
        lambda: L.mma_sync(16).grid(4, 64, 64, "round"),
    ],
)
def test_mistakes_are_errors(call):
    with pytest.raises(ValueError):
        call()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([1, 3, 5, 8, 16, 24, 40]), min_size=0, max_size=3),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([0, 32, 64, 128]),
    st.integers(1, 5),
)
def test_versions(shape, bits, span, versions):
    """Every version has the slot's layout and starts at a multiple of the swizzle's
    atom and of 128 bytes; versions do not overlap."""
    if span and shape:
        shape[-1] *= span * 8 // bits
    slot = L.SharedLayout.row_major(shape)
    if span and shape:
        slot = L.SharedLayout.panels(shape, bits, span)
    many = slot.expand(versions, bits)
    assert many.shape == [versions, *shape]
    assert many.slot(bits) == slot
    stride = many.modes[0][1] * bits // 8
    atom = 8 * span if span and shape else 128
    if versions > 1:
        assert stride % max(atom, 128) == 0
        assert slot.cosize(bits) * bits // 8 <= stride
    for coords in itertools.islice(coordinates(shape), 200):
        for version in range(versions):
            own = slot.offset(coords, bits) + version * stride * 8 // bits
            assert many.offset([version, *coords], bits) == own


def test_versions_without_a_layout():
    half = L.SharedLayout([(2, 256, 0), (4, 64, 1), (64, 1, 2)], (3, 4, 3))
    with pytest.raises(ValueError, match="slots of 512 bytes are no multiple of the"):
        half.slot(16)
    with pytest.raises(ValueError, match="expected a leading dimension of versions"):
        L.SharedLayout([]).slot(16)
    with pytest.raises(ValueError, match="expected a positive number of versions"):
        L.SharedLayout.row_major([8]).expand(0, 16)
