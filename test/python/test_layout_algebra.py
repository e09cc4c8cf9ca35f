"""The layout algebra against brute-force enumeration of its definitions."""

import itertools
import math
import random

import numpy as np
import pytest

from tilews import layout as L
from tilews.layout import Layout

#: Each property is tried on about this many random cases, 28,000 in all.
CASES = 1200


def random_shape(rng, leaves, depth=2):
    """A nested shape, extents that are no powers of two included."""
    if leaves == 1 or depth == 0:
        return rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 12))
    cut = rng.randint(1, leaves - 1)
    parts = [random_shape(rng, n, depth - 1) for n in (cut, leaves - cut)]
    return tuple(parts)


def nest(profile, leaves):
    """The leaves, an iterator, nested like `profile`."""
    if isinstance(profile, tuple):
        return tuple(nest(part, leaves) for part in profile)
    return next(leaves)


def flat(tuple_):
    """The leaves of a nested tuple."""
    if isinstance(tuple_, tuple):
        return [leaf for part in tuple_ for leaf in flat(part)]
    return [tuple_]


def make(shape, strides):
    """A layout of leaves in order."""
    return Layout(shape, nest(shape, iter(strides)))


def random_layout(rng, leaves=4, size=400):
    """Any layout: with gaps, overlaps and broadcast leaves."""
    while True:
        shape = random_shape(rng, rng.randint(1, leaves))
        if math.prod(flat(shape)) <= size:
            break
    return make(shape, [rng.choice((0, 1, 1, 2, 3, 4, 6, 8, 12)) for _ in flat(shape)])


def random_tower(rng, leaves=4, size=400, gaps=True):
    """An injective layout: leaves in random order, each past the ones below."""
    while True:
        shape = random_shape(rng, rng.randint(1, leaves))
        if math.prod(flat(shape)) <= size:
            break
    extents = flat(shape)
    strides, span = [0] * len(extents), 1
    for leaf in rng.sample(range(len(extents)), len(extents)):
        span *= rng.choice((1, 1, 1, 2, 3)) if gaps else 1
        strides[leaf] = span
        span *= extents[leaf]
    return make(shape, strides)


def offsets(layout):
    """The definition: digits of the index, first leaf fastest, times strides."""
    extents, strides = flat(layout.shape), flat(layout.stride)
    index = np.arange(math.prod(extents))
    total = np.zeros_like(index)
    for extent, stride in zip(extents, strides, strict=True):
        total += index % extent * stride
        index = index // extent
    return total


def beyond(layout, indices):
    """Offsets of a layout whose last leaf with more than one element goes on."""
    pairs = zip(flat(layout.shape), flat(layout.stride), strict=True)
    leaves = [(e, s) for e, s in pairs if e > 1] or [(1, 0)]
    total = np.zeros_like(indices)
    for extent, stride in leaves[:-1]:
        total += indices % extent * stride
        indices = indices // extent
    return total + indices * leaves[-1][1]


def attempt(operation, *arguments):
    """The result of an operation, or None where it gives a reason for none."""
    try:
        return operation(*arguments)
    except ValueError as error:
        assert len(str(error)) > 20
        return None


def cases(seed, count=CASES):
    """Random generators, one a case."""
    return (random.Random(f"{seed}/{i}") for i in range(count))


def same(found, expected):
    np.testing.assert_array_equal(found, expected)


def test_evaluation():
    for rng in cases("evaluation"):
        a = random_layout(rng)
        expected = offsets(a)
        same(a.offsets(), expected)
        assert a.size == len(expected)
        assert a.cosize == expected.max() + 1
        index = rng.randrange(a.size)
        assert a(index) == expected[index] == a(a.coord(index))
        assert Layout(str(a)) == a == Layout(a.shape, a.stride)
        assert a.rank == (len(a.shape) if isinstance(a.shape, tuple) else 1)


