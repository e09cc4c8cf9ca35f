"""The layout algebra against brute-force enumeration of its definitions."""

import itertools
import math
import random

import numpy as np
import pytest

from support.layout_cases import (
    CASES,
    attempt,
    beyond,
    cases,
    flat,
    make,
    offsets,
    random_layout,
    random_tower,
    same,
)
from tilews.layout import Layout


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
        # Neighbouring leaves cannot be merged.
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
    """If a composition of small layouts is declined, no leaf-wise result exists."""
    declined = 0
    for rng in cases("declined"):
        a = random_layout(rng, leaves=3, size=60)
        b = Layout(rng.choice((2, 3, 5)), rng.choice((1, 2, 3, 4)))
        # The extent is prime, so the result is one leaf, or there is none.
        if b.cosize > a.size:
            with pytest.raises(ValueError, match="the former has only"):
                a.compose(b)
            continue
        values = offsets(a)[offsets(b)]
        if attempt(a.compose, b) is None:
            declined += 1
            steps = np.diff(values)
            # Steps could still be equal only if digits carry and cancel.
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
        # Every offset below `size` occurs once.
        same(np.sort(reached), np.arange(len(reached)))
        assert len(reached) >= size
        # The complement repeats the span of `a` as rarely as possible.
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
        # Copies of `a` that do not overlap, in the order of `b`.
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
    """The test of injectivity does not search through 3^24 differences."""
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
        # The same bits, each with the same number of repetitions.
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
