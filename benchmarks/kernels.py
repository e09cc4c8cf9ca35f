"""The measured kernels of tilews, and their configurations.

Every configuration of a case is checked and timed; the fastest counts.
"""

import dataclasses
import functools
import math
from typing import Any

import tilews
import tilews.language as tl

DTYPES = {"f16": tl.f16, "bf16": tl.bf16, "e4m3": tl.e4m3, "f32": tl.f32}
#: Element type of the result of a matmul, by the type of its inputs.
OUTPUTS = {"f16": "f16", "bf16": "bf16", "e4m3": "bf16"}


@dataclasses.dataclass(frozen=True)
class GemmConfig:
    """A configuration of a matmul.

    Attributes:
        bm, bn, bk: extents of a tile.
        threads: of a block; with `ping_pong` a block has twice as many.
        stages: of the pipeline.
        blocks: number of persistent blocks, or 0 if each tile has a block.
        panel: tiles along the short side of a panel. In persistent kernels it is a
            multiple of the cluster.
        cluster: blocks of a cluster along N, which share rows of A, and along M, which
            share columns of B. In persistent kernels one of the two is 1.
        ping_pong: whether two groups of threads alternate between tiles.
    """

    bm: int
    bn: int
    bk: int
    threads: int
    stages: int = 3
    blocks: int = 0
    panel: int = 8
    cluster: tuple[int, int] = (1, 1)
    ping_pong: bool = False

    @property
    def label(self) -> str:
        times = "2x" if self.ping_pong else ""
        text = f"{self.bm}x{self.bn}x{self.bk} t{times}{self.threads} s{self.stages}"
        text += f" b{self.blocks}" if self.blocks else ""
        text += f" p{self.panel}" if self.panel != 8 else ""
        x, y = self.cluster
        return text + (f" c{x}x{y}" if x * y > 1 else "")


@dataclasses.dataclass(frozen=True)
class SoftmaxConfig:
    """Columns of a tile, threads of a block, and whether a tile has the whole row."""

    columns: int
    threads: int
    whole: bool

    @property
    def label(self) -> str:
        kind = "row" if self.whole else "tiles"
        return f"{kind} {self.columns} t{self.threads}"


def gemm_configs(shape: tuple[int, ...], dtype: str) -> list[GemmConfig]:
    """The configurations to try; the depth of a tile is 128 bytes or twice that."""
    depth = 128 if dtype == "e4m3" else 64
    if math.prod(shape[:2]) < 2048**2:
        tiles = [(64, 64, 128), (64, 128, 128), (128, 128, 256)]
        return [
            *(
                GemmConfig(m, n, depth, threads, stages)
                for m, n, threads in tiles
                for stages in (4, 6)
            ),
            GemmConfig(128, 64, 64, 256, 4),
        ]
    # The multiprocessors of an H100 or H200.
    blocks = 132
    ping_pong = functools.partial(GemmConfig, blocks=blocks, ping_pong=True)
    return [
        GemmConfig(128, 256, depth, 256, 4),
        GemmConfig(128, 256, depth, 256, 4, blocks),
        GemmConfig(128, 256, depth, 256, 4, blocks, 16, (2, 1)),
        GemmConfig(128, 192, depth, 256, 4, blocks, 4),
        ping_pong(128, 192, depth, 128, 4, panel=4),
        ping_pong(128, 192, depth, 128, 4, panel=16, cluster=(1, 2)),
        ping_pong(128, 192, depth, 128, 5, panel=2),
        ping_pong(64, 256, depth, 128, 5, panel=16),
        ping_pong(128, 128, depth, 128, 5),
        GemmConfig(128, 128, depth, 128, 3),
    ]


def softmax_configs(shape: tuple[int, ...]) -> list[SoftmaxConfig]:
    """The configurations to try."""
    row = 1 << (shape[1] - 1).bit_length()
    return [
        *(SoftmaxConfig(row, threads, True) for threads in (256, 512, 1024)),
        *(SoftmaxConfig(2048, threads, False) for threads in (128, 256)),
    ]


@tilews.func
def gemm_tile(A, B, C, As, Bs, bx, by, STAGES, transpose_a, transpose_b):
    """Computes the tile (by, bx) of C = A @ B."""
    BM, BK = As.shape[::-1] if transpose_a else As.shape
    BN = Bs.shape[0 if transpose_b else 1]
    K = A.shape[0 if transpose_a else 1]
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(K, BK), num_stages=STAGES):
        tl.copy(A[k * BK, by * BM] if transpose_a else A[by * BM, k * BK], As)
        tl.copy(B[bx * BN, k * BK] if transpose_b else B[k * BK, bx * BN], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_lhs=transpose_a, transpose_rhs=transpose_b)
    C[by * BM, bx * BN] = acc.to(C.dtype)