def test_coalesce():
    for rng in cases("coalesce"):
        a = random_layout(rng, leaves=5)
        c = a.coalesce()
        same(c.offsets(), offsets(a))
        # No two neighbours could be one.
        leaves = list(zip(flat(c.shape), flat(c.stride), strict=True))
        assert c.depth <= 1
        for (e0, s0), (e1, s1) in itertools.pairwise(leaves):
            assert e0 > 1 and e1 > 1 and s1 != e0 * s0
        modes = a.coalesce_modes()
        assert modes.rank == a.rank
        for i in range(a.rank):
            assert modes[i] == a[i].coalesce()
        same(a.flatten().offsets(), offsets(a))


def test_compose():
    composed = 0
    for rng in cases("compose", 2 * CASES):
        a, b = random_layout(rng), random_layout(rng, leaves=3, size=60)
        c = attempt(a.compose, b)
        if c is None:
            continue
        composed += 1
        same(offsets(c), offsets(a)[offsets(b)])
        # Coordinates of `b` are coordinates of the result.
        if isinstance(b.shape, tuple):
            assert [m.size for m in c] == [m.size for m in b]
        assert a @ b == c
    assert composed > CASES / 2


def test_compose_declines_only_what_is_no_layout():
    """A declined composition of small layouts has no leaf-wise answer at all."""
    declined = 0
    for rng in cases("declined"):
        a = random_layout(rng, leaves=3, size=60)
        b = Layout(rng.choice((2, 3, 5)), rng.choice((1, 2, 3, 4)))
        # Of a prime extent: the result is one leaf, or nothing.
        if b.cosize > a.size:
            with pytest.raises(ValueError, match="the former has only"):
                a.compose(b)
            continue
        values = offsets(a)[offsets(b)]
        if attempt(a.compose, b) is None:
            declined += 1
            steps = np.diff(values)
            # Only digits that carry and cancel could still be equal steps.
            assert (steps != steps[0]).any() or a.find_collision()
    assert declined > 20


