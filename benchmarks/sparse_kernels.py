"""The measured sparse matmuls, and their configurations.

The left operand of a 2:4 sparse matmul has two nonzeros in each four elements of a row.
A block-sparse matmul has a mask that selects the blocks to compute.
"""

import functools
from typing import Any

import tilews
import tilews.language as tl

from .kernels import DTYPES, GemmConfig

#: Extents of the blocks of a mask, along M, N and K.
BLOCK = (128, 128, 32)


def configs(shape: tuple[int, ...], kind: str) -> list[GemmConfig]:
    """The configurations to try for a case's layout, ``2:4`` or ``blocks``."""
    if kind == "blocks":
        tiles = [(64, 64, 128), (64, 128, 128), (128, 64, 128), (128, 128, 256)]
        return [
            GemmConfig(m, n, BLOCK[2], threads, stages)
            for m, n, threads in tiles
            for stages in (4, 8)
        ]
    if shape[0] * shape[1] < 2048**2:
        return [GemmConfig(64, 64, 128, 128, 6), GemmConfig(64, 128, 128, 128, 4)]
    # The multiprocessors of an H100 or H200.
    blocks = 132
    return [
        GemmConfig(128, 256, 128, 256, 2),
        GemmConfig(128, 256, 64, 256, 5),
        GemmConfig(256, 128, 128, 256, 3),
        GemmConfig(256, 128, 128, 256, 3, blocks),
        GemmConfig(256, 128, 64, 256, 6),
        GemmConfig(192, 128, 128, 384, 3),
        GemmConfig(128, 128, 128, 256, 4),
        GemmConfig(128, 128, 128, 128, 4),
        GemmConfig(128, 192, 128, 256, 3, blocks),
    ]


@functools.cache
def structured_kernel(persistent: bool) -> Any:
    """The kernel of C = A @ B with a 2:4 sparse A, accumulated in f32.

    A has the nonzeros, E their places (16 bits for 16 elements), and B is (N, K).

    Args:
        persistent: whether ``BLOCKS`` persistent blocks compute the tiles.
    """

    @tilews.func
    def tile(A, E, B, C, As, Es, Bs, bx, by, STAGES):
        BM, (BN, BK) = As.shape[0], Bs.shape
        acc = tl.zeros((BM, BN), tl.f32)
        for k in tl.range(tl.cdiv(B.shape[1], BK), num_stages=STAGES):
            tl.copy(A[by * BM, k * (BK // 2)], As)
            tl.copy(E[by * BM, k * (BK // 16)], Es)
            tl.copy(B[bx * BN, k * BK], Bs)
            acc = tl.gemm_sp(As, Es, Bs, acc, transpose_rhs=True)
        C[by * BM, bx * BN] = acc.to(C.dtype)

    @tilews.kernel(threads=128)
    def gemm_sp(
        A: tl.Tensor["M, KC:64", "T"],
        E: tl.Tensor["M, KE:8", tl.i16],
        B: tl.Tensor["N, K:128", "T"],
        C: tl.Tensor["M, N:16", "T"],
        BM: tl.constexpr,
        BN: tl.constexpr,
        BK: tl.constexpr,
        STAGES: tl.constexpr,
        BLOCKS: tl.constexpr,
    ):
        M, N = C.shape
        As = tl.alloc_shared((BM, BK // 2), A.dtype)
        Es = tl.alloc_shared((BM, BK // 16), E.dtype)
        Bs = tl.alloc_shared((BN, BK), B.dtype)
        if persistent:
            tl.grid(BLOCKS)
            tiles = (tl.cdiv(N, BN), tl.cdiv(M, BM))
            for bx, by in tl.persistent(*tiles, order="row", panel=8):
                tile(A, E, B, C, As, Es, Bs, bx, by, STAGES)
        else:
            bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
            tl.rasterize("row", panel=8)
            tile(A, E, B, C, As, Es, Bs, bx, by, STAGES)

    return gemm_sp


@tilews.kernel(threads=128)
def block_sparse(
    A: tl.Tensor["M, K:32", "T"],
    B: tl.Tensor["K, N:128", "T"],
    MASK: tl.Tensor["MB, NB, KB", tl.i1],
    C: tl.Tensor["M, N:128", "T"],
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """C = A @ B over the blocks that the mask selects, accumulated in f32."""
    M, N = C.shape
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    tl.rasterize("row", panel=8)
    As = tl.alloc_shared((BM, BK), A.dtype)
    Bs = tl.alloc_shared((BK, BN), B.dtype)
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], BK), num_stages=STAGES):
        if tl.load(MASK[by * BM // BLOCK[0], bx * BN // BLOCK[1], k]):
            tl.copy(A[by * BM, k * BK], As)
            tl.copy(B[k * BK, bx * BN], Bs)
            acc = tl.gemm(As, Bs, acc)
    C[by * BM, bx * BN] = acc.to(C.dtype)


def sparse_kernel(kind: str, config: GemmConfig) -> Any:
    """The kernel of a case's layout, ``2:4`` or ``blocks``."""
    return block_sparse if kind == "blocks" else structured_kernel(config.blocks > 0)


def sparse_bindings(kind: str, dtype: str, config: GemmConfig) -> dict[str, Any]:
    """The arguments of ``Kernel.compile`` for a sparse matmul."""
    bindings = {
        "T": DTYPES[dtype],
        "BM": config.bm,
        "BN": config.bn,
        "BK": config.bk,
        "STAGES": config.stages,
        "threads": config.threads,
    }
    return bindings if kind == "blocks" else {**bindings, "BLOCKS": config.blocks}


def compile_sparse(target: str, kind: str, dtype: str, config: GemmConfig) -> Any:
    """A compiled sparse matmul for extents that are multiples of 128."""
    bindings = sparse_bindings(kind, dtype, config)
    return sparse_kernel(kind, config).compile(target, **bindings)
