"""Matmuls of parts of shared buffers, of batches, and with scales of blocks."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.zoo_kernels import zoo_parts
from support.kernel_errors import check
from tilews.sim.amdgcn import launch

CASES = {case.name: case for case in zoo_parts.cases()}


@pytest.mark.parametrize("name", CASES)
def test_parts_in_the_interpreter(name):
    case = CASES[name]
    a, b, c = case.arguments(np.random.default_rng(1))
    case.kernel(a, b, c, **case.constants)
    left, right = a.astype(np.float32), b.astype(np.float32)
    if case.constants.get("TB"):
        right = right.swapaxes(-1, -2)
    wanted = left @ right
    np.testing.assert_array_equal(c, wanted * (3 if name == "batched" else 1))


@pytest.mark.parametrize("chip", ["sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_parts_are_operands_of_wgmma(name, chip):
    case = CASES[name]
    arguments = case.arguments(np.random.default_rng(1))
    ptx = case.kernel.compile_for(*arguments, target=chip, **case.constants).ptx
    assert "wgmma.mma_async" in ptx
    assert "mma.sync" not in ptx


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("transposed", [False, True])
def test_parts_in_pipelines(chip, transposed):
    case = CASES["slices-float16-" + "NT"[transposed]]
    arguments = case.arguments(np.random.default_rng(1))
    constants = {"TB": transposed, "STAGES": 3}
    expected = arguments[-1].copy()
    case.kernel(*arguments[:2], expected, **constants)
    compiled = case.kernel.compile_for(*arguments, target=chip, **constants)
    text = compiled.mlir("barriers")
    assert ("tile.role @load" in text) == (chip == "sm_90a")
    assert "tile.subview" in text
    for policy in ("earliest", "latest", "random"):
        found = np.zeros_like(expected)
        with tilews.ir.Context():
            module = tilews.ir.Module.parse(text)
            tilews.sim.run(module, "slices", [*arguments[:2], found], policy=policy)
        np.testing.assert_array_equal(found, expected)


def test_an_index_outside_is_an_error():
    @tilews.kernel
    def kernel(
        A: tl.Tensor["4, 16, 16", tl.f16], C: tl.Tensor["16, 16", tl.f32], i: tl.i32
    ):
        As = tl.alloc_shared((4, 16, 16), tl.f16)
        tl.copy(A, As)
        C[0, 0] = tl.gemm(As[i], As[3])

    a, c = np.ones((4, 16, 16), np.float16), np.zeros((16, 16), np.float32)
    kernel(a, c, 2)
    assert (c == 16).all()
    with pytest.raises(tilews.sim.SimulationError, match="takes the part at index 4"):
        kernel(a, c, 4)
    with pytest.raises(tilews.sim.SimulationError, match="takes the part at index -1"):
        kernel(a, c, -1)


def test_wrong_parts():
    def global_part(A: tl.Tensor["4, 16, 16", tl.f16]):
        S = tl.alloc_shared((16, 16), tl.f16)
        tl.gemm(A[0], S)  # HERE

    def middle(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((16, 64), tl.f16)
        tl.gemm(S[:, 16:48], tl.zeros((32, 16), tl.f16))  # HERE

    def moving(A: tl.Tensor["M", tl.f16], i: tl.i32):
        S = tl.alloc_shared((16, 64), tl.f16)
        tl.gemm(S[:, i * 16 : i * 16 + 16], tl.zeros((16, 16), tl.f16))  # HERE

    def outside(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((4, 16, 16), tl.f16)
        tl.gemm(S[4], tl.zeros((16, 16), tl.f16))  # HERE

    def last(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((4, 16, 16), tl.f16)
        tl.gemm(S[-1], tl.zeros((16, 16), tl.f16))  # HERE

    def element(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((16, 16), tl.f16)
        tl.gemm(S[0, 0], tl.zeros((16, 16), tl.f16))  # HERE

    def mixed(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((4, 16, 16), tl.f16)
        tl.gemm(S, S[0])  # HERE

    def counts(A: tl.Tensor["M", tl.f16]):
        S = tl.alloc_shared((4, 16, 16), tl.f16)
        tl.gemm(S, S, tl.zeros((2, 16, 16), tl.f32))  # HERE

    check(global_part, "tl.gemm: found a region of the global buffer A", "tl.copy")
    start = (
        "tl.gemm: a part of a shared buffer starts at a multiple of its size, found "
    )
    check(middle, start + "16 and size 32 along dimension 1")
    check(moving, start + "a run-time offset and size 16 along dimension 1", "S[i]")
    check(outside, start + "4 and size 1 along dimension 0")
    check(last, "tl.gemm: a negative index is outside of", "write 4 - 1 for -1")
    check(element, "tl.gemm: a region of the shared buffer has no static size", "S[i]")
    check(mixed, "tl.gemm: batched matmuls take shared buffers and fragments of three")
    check(counts, "tl.gemm: the first dimension counts the matmuls, found shapes")


# --- Chains -------------------------------------------------------------------


@tilews.kernel(threads=128)
def chain(
    Q: tl.Tensor["64, 64", tl.f16],
    K: tl.Tensor["64, 64", tl.f16],
    V: tl.Tensor["64, 64", "T"],
    R: tl.Tensor["64, 64", tl.f32],
    F: tl.constexpr,
):
    Qs, Ks = tl.alloc_shared((64, 64), tl.f16), tl.alloc_shared((64, 64), tl.f16)
    Vs = tl.alloc_shared((64, 64), V.dtype)
    tl.copy(Q, Qs)
    tl.copy(K, Ks)
    tl.copy(V, Vs)
    scores = tl.gemm(Qs, Ks, transpose_rhs=True, policy="full_row")
    R[0, 0] = F(scores.to(V.dtype), Vs)


def _plain(p, v):
    return tl.gemm(p, v, transpose_rhs=True, policy="full_row", allow_tf32=True)


def _flagged(p, v):
    return tl.gemm(p, v, transpose_lhs=True)


def _transposed(p, v):
    return tl.gemm(p.T, v)


#: The second matmul, the type of its operands, and whether the first one's result stays
#: in the registers of its warps on sm_90a.
CHAINS = {
    "f16": (_plain, tl.f16, True),
    "bf16": (_plain, tl.bf16, True),
    "e4m3": (_plain, tl.e4m3, True),
    "f32": (_plain, tl.f32, True),
    "transpose_lhs": (_flagged, tl.f16, False),
    "T": (_transposed, tl.f16, False),
}


@pytest.mark.parametrize("name", CHAINS)
def test_results_in_registers_are_left_operands_of_wgmma(name):
    function, dtype, stays = CHAINS[name]
    compiled = chain.compile("sm_90a", T=dtype, F=function)
    assert "wgmma.mma_async" in compiled.ptx
    assert "mma.sync.aligned" not in compiled.ptx.replace("wgmma.", "")
    conversions = [
        line
        for line in compiled.mlir("laid_out").splitlines()
        if "tile.convert_layout" in line and "tile.offset" in line
    ]
    assert bool(conversions) != stays


@pytest.mark.parametrize("name", CHAINS)
def test_chains_in_the_interpreter(name):
    function, dtype, _ = CHAINS[name]
    random = np.random.default_rng(2)
    q, k = random.integers(0, 2, (2, 64, 64)).astype(np.float16)
    v = random.integers(-2, 3, (64, 64)).astype(dtype.numpy)
    found = np.zeros((64, 64), np.float32)
    chain(q, k, v, found, F=function)
    scores = (q.astype(np.float32) @ k.T).astype(dtype.numpy).astype(np.float32)
    wide = v.astype(np.float32)
    wanted = scores @ wide.T if function is _plain else scores.T @ wide
    np.testing.assert_array_equal(found, wanted)


# --- Scales -------------------------------------------------------------------


@tilews.kernel(threads=128)
def scaled(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["N, K", "T"],
    SA: tl.Tensor["MB, KB", "S"],
    SB: tl.Tensor["NB, KB2", "S"],
    C: tl.Tensor["M, N", tl.f32],
    ROWS: tl.constexpr = 1,
    DEPTH: tl.constexpr = 32,
    COLUMNS: tl.constexpr = 1,
    RIGHT: tl.constexpr = 32,
):
    M, N = C.shape
    x, y = tl.grid(tl.cdiv(N, 128), tl.cdiv(M, 128))
    As, Bs = tl.alloc_shared((128, 128), A.dtype), tl.alloc_shared((128, 128), B.dtype)
    acc = tl.zeros((128, 128), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 128), num_stages=2):
        tl.copy(A[y * 128, k * 128], As)
        tl.copy(B[x * 128, k * 128], Bs)
        sa = tl.load(
            SA[y * (128 // ROWS), k * (128 // DEPTH)], (128 // ROWS, 128 // DEPTH)
        )
        sb = tl.load(
            SB[x * (128 // COLUMNS), k * (128 // RIGHT)],
            (128 // COLUMNS, 128 // RIGHT),
        )
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True, lhs_scale=sa, rhs_scale=sb)
    C[y * 128, x * 128] = acc


def _scaled_case(blocks, dtype=ml_dtypes.float8_e4m3fn, scale=np.float32):
    rows, depth, columns, right = blocks
    random = np.random.default_rng(3)
    a = random.integers(-8, 9, (128, 256)).astype(dtype)
    b = random.integers(-8, 9, (256, 256)).astype(dtype)
    # Powers of two: nothing is rounded.
    powers = [0.25, 0.5, 1.0, 2.0, 4.0]
    sa = random.choice(powers, (128 // rows, 256 // depth)).astype(scale)
    sb = random.choice(powers, (256 // columns, 256 // right)).astype(scale)
    constants = dict(ROWS=rows, DEPTH=depth, COLUMNS=columns, RIGHT=right)
    wide = [x.astype(np.float64) for x in (a, b, sa, sb)]
    left = wide[0] * wide[2].repeat(rows, 0).repeat(depth, 1)
    right_ = wide[1] * wide[3].repeat(columns, 0).repeat(right, 1)
    return [a, b, sa, sb, np.zeros((128, 256), np.float32)], constants, left @ right_.T


SCALES = {
    "1x32": (1, 32, 1, 32),
    "1x128": (1, 128, 1, 128),
    "1x128 and 128x128": (1, 128, 128, 128),
    "1x32 and 128x128": (1, 32, 128, 128),
}


@pytest.mark.parametrize("name", SCALES)
def test_scales_of_blocks(name):
    arguments, constants, wanted = _scaled_case(SCALES[name])
    scaled(*arguments, **constants)
    np.testing.assert_array_equal(arguments[-1], wanted)


def test_scales_that_are_powers_of_two():
    arguments, constants, wanted = _scaled_case(
        (1, 32, 1, 32), ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu
    )
    scaled(*arguments, **constants)
    np.testing.assert_array_equal(arguments[-1], wanted)


@pytest.mark.parametrize("chip", ["sm_89", "sm_90a", "gfx950"])
def test_scaled_matmuls_use_matrix_instructions(chip):
    arguments, constants, _ = _scaled_case((1, 32, 128, 128))
    compiled = scaled.compile_for(*arguments, target=chip, **constants)
    word = {"sm_89": "mma.sync", "sm_90a": "wgmma.mma_async", "gfx950": "v_mfma"}[chip]
    assert word in compiled.asm


FP8 = {
    "gfx942": ml_dtypes.float8_e4m3fnuz,
    "gfx950": ml_dtypes.float8_e4m3fn,
}


@pytest.mark.parametrize("chip", FP8)
def test_scales_of_fp8_in_machine_code(chip):
    arguments = zoo_parts.scaled_arguments(FP8[chip])(np.random.default_rng(4))
    wanted = zoo_parts.scaled_result(*arguments[:4])
    compiled = zoo_parts.scaled.compile_for(*arguments, target=chip)
    assert "v_mfma_f32_" in compiled.asm
    assert "fp8_fp8" in compiled.asm
    launch(compiled, arguments)
    np.testing.assert_array_equal(arguments[-1], wanted)


def test_wrong_scales():
    def count(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((64, 64), tl.f16)
        tl.gemm(x, x, lhs_scale=tl.zeros((64, 3), tl.f32))  # HERE

    def in_memory(A: tl.Tensor["64, 2", tl.f32]):
        x = tl.zeros((64, 64), tl.f16)
        tl.gemm(x, x, rhs_scale=A)  # HERE

    def sums(A: tl.Tensor["M", tl.f16]):
        x, acc = tl.zeros((64, 64), tl.f16), tl.zeros((64, 64), tl.f16)
        tl.gemm(x, x, acc, lhs_scale=tl.zeros((64, 2), tl.f32))  # HERE

    def integers(A: tl.Tensor["M", tl.i8]):
        x = tl.zeros((64, 64), tl.i8)
        tl.gemm(x, x, lhs_scale=tl.zeros((64, 2), tl.f32))  # HERE

    check(
        count, "tl.gemm: lhs_scale has a scale for each block of the operand of shape"
    )
    check(in_memory, "tl.gemm: rhs_scale has to be a fragment of floating point")
    check(sums, "tl.gemm: scaled matmuls add up in f32, not f16")
    check(
        integers,
        "tl.gemm: scales are for operands of floating point, found lhs of i8",
        "acc += tl.gemm(a, b).to(tl.f32) * x[:, None]",
    )
