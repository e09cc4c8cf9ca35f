"""Inferred layouts of matmul operands have no bank conflicts in shared memory."""

import itertools

import pytest
from tilews.passmanager import PassManager

import tilews
import tilews.language as tl
from tilews import ir
from tilews import layout as L

PASSES = "builtin.module(tile-annotate-instructions, tile-infer-layouts)"


@tilews.kernel
def gemm(
    A: tl.Tensor["R, S", "T"],
    B: tl.Tensor["U, V", "T"],
    C: tl.Tensor["M, N", "ACC"],
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    TA: tl.constexpr,
    TB: tl.constexpr,
):
    a = tl.alloc_shared((BK, BM) if TA else (BM, BK), A.dtype)
    b = tl.alloc_shared((BN, BK) if TB else (BK, BN), B.dtype)
    tl.copy(A[0, 0], a)
    tl.copy(B[0, 0], b)
    acc = tl.zeros((BM, BN), C.dtype)
    acc = tl.gemm(a, b, acc, transpose_lhs=TA, transpose_rhs=TB, allow_tf32=True)
    tl.store(acc, C[0, 0])


def infer(target, dtype, tile, transposed):
    """The inferred layouts of a matmul's operands, and its instruction."""
    accumulator = tl.i32 if dtype == tl.i8 else tl.f32
    module = gemm.build(
        target=target,
        T=dtype,
        ACC=accumulator,
        **dict(zip(("BM", "BN", "BK"), tile, strict=True)),
        **dict(zip(("TA", "TB"), transposed, strict=True)),
    )
    with module.context:
        PassManager.parse(PASSES).run(module.operation)
    found = []

    def visit(op):
        if op.name == "tile.gemm":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (op,) = found
    inst = str(op.attributes["tile.inst"]).split("<")[1].rstrip(">")
    return [shared_layout(operand) for operand in list(op.operands)[:2]], inst


def shared_layout(value):
    """The layout in a memref's type, as a `SharedLayout`."""
    text = str(ir.MemRefType(value.type).layout)
    assert text.startswith("#tile.shared<"), text
    body = text[len("#tile.shared<") : -1].replace(" ", "")
    plain, _, swizzle = body.partition(",Sw<")
    layout = L.Layout(plain).to_shared(8)
    numbers = tuple(map(int, swizzle.rstrip(">").split(","))) if swizzle else (0, 4, 3)
    return L.SharedLayout(layout.modes, numbers)


def check(addresses, size):
    """Fails if lanes that are served together need different words of one bank."""
    assert L.bank_conflicts(addresses, size)["degree"] == 1


