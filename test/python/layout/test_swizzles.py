"""Swizzles, bank conflicts and fragments against their definitions."""

import itertools
import math

import numpy as np
import pytest

from support.layout_cases import (
    CASES,
    attempt,
    cases,
    flat,
    make,
    offsets,
    random_layout,
    random_tower,
    same,
)
from tilews import layout as L
from tilews.layout import Layout


def common_vector(a, b):
    """The definition: tries every number of elements."""
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
    """The words that each bank serves in each phase."""
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
