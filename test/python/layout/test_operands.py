"""Layouts of matrix instructions against the formulas of the ISA documents."""

import itertools

import numpy as np
import pytest

from tilews import layout as L


def coordinates(shape):
    """All coordinates of a shape, row by row."""
    return itertools.product(*map(range, shape))


def lanes(count):
    """Lane numbers as a column, for formulas over (lane, register)."""
    return np.arange(count)[:, None]


# Matrix instructions. Each formula is the ISA document's, in terms of the lane and the
# index of the register; tilews' tables are lists of modes.


def mma_sync_16(lane, i):
    """PTX ISA, mma.m16n8k16: a0..a7, b0..b3, c0..c3."""
    group, thread = lane >> 2, lane % 4
    a_row = np.where((i < 2) | ((i >= 4) & (i < 6)), group, group + 8)
    a_col = thread * 2 + (i & 1) + np.where(i >= 4, 8, 0)
    b_row = thread * 2 + (i & 1) + np.where(i >= 2, 8, 0)
    return (a_row, a_col), (b_row, group + 0 * i)


def mma_sync_8(lane, i):
    """PTX ISA, mma.m16n8k32 for 8-bit types: a0..a15, b0..b7."""
    group, thread = lane >> 2, lane % 4
    a_row = np.where((i < 4) | ((i >= 8) & (i < 12)), group, group + 8)
    a_col = thread * 4 + (i & 3) + np.where(i >= 8, 16, 0)
    b_row = thread * 4 + (i & 3) + np.where(i >= 4, 16, 0)
    return (a_row, a_col), (b_row, group + 0 * i)


def mma_sync_32(lane, i):
    """PTX ISA, mma.m16n8k8 for .tf32: a0..a3, b0..b1."""
    group, thread = lane >> 2, lane % 4
    a_row = np.where((i == 0) | (i == 2), group, group + 8)
    a_col = np.where(i < 2, thread, thread + 4)
    b_row = np.where(i == 0, thread, thread + 4)
    return (a_row, a_col), (b_row, group + 0 * i)


def mma_sync_64(lane, i):
    """PTX ISA, mma.m8n8k4 with .f64: one element of each operand."""
    group, thread = lane >> 2, lane % 4
    return (group + 0 * i, thread + 0 * i), (thread + 0 * i, group + 0 * i)


def check(fragment, expected, count):
    """Compares a layout's table with the rows and columns of a formula."""
    table = fragment.table(2)
    assert table.shape[:2] == (count[0], count[1])
    np.testing.assert_array_equal(table[..., 0], np.broadcast_to(expected[0], count))
    np.testing.assert_array_equal(table[..., 1], np.broadcast_to(expected[1], count))


@pytest.mark.parametrize(
    "bits, formula, k, registers",
    [
        (16, mma_sync_16, 16, (8, 4)),
        (8, mma_sync_8, 32, (16, 8)),
        (32, mma_sync_32, 8, (4, 2)),
        (64, mma_sync_64, 4, (1, 1)),
    ],
)
def test_mma_sync_operands(bits, formula, k, registers):
    mma = L.mma_sync(bits)
    assert mma.k == k
    a = formula(lanes(32), np.arange(registers[0]))[0]
    b = formula(lanes(32), np.arange(registers[1]))[1]
    check(mma.lhs, a, (32, registers[0]))
    check(mma.rhs, b, (32, registers[1]))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_mma_sync_accumulator(bits):
    """PTX ISA, mma.m16n8kK: c0, c1 in row `group`, c2, c3 in row `group + 8`."""
    lane, i = lanes(32), np.arange(4)
    row = np.where(i < 2, lane >> 2, (lane >> 2) + 8)
    check(L.mma_sync(bits).acc, (row, (lane % 4) * 2 + (i & 1)), (32, 4))


def test_mma_sync_f64_accumulator():
    """PTX ISA, mma.m8n8k4 with .f64: c_i in row `group`, column 2 * thread + i."""
    lane, i = lanes(32), np.arange(2)
    check(L.mma_sync(64).acc, (lane >> 2, (lane % 4) * 2 + i), (32, 2))