def check_rows(layout, bits, along_k, extent, depth, mma_k):
    """Checks ldmatrix: eight lanes address eight neighbouring rows of 16 bytes, at
    every place where an instruction's matrices begin."""
    chunk = 128 // bits
    rows, columns = layout.shape
    assert (rows, columns) == ((extent, depth) if along_k else (depth, extent))
    assert columns % chunk == 0 and layout.contiguity(bits) * bits >= 128
    for row, column in itertools.product(range(0, rows, 8), range(0, columns, chunk)):
        check(
            [layout.offset((row + i, column), bits) * bits // 8 for i in range(8)], 16
        )


def check_registers(layout, bits, fragment, warp):
    """Checks loads of registers, with neighbours along a row in one access, at every
    place where an instruction's operand begins."""
    table = fragment.table(2)
    assert table.shape[0] == warp
    vector = 1
    while (
        table.shape[1] % (2 * vector) == 0
        and layout.contiguity(bits) % (2 * vector) == 0
        and 2 * vector * bits <= 128
        and all(tuple(table[0, i] - table[0, 0]) == (0, i) for i in range(2 * vector))
    ):
        vector *= 2
    extents = table.max(axis=(0, 1)) + 1
    for corner in itertools.product(
        *(range(0, e, n) for e, n in zip(layout.shape, extents, strict=True))
    ):
        for value in range(0, table.shape[1], vector):
            places = [
                tuple(int(c) for c in corner + table[t, value]) for t in range(warp)
            ]
            addresses = [layout.offset(p, bits) * bits // 8 for p in places]
            check(addresses, vector * bits // 8)


def check_copy(layout, bits):
    """Checks the copy from global memory: threads write vectors as wide as the layout
    permits, up to 16 bytes, in the order of copies."""
    vector = min(layout.contiguity(bits), 128 // bits)
    lanes = L.FragmentLayout.blocked(layout.shape, 128, vector)
    table = lanes.table(2)
    assert table.shape[1] % vector == 0
    for warp in range(0, 128, 32):
        for value in range(0, table.shape[1], vector):
            places = [tuple(map(int, c)) for c in table[warp : warp + 32, value]]
            inside = [p for p in places if all(map(int.__lt__, p, layout.shape))]
            addresses = [layout.offset(p, bits) * bits // 8 for p in inside]
            check(addresses, vector * bits // 8)


FORMS = {
    "NN": (False, False),
    "NT": (False, True),
    "TN": (True, False),
    "TT": (True, True),
}
TILES = [(128, 128, 64), (64, 96, 32), (128, 192, 64)]


def cases(*dtypes):
    """Pairs of element type and tile. Types of one width behave the same, so the second
    type has one tile only."""
    pairs, seen = [], set()
    for dtype in dtypes:
        tiles = TILES[:1] if dtype.bits in seen else TILES
        pairs += [(dtype, tile) for tile in tiles]
        seen.add(dtype.bits)
    return pairs


def operands(layouts, forms, tile):
    """(layout, whether rows run along K, extent along M or N) of each operand."""
    m, n, _ = tile
    yield layouts[0], not forms[0], m
    yield layouts[1], forms[1], n


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype, tile", cases(tl.f16, tl.bf16, tl.i8, tl.f32))
def test_sm80(dtype, tile, form):
    """mma.sync; ldmatrix reads its operands if possible."""
    layouts, inst = infer("sm_80", dtype, tile, FORMS[form])
    assert inst == "mma"
    mma = L.mma_sync(dtype.bits)
    for side, (layout, along_k, extent) in enumerate(
        operands(layouts, FORMS[form], tile)
    ):
        if along_k or dtype.bits == 16:
            check_rows(layout, dtype.bits, along_k, extent, tile[2], mma.k)
        else:
            fragment = mma.rhs if side else mma.lhs
            # Fragments are (m, k) and (k, n); other forms are stored transposed.
            if FORMS[form][side]:
                fragment = fragment.transpose([1, 0])
            check_registers(layout, dtype.bits, fragment, 32)
        check_copy(layout, dtype.bits)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype, tile", cases(tl.f16, tl.bf16, tl.i8, tl.e4m3, tl.f32))
def test_sm90a(dtype, tile, form):
    """wgmma reads eight rows of 16 bytes at a time, like ldmatrix. Where wgmma cannot
    transpose, mma.sync is used."""
    layouts, inst = infer("sm_90a", dtype, tile, FORMS[form])
    transposes = FORMS[form] != (False, True)
    assert inst == ("mma" if transposes and dtype.bits != 16 else "wgmma")
    mma = L.mma_sync(dtype.bits)
    for side, (layout, along_k, extent) in enumerate(
        operands(layouts, FORMS[form], tile)
    ):
        if along_k or dtype.bits == 16:
            check_rows(layout, dtype.bits, along_k, extent, tile[2], mma.k)
        else:
            fragment = mma.rhs if side else mma.lhs
            if FORMS[form][side]:
                fragment = fragment.transpose([1, 0])
            check_registers(layout, dtype.bits, fragment, 32)
        check_copy(layout, dtype.bits)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "dtype, tile", cases(tl.f16, tl.bf16, tl.i8, tl.e4m3fnuz, tl.f32)
)
def test_gfx942(dtype, tile, form):
    """mfma: lanes read their registers, 8 bytes along K or one element across it."""
    layouts, inst = infer("gfx942", dtype, tile, FORMS[form])
    assert inst == "mfma"
    per_lane = {16: 4, 8: 8, 32: 1}[dtype.bits]
    mma = L.mfma(32, 2 * per_lane)
    for side, (layout, _, _) in enumerate(operands(layouts, FORMS[form], tile)):
        fragment = mma.rhs if side else mma.lhs
        if FORMS[form][side]:
            fragment = fragment.transpose([1, 0])
        check_registers(layout, dtype.bits, fragment, 64)
        check_copy(layout, dtype.bits)


def test_the_check_finds_conflicts():
    """Row-major operands have the conflicts that swizzles avoid."""
    plain = L.SharedLayout.row_major([128, 64])
    with pytest.raises(AssertionError):
        check_rows(plain, 16, True, 128, 64, 16)
    with pytest.raises(AssertionError):
        check_registers(plain, 16, L.mfma(32, 8).lhs, 64)
    with pytest.raises(AssertionError):
        check_copy(L.SharedLayout([(128, 1, 0), (64, 128, 1)]), 16)
