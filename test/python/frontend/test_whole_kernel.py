"""The IR that the builder makes of a whole kernel."""

import tilews
import tilews.language as tl


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["N, K", tl.f16],
    C: tl.Tensor["M, N", tl.f16],
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 256,
    BK: tl.constexpr = 64,
):
    M, K = A.shape
    N = B.shape[0]
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    As = tl.alloc_shared((BM, BK), A.dtype)
    Bs = tl.alloc_shared((BN, BK), B.dtype)
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(K, BK), num_stages=3):
        tl.copy(A[by * BM, k * BK], As)
        tl.copy(B[bx * BN, k * BK], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
    tl.store(tl.maximum(acc, 0.0).to(C.dtype), C[by * BM, bx * BN])


def test_dynamic_extents_become_grid_symbols():
    text = gemm.mlir("sm_90a")
    assert "(s2 ceildiv 256, s0 ceildiv 128)" in text
    assert '#nvvm.target<chip = "sm_90a">' in text
    assert (
        'memref<?x?xf16> {tile.divisible = array<i64: 1, 16>, tile.name = "A", '
        'tile.symbols = ["M", "K"]}' in text
    )
    assert "tile.threads = 256 : i32" in text


def test_the_accumulator_is_carried_and_the_loop_annotated():
    text = gemm.mlir("gfx942")
    assert "iter_args(%arg4 = %cst) -> (tensor<128x256xf32>)" in text
    assert "} {tile.num_stages = 3 : i32}" in text
    assert "{transpose_rhs}" in text
    assert '#rocdl.target<chip = "gfx942">' in text


def test_bindings_make_extents_and_constants_static():
    text = gemm.mlir(M=512, N=512, K=512, BM=64)
    assert "affine_map<() -> (2, 8)>" in text
    assert "memref<512x512xf16>" in text
    assert "memref<64x64xf16, #gpu.address_space<workgroup>>" in text
    assert "memref.dim" not in text


def test_operations_have_the_place_they_are_written_at():
    module = gemm.build()
    lines = gemm.__wrapped__.__code__.co_firstlineno
    text = module.operation.get_asm(enable_debug_info=True)
    line = lines + 18  # acc = tl.gemm(...)
    assert f'test_whole_kernel.py":{line}:15)' in text