def test_compose_by_mode():
    for rng in cases("by mode", CASES // 2):
        a, b = random_tower(rng, 2, 24), random_tower(rng, 2, 24)
        both = Layout((a.shape, b.shape), (a.stride, b.stride))
        tile = random_tower(rng, 2, 8, gaps=False)
        expected = attempt(a.compose, tile)
        found = attempt(both.compose, (tile,))
        assert (found is None) == (expected is None)
        if found is not None:
            assert found[0] == expected and found[1] == b


def test_complement():
    complements = 0
    for rng in cases("complement"):
        a = random_tower(rng) if rng.random() < 0.7 else random_layout(rng)
        size = rng.randint(1, 2 * a.cosize)
        c = attempt(a.complement, size)
        if c is None:
            continue
        complements += 1
        picked = np.unique(offsets(a))
        rest = offsets(c)
        reached = (picked[:, None] + rest[None, :]).ravel()
        # Each offset once, without a gap, up to `size`.
        same(np.sort(reached), np.arange(len(reached)))
        assert len(reached) >= size
        # In as few repetitions of what `a` spans as that takes.
        leaves = zip(flat(a.shape), flat(a.stride), strict=True)
        span = max([extent * stride for extent, stride in leaves if extent > 1] + [1])
        assert len(reached) == -(-size // span) * span
    assert complements > CASES / 2


def test_divide():
    divided = 0
    for rng in cases("divide", 2 * CASES):
        a = random_layout(rng)
        tile = random_tower(rng, leaves=2, size=24)
        d = attempt(a.logical_divide, tile)
        if d is None:
            continue
        divided += 1
        rest = tile.complement(a.size)
        indices = offsets(tile)[None, :] + offsets(rest)[:, None]
        same(offsets(d), beyond(a, indices.ravel()))
        assert (d[0].size, d[1].size) == (tile.size, rest.size)
        if d.size == a.size:
            same(np.sort(offsets(d)), np.sort(offsets(a)))
        assert a / tile == d
    assert divided > CASES / 2


def test_divide_by_mode():
    for rng in cases("divide by mode", CASES // 2):
        a, b = random_tower(rng, 2, 24), random_tower(rng, 2, 24)
        both = Layout((a.shape, b.shape, 3), (a.stride, b.stride, 1000))
        tiles = tuple(rng.choice((1, 2, 3, 4)) for _ in range(2))
        parts = [
            attempt(m.logical_divide, t) for m, t in zip((a, b), tiles, strict=True)
        ]
        found = attempt(both.logical_divide, tiles)
        assert (found is None) == (None in parts)
        if found is None:
            continue
        assert [found[0], found[1]] == parts and found[2] == Layout(3, 1000)
        zipped, tiled = both.zipped_divide(tiles), both.tiled_divide(tiles)
        for i, part in enumerate(parts):
            assert zipped[0][i] == tiled[0][i] == part[0]
            assert zipped[1][i] == tiled[1 + i] == part[1]
        assert zipped[1][2] == tiled[3] == found[2]


def test_product():
    multiplied = 0
    for rng in cases("product"):
        a, b = random_tower(rng, 3, 60), random_tower(rng, 2, 16)
        p = attempt(a.logical_product, b)
        if p is None:
            continue
        multiplied += 1
        assert p[0] == a and p[1].size == b.size
        # Copies of `a` that do not meet, in the order of `b`.
        places = a.complement(a.size * b.cosize)
        same(offsets(p[1]), offsets(places)[offsets(b)])
        assert len(np.unique(offsets(p))) == p.size
        assert a * b == p
    assert multiplied > CASES / 2


def test_blocked_and_raked_product():
    for rng in cases("blocked", CASES // 2):
        shape = (rng.randint(1, 6), rng.randint(1, 6))
        grid = (rng.randint(1, 4), rng.randint(1, 4))
        a, b = Layout(shape), Layout(grid)
        blocked, raked = a.blocked_product(b), a.raked_product(b)
        copies = offsets(a.logical_product(b)).reshape(b.size, a.size)
        for i, j, k, n in itertools.product(*map(range, shape + grid)):
            expected = copies[k + n * grid[0], i + j * shape[0]]
            assert blocked(i + k * shape[0], j + n * shape[1]) == expected
            assert raked(i * grid[0] + k, j * grid[1] + n) == expected
            if rng.random() < 0.9:
                break


def test_right_inverse():
    for rng in cases("right inverse"):
        a = random_layout(rng) if rng.random() < 0.5 else random_tower(rng, gaps=False)
        r = a.right_inverse()
        same(offsets(a)[offsets(r)], np.arange(r.size))
        if a.is_injective and a.is_surjective:
            assert r.size == a.size


def test_left_inverse():
    inverted = 0
    for rng in cases("left inverse"):
        a = random_tower(rng) if rng.random() < 0.7 else random_layout(rng)
        inverse = attempt(a.left_inverse)
        if inverse is None:
            continue
        inverted += 1
        assert inverse.size >= a.cosize
        same(offsets(inverse)[offsets(a)], np.arange(a.size))
    assert inverted > CASES / 2


def test_injectivity():
    collisions = 0
    for rng in cases("injective", 2 * CASES):
        a = random_layout(rng) if rng.random() < 0.7 else random_tower(rng)
        if rng.random() < 0.3:
            strides = [s * rng.choice((1, 1, 5, 7)) for s in flat(a.stride)]
            a = make(a.shape, strides)
        values = offsets(a)
        found = a.find_collision()
        assert a.is_injective == (found is None) == (len(np.unique(values)) == a.size)
        if found:
            collisions += 1
            first, second, offset = found
            assert first != second
            assert a(first) == a(second) == offset
    assert CASES / 10 < collisions < 2 * CASES


def test_injectivity_gives_up():
    """Instead of searching through 3^24 differences."""
    rng = random.Random(0)
    strides = [rng.randrange(1 << 30, 1 << 31) for _ in range(24)]
    with pytest.raises(ValueError, match="takes too long to decide"):
        make((2,) * 24, strides).find_collision()


def test_surjectivity():
    gaps = 0
    for rng in cases("surjective"):
        a = random_layout(rng) if rng.random() < 0.5 else random_tower(rng)
        missing = np.setdiff1d(np.arange(a.cosize), offsets(a))
        assert a.find_gap() == (missing[0] if len(missing) else None)
        gaps += a.find_gap() is not None
    assert CASES / 10 < gaps < CASES * 0.9


def test_recast():
    recasts = 0
    for rng in cases("recast", 2 * CASES):
        a = random_tower(rng) if rng.random() < 0.7 else random_layout(rng)
        bits = rng.choice((4, 8, 12, 16, 24, 32))
        to = rng.choice((4, 8, 12, 16, 24, 32, 64))
        r = attempt(a.recast, bits, to)
        if r is None:
            continue
        recasts += 1
        # The same bits, each as often.
        own = (offsets(a)[:, None] * bits + np.arange(bits)).ravel()
        new = (offsets(r)[:, None] * to + np.arange(to)).ravel()
        same(np.sort(new), np.sort(own))
        if to % bits == 0:
            # The first element of each unit lies where the unit does.
            extents, units = flat(a.shape), flat(r.shape)
            scales = [e // u for e, u in zip(extents, units, strict=True)]
            for index in rng.sample(range(r.size), min(4, r.size)):
                digits = flat(r.coord(index))
                coord = [d * s for d, s in zip(digits, scales, strict=True)]
                weights = np.cumprod([1, *extents[:-1]])
                assert a(int(np.dot(coord, weights))) * bits == r(index) * to
            assert attempt(r.recast, to, bits) is None or to % bits == 0
    assert recasts > CASES / 4


def test_slice():
    for rng in cases("slice"):
        a = random_layout(rng, leaves=5)
        if a.rank == 1:
            continue
        coord = a.coord(rng.randrange(a.size))
        opened = tuple(None if rng.random() < 0.5 else c for c in coord)
        s = a.slice(*opened)
        free = [i for i, c in enumerate(opened) if c is None]
        assert s.size == math.prod(a[i].size for i in free)
        expected = []
        for indices in itertools.product(*(range(a[i].size) for i in reversed(free))):
            full = list(coord)
            for i, index in zip(reversed(free), indices, strict=True):
                full[i] = index
            expected.append(a(*full))
        same(s.offsets(), expected)
        same(offsets(s) + s.offset, expected)


def test_expand():
    for rng in cases("expand", CASES // 2):
        a = random_layout(rng)
        count, alignment = rng.randint(1, 5), rng.choice((1, 3, 8, 64))
        e = a.expand(count, alignment)
        slot = -(-a.cosize // alignment) * alignment
        assert e[0] == Layout(count, slot if count > 1 else 0)
        own = offsets(a)
        expected = own[:, None] + np.arange(count) * slot
        same(offsets(e), expected.ravel())
        assert e.is_injective == a.is_injective


def common_vector(a, b):
    """The definition, by trying every number of elements."""
    x, y = offsets(a), offsets(b)
    best = 1
    for n in range(2, len(x) + 1):
        groups = {}
        if (x % n != y % n).any():
            continue
        for p, q in zip(x, y, strict=True):
            groups.setdefault((p // n, q // n), set()).add(p % n)
        if all(len(g) == n for g in groups.values()):
            best = n
    return best


def test_common_vector():
    wide = 0
    for rng in cases("vector", CASES):
        a = random_tower(rng, 3, 64, gaps=rng.random() < 0.5)
        b = a
        if rng.random() < 0.7:
            order = rng.sample(range(len(flat(a.shape))), len(flat(a.shape)))
            order.sort(key=lambda leaf: rng.random() * (1 + leaf))
            strides, span = [0] * len(order), 1
            for leaf in order:
                strides[leaf] = span
                span *= flat(a.shape)[leaf]
            b = make(a.shape, strides)
        found = a.common_vector(b)
        assert found == common_vector(a, b)
        assert found == b.common_vector(a)
        wide += found > 1
    assert wide > CASES / 10


def swizzled(swizzle, values):
    """The definition of a swizzle (bits, base, shift)."""
    bits, base, shift = swizzle
    return values ^ ((values >> shift) & (((1 << bits) - 1) << base))


def test_swizzle():
    used = 0
    for rng in cases("swizzle"):
        bits = rng.randint(1, 3)
        swizzle = (bits, rng.randint(0, 4), rng.randint(bits, 4))
        plain, start = random_layout(rng), rng.choice((0, 0, 0, 5))
        prefix = "Sw<{},{},{}> o ".format(*swizzle)
        shifted = Layout(f"{start} o {plain}")
        same(shifted.offsets(), offsets(plain) + start)
        assert shifted.swizzle[0] == 0 and Layout(str(shifted)) == shifted
        a = Layout(f"{prefix}{start} o {plain}")
        expected = swizzled(swizzle, offsets(plain) + start)
        same(a.offsets(), expected)
        assert a.cosize > expected.max()
        assert Layout(str(a)) == a
        found = a.find_swizzled()
        changed = np.flatnonzero(expected != offsets(plain) + start)
        assert (found is None) == (len(changed) == 0)
        if found is not None:
            used += 1
            assert found in changed
        assert a.is_injective == plain.is_injective
        b = random_layout(rng, 2, 12)
        c = attempt(a.compose, b)
        if c is not None:
            same(c.offsets(), expected[offsets(b)])
    assert CASES / 10 < used < CASES * 0.95


def test_swizzle_recast():
    recasts = 0
    for rng in cases("swizzle recast"):
        swizzle = (rng.randint(1, 3), rng.randint(0, 4), 3)
        plain = random_tower(rng)
        a = Layout("Sw<{},{},{}> o ".format(*swizzle) + str(plain))
        bits, to = rng.choice((8, 16, 32)), rng.choice((8, 16, 32))
        r = attempt(a.recast, bits, to)
        if r is None:
            continue
        recasts += 1
        own = (a.offsets()[:, None] * bits + np.arange(bits)).ravel()
        new = (r.offsets()[:, None] * to + np.arange(to)).ravel()
        same(np.sort(new), np.sort(own))
    assert recasts > CASES / 10


def test_shared_layouts():
    for rng in cases("shared", CASES // 2):
        bits = rng.choice((8, 16, 32))
        rows = rng.choice((8, 16, 24, 40))
        shape = [rows, rng.choice((1, 2, 3)) * 1024 // bits]
        if rng.random() < 0.3:
            shape.insert(0, 2)
        span = rng.choice((0, 16, 32, 64, 128))
        shared = L.SharedLayout.panels(shape, bits, span)
        a = Layout.from_shared(shared, bits)
        assert a.to_shared(bits) == shared
        for _ in range(5):
            coords = [rng.randrange(e) for e in shape]
            assert a(*coords) == shared.offset(coords, bits)
        assert a.is_injective
        versions = a.expand(3, 1024 * 8 // bits)
        assert versions[0].stride * bits // 8 % 1024 == 0


def test_fragment_layouts():
    for rng in cases("fragment", CASES // 2):
        shape = [rng.choice((1, 2, 3, 4, 8, 12)) for _ in range(rng.randint(1, 3))]
        threads = rng.choice((1, 4, 6, 32))
        blocked = L.FragmentLayout.blocked(shape, threads, rng.choice((1, 2, 4)))
        table = blocked.table(len(shape))
        box = [int(e) for e in table.reshape(-1, len(shape)).max(0) + 1]
        a = Layout.from_fragment(blocked, box)
        weights = np.array([math.prod(box[i + 1 :]) for i in range(len(box))])
        numbers = (table * weights).sum(-1)
        same(a.offsets(), numbers.T.ravel())
        assert a.to_fragment(box).coalesce() == blocked.coalesce()


def test_instruction_fragments():
    for mma in (L.mma_sync(16), L.mma_sync(8), L.wgmma(64, 16), L.mfma(32, 8)):
        a = Layout.from_fragment(mma.acc, [mma.m, mma.n])
        assert a.is_injective and a.is_surjective
        assert a.to_fragment([mma.m, mma.n]) == mma.acc.coalesce()


def conflicts(addresses, size):
    """Words a bank serves, phase by phase, counted bank by bank."""
    threads = 128 // max(size, 4)
    degrees = []
    for first in range(0, len(addresses), threads):
        words = {
            (a + b) // 4
            for a in addresses[first : first + threads]
            for b in range(0, size, 4)
        }
        degrees.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
    return degrees


def test_bank_conflicts():
    for rng in cases("banks", CASES // 2):
        size = rng.choice((1, 2, 4, 8, 16))
        stride = rng.choice((size, 2 * size, 4 * size, 128, 132, 144, 256, 272))
        stride -= stride % size
        addresses = [rng.choice((i * stride, i * stride % 512)) for i in range(32)]
        addresses = [a - a % size for a in addresses]
        found = L.bank_conflicts(addresses, size)
        expected = conflicts(addresses, size)
        assert found["phases"] == len(expected)
        assert found["wavefronts"] == sum(expected)
        assert found["degree"] == max(expected)
        assert (found["clash"] is None) == (max(expected) == 1)
        if found["clash"]:
            first, second = (addresses[t] for t in found["clash"])
            banks = [{(a + b) // 4 for b in range(0, size, 4)} for a in (first, second)]
            assert any(
                x % 32 == y % 32 and x != y for x, y in itertools.product(*banks)
            )


def test_bank_conflicts_of_swizzles():
    """Rows of 128 bytes: 8 threads read a column of 16-byte chunks."""
    plain = Layout("(8,8):(64,1)")
    assert plain.bank_conflicts(16, vector=8)["degree"] == 8
    assert Layout(f"Sw<3,3,3> o {plain}").bank_conflicts(16, vector=8)["degree"] == 1
    assert Layout("(8,8):(72,1)").bank_conflicts(16, vector=8)["degree"] == 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected an integer or '(', found the end of the text"),
        ("(2,4", "expected ',' or ')', found the end of the text"),
        ("(2,4):(1,2)x", "expected the end of the text, found 'x'"),
        ("(2,4):(1,(2,3))", "not nested in the same way"),
        ("(2,0)", "extents have to be positive, found 0"),
        ("4:-1", "strides must not be negative, found -1"),
        ("()", "a layout has no empty tuples"),
        ("(2,_)", "no open places"),
        ("99999999999999999999", "expected an integer"),
        ("(1048576,1048577)", "reaches past 2^40 elements"),
        ("(" * 100 + "1" + ")" * 100, "nested more than 32 deep"),
        ("Sw<4,3,3> o 8:1", "0 <= bits <= shift"),
        ("Sw<3,3> o 8:1", "expected a swizzle Sw<bits,base,shift>"),
        ("Sw<3,3,3> 8:1", "expected ' o ' and a layout"),
        ("Sw<3,3,3> o x o 8:1", "expected an integer before ' o ', found 'x'"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(ValueError) as error:
        Layout(text)
    assert message in str(error.value)


def test_operation_errors():
    a = Layout("(4,2):(1,100)")
    for call, message in [
        (lambda: a.compose("9:1"), "the latter reaches 8, the former has only 8"),
        (lambda: a.compose("3:2"), "3 steps of 2 do not divide"),
        (lambda: a.compose("(3,2):(1,2)"), "add up to 4 along 4:1"),
        (lambda: a.compose((4, 2, 1)), "3 tilers for the 2 modes"),
        (lambda: Layout("(2,2):(2,3)").complement(8), "has no complement: 2:3"),
        (lambda: Layout("(4,2):(1,2)").left_inverse(), "4:1 does not fit below"),
        (lambda: a.recast(8, 64), "has no units of 8 elements"),
        (lambda: Layout("4:2").recast(16, 8), "no leaf of stride 1"),
        (lambda: a.slice(None, 2), "coordinate 2 is outside of 2:100"),
        (lambda: a(4, 0), "coordinate 4 is outside of 4:1"),
        (lambda: a((1, 1), 0), "does not fit shape 4"),
        (lambda: a.expand(0), "positive number of versions"),
        (lambda: Layout("Sw<1,0,2> o 8").recast(8, 16), "moves parts of units"),
        (lambda: Layout("Sw<1,0,2> o 8").complement(8), "without a swizzle"),
        (lambda: Layout(8).bank_conflicts(16), "expected the modes (thread, value)"),
        (lambda: L.bank_conflicts([0, 2], 4), "thread 1 accesses 4 bytes at offset 2"),
        (lambda: Layout("(4,2):(1,3)").to_fragment([2, 5]), "leaves a row"),
    ]:
        with pytest.raises(ValueError) as error:
            call()
        assert message in str(error.value)