@functools.cache
def gemm_kernel(
    layout: str,
    divisors: tuple[int, ...],
    persistent: bool = False,
    cluster: tuple[int, int] = (1, 1),
) -> Any:
    """The kernel of C = A @ B, accumulated in f32.

    Args:
        layout: two letters for A and B: N for A (M, K) and B (K, N), T for A (K, M)
            and B (N, K).
        divisors: of M, N and K, as :func:`divisors` finds them.
        persistent: whether ``BLOCKS`` persistent blocks compute the tiles.
        cluster: blocks of a cluster along N and M.
    """
    across, down = cluster
    if persistent and across > 1 and down > 1:
        raise ValueError(f"persistent blocks need a 1-d cluster, found {cluster}")
    # Blocks with consecutive numbers are adjacent in a panel.
    order = "col" if across > 1 else "row"
    launched = (across * down, 1, 1) if persistent else (across, down, 1)
    transpose_a, transpose_b = (letter == "T" for letter in layout)
    m, n, k = (
        f"{name}:{divisor}" for name, divisor in zip("MNK", divisors, strict=True)
    )
    a_dims = f"K, {m}" if transpose_a else f"M, {k}"
    b_dims = f"N, {k}" if transpose_b else f"K, {n}"
    c_dims = f"M, {n}"

    @tilews.kernel(threads=128, cluster=launched if across * down > 1 else None)
    def gemm(
        A: tl.Tensor[a_dims, "T"],
        B: tl.Tensor[b_dims, "T"],
        C: tl.Tensor[c_dims, "U"],
        BM: tl.constexpr,
        BN: tl.constexpr,
        BK: tl.constexpr,
        STAGES: tl.constexpr,
        BLOCKS: tl.constexpr,
        PANEL: tl.constexpr,
        PING_PONG: tl.constexpr = False,
    ):
        M, N = C.shape
        As = tl.alloc_shared((BK, BM) if transpose_a else (BM, BK), A.dtype)
        Bs = tl.alloc_shared((BN, BK) if transpose_b else (BK, BN), B.dtype)
        # Whole clusters: the last tiles may lie outside of C.
        tiles_n = tl.cdiv(N, BN * across) * across
        tiles_m = tl.cdiv(M, BM * down) * down
        if persistent:
            tl.grid(BLOCKS)
            for bx, by in tl.persistent(
                tiles_n, tiles_m, order=order, panel=PANEL, ping_pong=PING_PONG
            ):
                gemm_tile(A, B, C, As, Bs, bx, by, STAGES, transpose_a, transpose_b)
        else:
            bx, by = tl.grid(tiles_n, tiles_m)
            tl.rasterize("row", panel=PANEL)
            gemm_tile(A, B, C, As, Bs, bx, by, STAGES, transpose_a, transpose_b)

    return gemm


def gemm_bindings(dtype: str, config: GemmConfig) -> dict[str, Any]:
    """The arguments of ``Kernel.compile`` for a matmul."""
    return {
        "T": DTYPES[dtype],
        "U": DTYPES[OUTPUTS[dtype]],
        "BM": config.bm,
        "BN": config.bn,
        "BK": config.bk,
        "STAGES": config.stages,
        "BLOCKS": config.blocks,
        "PANEL": config.panel,
        "PING_PONG": config.ping_pong,
        "threads": config.threads,
    }


def divisors(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The divisors of extents, up to 16."""
    return tuple(math.gcd(extent, 16) for extent in shape)


def is_aligned(shape: tuple[int, ...]) -> bool:
    """Whether every extent is a multiple of 16."""
    return all(extent % 16 == 0 for extent in shape)


def compile_gemm(
    target: str, shape: tuple[int, ...], dtype: str, layout: str, config: GemmConfig
) -> Any:
    """A compiled matmul for matrices of these extents (M, N, K). Kernels are cached."""
    kernel = gemm_kernel(layout, divisors(shape), config.blocks > 0, config.cluster)
    return kernel.compile(target, **gemm_bindings(dtype, config))


@tilews.kernel
def softmax_row(
    X: tl.Tensor["M, N:16", "T"],
    Y: tl.Tensor["M, N:16", "T"],
    COLUMNS: tl.constexpr,
):
    """Each block computes a row, which it keeps in registers."""
    row = tl.grid(X.shape[0])
    x = tl.load(X[row, 0], (1, COLUMNS), pad=-math.inf).to(tl.f32)
    e = tl.exp(x - tl.max(x, 1, keepdims=True))
    Y[row, 0] = (e * (1.0 / tl.sum(e, 1, keepdims=True))).to(Y.dtype)


@tilews.kernel
def softmax_tiles(
    X: tl.Tensor["M, N:16", "T"],
    Y: tl.Tensor["M, N:16", "T"],
    COLUMNS: tl.constexpr,
):
    """Each block computes a row. It loads the tiles twice: for the sum, and for the
    result."""
    M, N = X.shape
    row = tl.grid(M)
    # The running maximum, and the sum of the exponentials relative to it.
    top = tl.full((1, 1), -math.inf, tl.f32)
    total = tl.zeros((1, 1), tl.f32)
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (1, COLUMNS), pad=-math.inf).to(tl.f32)
        higher = tl.maximum(top, tl.max(x, 1, keepdims=True))
        e = tl.sum(tl.exp(x - higher), 1, keepdims=True)
        total = total * tl.exp(top - higher) + e
        top = higher
    scale = 1.0 / total
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (1, COLUMNS)).to(tl.f32)
        Y[row, j * COLUMNS] = (tl.exp(x - top) * scale).to(Y.dtype)


def compile_softmax(target: str, dtype: str, config: SoftmaxConfig) -> Any:
    """A compiled softmax for rows whose length is a multiple of 16."""
    kernel = softmax_row if config.whole else softmax_tiles
    return kernel.compile(
        target, T=DTYPES[dtype], COLUMNS=config.columns, threads=config.threads
    )
