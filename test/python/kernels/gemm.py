"""The plain pipelined matmul that several tests start from."""

import tilews
import tilews.language as tl

BM, BN = 64, 64


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    BK: tl.constexpr = 64,
    STAGES: tl.constexpr = 3,
    REGISTERS: tl.constexpr = None,
):
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    if REGISTERS is not None:
        tl.role_registers(math=REGISTERS[0], load=REGISTERS[1])
    As = tl.alloc_shared((BM, BK), A.dtype)
    Bs = tl.alloc_shared((BK, BN), B.dtype)
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(K, BK), num_stages=STAGES):
        tl.copy(A[by * BM, k * BK], As)
        tl.copy(B[k * BK, bx * BN], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * BM, bx * BN] = acc