@pytest.mark.parametrize("n", [8, 16, 24, 64, 96, 256])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_wgmma_accumulator(n, bits):
    """PTX ISA, wgmma D fragment: warp w holds rows 16w to 16w + 15; d_i lies in
    row 16w + lane / 4 + 8 * ((i / 2) % 2), column 8 * (i / 4) + 2 * (lane % 4) +
    i % 2."""
    thread, i = lanes(128), np.arange(n // 2)
    row = 16 * (thread // 32) + (thread % 32) // 4 + 8 * ((i // 2) % 2)
    column = 8 * (i // 4) + (thread % 4) * 2 + i % 2
    check(L.wgmma(n, bits).acc, (row, column), (128, n // 2))


@pytest.mark.parametrize(
    "bits, formula", [(8, mma_sync_8), (16, mma_sync_16), (32, mma_sync_32)]
)
def test_wgmma_register_operand(bits, formula):
    """PTX ISA, wgmma A fragment: warp w holds mma.sync's operand of rows 16w on."""
    mma = L.wgmma(64, bits)
    thread, i = lanes(128), np.arange(4 * 32 // bits)
    row, column = formula(thread % 32, i)[0]
    check(mma.lhs, (row + 16 * (thread // 32), column), (128, len(i)))
    assert mma.rhs is None


@pytest.mark.parametrize(
    "size, k",
    [
        (32, 8),  # f16, bf16
        (16, 16),
        (32, 2),  # f32
        (16, 4),
        (32, 16),  # i8, fp8; f16 on gfx950
        (16, 32),
        (32, 32),  # i8 on gfx950
        (16, 64),
    ],
)
def test_mfma(size, k):
    """AMD matrix instruction calculator, for one block: A[i][k] lies in lane
    i + size * (k / e), element k % e, with e = K * size / 64 elements a lane, B[k][j]
    likewise. D[i][j] lies in lane j + size * ((i / 4) % (64 / size)), register i % 4 +
    4 * (i / (4 * 64 / size))."""
    mma = L.mfma(size, k)
    each = k * size // 64
    groups = 64 // size
    held_a, held_d = {}, {}
    for i, kk in itertools.product(range(size), range(k)):
        held_a[i + size * (kk // each), kk % each] = (i, kk)
    for i, j in itertools.product(range(size), range(size)):
        lane = j + size * ((i // 4) % groups)
        held_d[lane, i % 4 + 4 * (i // (4 * groups))] = (i, j)
    a, b, d = mma.lhs.table(2), mma.rhs.table(2), mma.acc.table(2)
    assert a.shape[:2] == b.shape[:2] == (64, each)
    assert d.shape[:2] == (64, size * size // 64)
    for (lane, register), (i, kk) in held_a.items():
        assert tuple(a[lane, register]) == (i, kk)
        assert tuple(b[lane, register]) == (kk, i)
    for (lane, register), (i, j) in held_d.items():
        assert tuple(d[lane, register]) == (i, j)


def test_wmma_gfx11():
    """RDNA3 ISA, 7.9: lanes l and l + 16 hold row l of A (column l of B), element
    by element; register v of lane l holds D[2 * v + l / 16][l % 16]."""
    mma = L.wmma_gfx11()
    lane, i, v = lanes(32), np.arange(16), np.arange(8)
    check(mma.lhs, (lane % 16 + 0 * i, i + 0 * lane), (32, 16))
    check(mma.rhs, (i + 0 * lane, lane % 16 + 0 * i), (32, 16))
    check(mma.acc, (2 * v + lane // 16, lane % 16 + 0 * v), (32, 8))


def test_wmma_gfx12():
    """RDNA4 ISA, 7.12: element e of lane l is A[l % 16][8 * (l / 16) + e], B its
    transpose; register v of lane l holds D[8 * (l / 16) + v][l % 16]."""
    mma = L.wmma_gfx12()
    lane, i = lanes(32), np.arange(8)
    check(mma.lhs, (lane % 16 + 0 * i, 8 * (lane // 16) + i), (32, 8))
    check(mma.rhs, (8 * (lane // 16) + i, lane % 16 + 0 * i), (32, 8))
    check(mma.acc, (8 * (lane // 16) + i, lane % 16 + 0 * i), (32, 8))


INSTRUCTIONS = {
    "mma16": L.mma_sync(16),
    "mma8": L.mma_sync(8),
    "mma64": L.mma_sync(64),
    "wgmma24": L.wgmma(24, 16),
    "mfma32": L.mfma(32, 8),
    "mfma16": L.mfma(16, 16),
    "gfx11": L.wmma_gfx11(),
    "gfx12": L.wmma_gfx12(),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
@pytest.mark.parametrize("policy", ["square", "full_row", "full_col"])
@pytest.mark.parametrize("groups, repeats", [(1, (1, 1)), (4, (2, 4)), (6, (3, 2))])
def test_products(name, policy, groups, repeats):
    """A grid of warps holds whole instructions.

    An element of the accumulator is in one place; an element of an operand is in as
    many places as there are warps along the other side."""
    mma = INSTRUCTIONS[name]
    grid = mma.grid(groups, repeats[0] * groups * mma.m, repeats[1] * mma.n, policy)
    assert grid[0] * grid[1] == groups
    m, n, k = mma.m * grid[0] * repeats[0], mma.n * grid[1] * repeats[1], 2 * mma.k
    acc = mma.layout("acc", grid, m, n).table(2)
    assert len({tuple(c) for c in acc.reshape(-1, 2)}) == acc.size // 2 == m * n
    halves = 2 if name == "gfx11" else 1
    operands = {"lhs": ((m, k), grid[1])}
    if mma.rhs is not None:
        operands["rhs"] = ((k, n), grid[0])
    for operand, (shape, copies) in operands.items():
        table = mma.layout(operand, grid, *shape).table(2)
        found = np.zeros(shape, int)
        np.add.at(found, tuple(table.reshape(-1, 2).T), 1)
        assert (found == copies * halves).all()
    # A warp reads the rows and columns of its accumulators.
    lhs = mma.layout("lhs", grid, m, k).table(2)
    for group in np.split(np.arange(acc.shape[0]), groups):
        assert set(lhs[group][..., 0].flat) == set(acc[group][..., 0].flat)


@pytest.mark.parametrize("m, n", [(24, 40), (48, 96), (192, 24), (1, 8), (229, 17)])
@pytest.mark.parametrize("groups", [1, 3, 4, 8])
def test_products_of_other_extents_are_covered(m, n, groups):
    for mma in INSTRUCTIONS.values():
        grid = mma.grid(groups, m, n)
        table = mma.layout("acc", grid, m, n).table(2)
        assert table.shape[0] == mma.acc.threads * groups
        assert {tuple(c) for c in table.reshape(-1, 2)} >= set(coordinates((m, n)))
