"""Tables of instructions that move matrices or skip zeros, against the formulas in the
ISA documents."""

import itertools

import numpy as np
import pytest

from tilews import layout as L


def table(fragment, rank):
    """(thread, register) -> coordinates, as a dict of tuples."""
    array = fragment.table(rank)
    return {
        (t, v): tuple(int(c) for c in array[t, v])
        for t, v in itertools.product(*map(range, array.shape[:2]))
    }


# ===--- ldmatrix and stmatrix ---=== #


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_matrix_8x8(matrices):
    """PTX ISA, ldmatrix: threads 8 * i to 8 * i + 7 give the rows of matrix i; thread
    4 * row + j holds elements 2 * j and 2 * j + 1 of that row in register i. With
    .trans it holds those of a column."""
    plain, trans = L.matrix_8x8(matrices), L.matrix_8x8(matrices, transposed=True)
    for transfer in (plain, trans):
        assert (transfer.matrices, transfer.rows, transfer.columns) == (matrices, 8, 8)
        addresses = table(transfer.addresses, 2)
        for lane in range(8 * matrices):
            assert addresses[lane, 0] == (lane // 8, lane % 8)
    straight, turned = table(plain.registers, 3), table(trans.registers, 3)
    assert len(straight) == 32 * 2 * matrices
    for lane, register, half in itertools.product(range(32), range(matrices), (0, 1)):
        row, column = lane // 4, 2 * (lane % 4) + half
        assert straight[lane, 2 * register + half] == (register, row, column)
        assert turned[lane, 2 * register + half] == (register, column, row)


def test_matrix_8x8_feeds_mma():
    """PTX ISA: what ldmatrix.x4 leaves in the registers is the left operand of
    mma.m16n8k16 if the matrices are (rows 0-7, 8-15) x (columns 0-7, 8-15)."""
    held = table(L.matrix_8x8(4).registers, 3)
    operand = table(L.mma_sync(16).lhs, 2)
    for place, (matrix, row, column) in held.items():
        assert operand[place] == (matrix % 2 * 8 + row, matrix // 2 * 8 + column)


@pytest.mark.parametrize("matrices", [1, 2])
def test_matrix_16x16(matrices):
    """PTX ISA, ldmatrix .m16n16 .trans .b8, in the form of CUTLASS's traits of
    SM100_U8x8_LDSM_T and U8x16. Both sides are layouts to bits, the source's of 16
    bytes a lane, so that a bit identifies a lane's row and a thread's byte."""
    transfer = L.matrix_16x16(matrices)
    source = L.Layout(f"((2,2,4,{matrices}),16):((16,128,32,256),1)")  # in bytes
    dest = L.Layout(f"((4,8),(2,2,{2 * matrices})):((32,1),(16,8,128))")
    lanes = 16 * matrices
    bytes_of = {int(source((l, b))): (l, b) for l in range(lanes) for b in range(16)}  # noqa: E741
    addresses = table(transfer.addresses, 2)
    for (thread, value), held in table(transfer.registers, 3).items():
        lane, column = bytes_of[int(dest((thread, value)))]
        assert held == (*addresses[lane, 0], column)
    assert [addresses[lane, 0] for lane in range(lanes)] == [
        (lane // 16, lane % 16) for lane in range(lanes)
    ]


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_matrix_16x8(matrices):
    """PTX ISA, stmatrix .m16n8 .trans .b8, as CUTLASS's traits of SM100_U8x4_STSM_T
    have it: in bytes, lane l gives row l of the destination."""
    transfer = L.matrix_16x8(matrices)
    source = L.Layout(f"((4,8),(2,2,{matrices})):((32,1),(16,8,128))")
    for (thread, value), held in table(transfer.registers, 3).items():
        row, column = divmod(int(source((thread, value))), 16)
        assert held == (row // 8, row % 8, column)
    assert (transfer.rows, transfer.columns) == (8, 16)


@pytest.mark.parametrize(
    "transfer",
    [L.matrix_8x8(4), L.matrix_8x8(2, True), L.matrix_16x16(2), L.matrix_16x8(4)],
)
def test_transfers_move_each_element_once(transfer):
    held = list(table(transfer.registers, 3).values())
    extents = transfer.matrices, transfer.rows, transfer.columns
    assert sorted(held) == list(itertools.product(*map(range, extents)))


# ===--- Sparse matmuls ---=== #


def test_mma_sp_operands():
    """PTX ISA, sparse mma.m16n8k32 (.f16), m16n8k64 (.s8) and m16n8k16 (.tf32): the
    packed left operand is that of the dense instruction of half the K. b_i lies in row
    p * (lane % 4) + i % p + 4 * p * (i / p), column lane / 4, with p elements a
    register."""
    for bits in (8, 16, 32):
        sparse, dense, p = L.mma_sp(bits), L.mma_sync(bits), 32 // bits
        assert (sparse.m, sparse.n, sparse.k) == (16, 8, 2 * dense.k)
        assert sparse.lhs == dense.lhs and sparse.acc == dense.acc
        for (lane, i), held in table(sparse.rhs, 2).items():
            row = p * (lane % 4) + i % p + 4 * p * (i // p)
            assert held == (row, lane // 4)


def metadata_of_two_rows(lane, field):
    """PTX ISA, sparse mma.m16n8k32 with .f16, and m16n8k16 with .tf32: for the selector
    s, threads 2 * s and 2 * s + 1 of a group of four have the metadata. Each has bits 0
    to 15 for row `group` and bits 16 to 31 for row `group + 8`, the even one of the
    lower half of K."""
    group, half = lane // 4, lane % 2
    return group + 8 * (field // 4), 4 * half + field % 4


def metadata_of_one_row(lane, field):
    """PTX ISA, sparse mma.m16n8k64 with 8-bit types: the threads of a group of four
    have the lower half of row `group`, of row `group + 8`, then the upper halves."""
    group, thread = lane // 4, lane % 4
    return group + 8 * (thread % 2), 8 * (thread // 2) + field


@pytest.mark.parametrize(
    "bits, formula, group",
    [
        (16, metadata_of_two_rows, 4),
        (32, metadata_of_two_rows, 2),
        (8, metadata_of_one_row, 4),
    ],
)
def test_sparse_metadata(bits, formula, group):
    """Metadata of mma.sp, and of wgmma.mma_async.sp (PTX ISA), where warp w has rows
    16 * w to 16 * w + 15."""
    warp, warpgroup = L.mma_sp(bits), L.wgmma_sp(64, bits)
    for sparse, threads in ((warp, 32), (warpgroup, 128)):
        fields = table(sparse.metadata, 2)
        assert (sparse.field_bits, sparse.field_k) == (4, group)
        assert len(fields) == threads * 8
        for (thread, field), held in fields.items():
            row, place = formula(thread % 32, field)
            assert held == (row + 16 * (thread // 32), place)
        # The metadata covers the whole left operand.
        assert {place for _, place in fields.values()} == set(range(sparse.k // group))
    assert warpgroup.rhs is None
    assert warpgroup.lhs == L.wgmma(64, bits).lhs


SMFMAC_B = {
    # AMD CDNA4 ISA, tables 34, 36 and 7.5.1.3: k of v0 (first element) by row of lanes.
    (16, 32, 16): [(0, 8, 16, 24)],
    (32, 16, 16): [(0, 0, 8, 8)],
    (16, 64, 8): [(0, 16, 32, 48)],
    (32, 32, 8): [(0, 0, 16, 16)],
    (16, 64, 16): [(0, 8, 16, 24), (32, 40, 48, 56)],
    (32, 32, 16): [(0, 0, 8, 8), (16, 16, 24, 24)],
    (16, 128, 8): [(0, 16, 32, 48), (64, 80, 96, 112)],
    (32, 64, 8): [(0, 0, 16, 16), (32, 32, 48, 48)],
}


@pytest.mark.parametrize("size, k, bits", SMFMAC_B)
def test_smfmac(size, k, bits):
    """AMD CDNA4 ISA, 7.5.1: a lane holds 16 bytes of B for each v0 (or v4) of the
    tables, and of A the two of each four that are kept. Index e of its register, two
    bits, is that of element e of A."""
    sparse = L.smfmac(size, k, bits)
    run = 128 // bits
    starts = SMFMAC_B[size, k, bits]
    b, a = table(sparse.rhs, 2), table(sparse.lhs, 2)
    assert len(b) == 64 * run * len(starts) and len(b) == 2 * len(a)
    for (lane, e), held in b.items():
        assert held == (starts[e // run][lane // 16] + e % run, lane % size)
    for (lane, e), held in a.items():
        half = run // 2
        assert held == (lane % size, starts[e // half][lane // 16] // 2 + e % half)
    assert sparse.metadata == sparse.lhs
    assert (sparse.field_bits, sparse.field_k) == (2, 2)


def test_smfmac_index_of_the_calculator():
    """AMD matrix instruction calculator, its example for CDNA3's
    V_SMFMAC_F32_16X16X32_F16: the index of A[2][31] is in bits 7 to 4 of lane 50."""
    fields = table(L.smfmac(16, 32, 16).metadata, 2)
    bits = [2 * e for (lane, e), (row, kept) in fields.items()
            if lane == 50 and row == 2 and kept // 2 == 31 // 4]  # fmt: skip
    assert sorted(bits) == [4, 6]


# ===--- Dense matmuls of AMD ---=== #


def output_of_cdna(m, n, h, i, j):
    """AMD CDNA4 ISA, 7.1.4: (item, lane) of D[0][i][j] of an M x N output."""
    blocks = -(-64 // (n * m // h))
    rows = 64 // blocks // n
    item = i % h + h * (i // (h * rows))
    return item, j + n * (i // h % rows)


@pytest.mark.parametrize(
    "mma, size, h",
    [
        (L.mfma(16, 16), 16, 4),
        (L.mfma(32, 8), 32, 4),
        (L.mfma(16, 64), 16, 4),
        (L.mfma_f64(), 16, 1),
    ],
)
def test_mfma_outputs(mma, size, h):
    acc = table(mma.acc, 2)
    assert len(acc) == size * size
    for (lane, item), (i, j) in acc.items():
        assert (item, lane) == output_of_cdna(size, size, h, i, j)


@pytest.mark.parametrize(
    "size, k, starts",
    [
        (16, 32, (0, 8, 16, 24)),  # BF16 16x16x32
        (32, 16, (0, 0, 8, 8)),  # BF16 32x32x16
        (16, 64, (0, 16, 32, 48)),  # IU8 16x16x64
        (32, 32, (0, 0, 16, 16)),  # IU8 32x32x32
    ],
)
def test_mfma_with_doubled_k(size, k, starts):
    """AMD CDNA4 ISA, 7.1.5.1: the k of v0 by row of 16 lanes; the others follow."""
    mma = L.mfma(size, k)
    for (lane, e), held in table(mma.lhs, 2).items():
        assert held == (lane % size, starts[lane // 16] + e)
    for (lane, e), held in table(mma.rhs, 2).items():
        assert held == (starts[lane // 16] + e, lane % size)


@pytest.mark.parametrize("bits", [(8, 8), (8, 4), (6, 8), (4, 6)])
@pytest.mark.parametrize("size", [16, 32])
def test_mfma_of_small_types(size, bits):
    """AMD CDNA4 ISA, 7.1.5: the lanes of V_MFMA_F32_16X16X128_F8F6F4 and 32X32X64 hold
    32 elements of 6 or 4 bits from k = 32 * (lane / size) on. Of 8 bits v0 to v3 hold
    16 from k = 16 * (lane / size) on, and v4 to v7 those half of K later."""
    mma = L.mfma_small(size, *bits)
    assert (mma.m, mma.n, mma.k) == (size, size, 2048 // size)
    assert mma.acc == L.mfma(size, 8).acc
    for layout, width, dim in ((mma.lhs, bits[0], 0), (mma.rhs, bits[1], 1)):
        held = table(layout, 2)
        assert len(held) == 64 * 32 * width // 8
        for (lane, byte), place in held.items():
            group = lane // size
            if width == 8:
                k = 16 * group + byte % 16 + byte // 16 * (mma.k // 2)
            else:
                k = 32 * group * width // 8 + byte
            assert place == ((lane % size, k) if dim == 0 else (k, lane % size))


def test_mfma_f64_operands():
    """AMD matrix instruction calculator, V_MFMA_F64_16X16X4_F64: B[k][j] is in lane
    j + 16 * k, A[i][k] in lane i + 16 * k."""
    mma = L.mfma_f64()
    for (lane, _), held in table(mma.rhs, 2).items():
        assert held == (lane // 16, lane % 16)
    for (lane, _), held in table(mma.lhs, 2).items():
        assert held == (lane % 16, lane // 16)


# ===--- Tensor memory ---=== #


@pytest.mark.parametrize("repeat", [1, 2, 8])
def test_tensor_memory(repeat):
    """PTX ISA, tcgen05 data movement shapes: bits from the start of a lane's row, as
    CUTLASS's traits of SM100_TMEM_LOAD_* count them, rows of the shape's width."""
    layouts = {
        "32x32b": (32, "(32,{n}):({w},32)"),
        "16x64b": (64, "((2,2,8),{n}):(({h},32,{w}),64)"),
        "16x128b": (128, "((4,8),(2,{n})):((32,{w}),({h},128))"),
        "16x256b": (256, "((4,8),(2,2,{n})):((64,{w}),(32,{h},256))"),
    }
    for shape, (bits, text) in layouts.items():
        width = bits * repeat
        layout = L.Layout(text.format(n=repeat, w=width, h=8 * width))
        held = table(L.tensor_memory(shape, repeat), 2)
        assert len(held) == layout.size
        for (thread, register), (lane, column) in held.items():
            assert int(layout((thread, register))) == lane * width + column * 32
    # The second sixteen threads have the other half of the columns.
    for (thread, register), held in table(
        L.tensor_memory("16x32bx2", repeat), 2
    ).items():
        assert held == (thread % 16, thread // 16 * repeat + register)


def test_tables_decline():
    for call, message in [
        (lambda: L.matrix_8x8(3), "expected 1, 2 or (but for 16x16) 4 matrices"),
        (lambda: L.matrix_16x16(4), "expected 1, 2 or (but for 16x16) 4 matrices"),
        (lambda: L.smfmac(16, 48, 16), "K has to be what lanes hold in one piece or"),
        (lambda: L.tensor_memory("8x8b"), "found '8x8b'"),
        (lambda: L.mma_sp(64), "mma.sp has operands of 8, 16 or 32 bits"),
    ]:
        with pytest.raises(ValueError) as error:
            call()
        assert message in str(error.value)


def test_padded_and_xor_layouts():
    """Columns of chunks are in different banks, which is the purpose of the layouts."""
    for rows, columns, chunk in [(64, 64, 16), (64, 64, 8), (48, 96, 16), (32, 40, 8)]:
        layouts = [L.SharedLayout.padded([rows, columns], 16, chunk)]
        if columns % 64 == 0:
            layouts.append(L.SharedLayout.panels([rows, columns], 16, 128, chunk))
        served = 128 // chunk  # lanes at a time
        for layout in layouts:
            assert layout.shape == [rows, columns]
            for column in range(0, columns, chunk // 2):
                offsets = [2 * layout.offset((r, column), 16) for r in range(served)]
                assert all(offset % chunk == 0 for offset in offsets)
                assert L.bank_conflicts(offsets, chunk)["degree"] == 1
            places = [layout.offset(c, 16) for c in np.ndindex(rows, columns)]
            assert len(set(places)) == rows * columns
