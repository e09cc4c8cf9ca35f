"""Ping-pong kernels on a Hopper GPU."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import ping_pong
from tilews import compiler, runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a":
    pytest.skip("needs a Hopper GPU", allow_module_level=True)


@pytest.mark.parametrize("case", ping_pong.CASES, ids=lambda case: case.name)
def test_matches_numpy(case):
    compiled = case.kernel.compile("sm_90a", **case.constants)
    for _ in range(5):
        arguments = [
            torch.from_numpy(x).cuda() for x in case.arguments()[: len(case.arrays)]
        ]
        compiled(*arguments, *case.scalars)
        torch.cuda.synchronize()
        np.testing.assert_array_equal(arguments[-1].cpu().numpy(), case.expected)


@tilews.kernel(threads=128)
def matmul(
    A: tl.Tensor["M, K:16", "T"],
    B: tl.Tensor["N, K:16", "T"],
    C: tl.Tensor["M, N:16", "T"],
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    M, N = C.shape
    tl.grid(BLOCKS)
    As = tl.alloc_shared((BM, BK), A.dtype)
    Bs = tl.alloc_shared((BN, BK), B.dtype)
    tiles = (tl.cdiv(N, BN), tl.cdiv(M, BM))
    for x, y in tl.persistent(*tiles, order="row", panel=8, ping_pong=True):
        acc = tl.zeros((BM, BN), tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], BK), num_stages=STAGES):
            tl.copy(A[y * BM, k * BK], As)
            tl.copy(B[x * BN, k * BK], Bs)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        C[y * BM, x * BN] = acc.to(C.dtype)


#: Tile extents, threads of a role, stages.
TILES = [
    (64, 128, 64, 128, 5),
    (64, 256, 64, 128, 4),
    (128, 128, 64, 128, 4),
    (128, 128, 64, 256, 4),
    (128, 192, 64, 128, 4),
    (192, 128, 64, 128, 5),
]
SHAPES = [
    (64, 256, 64),
    (512, 512, 0),
    (1000, 1040, 528),
    (4096, 4096, 1024),
    (8192, 2048, 4096),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_product_matches_torch(dtype, tile, shape):
    m, n, k = shape
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    torch.manual_seed(0)
    a = torch.randn(m, k, device="cuda", dtype=kind)
    b = torch.randn(n, k, device="cuda", dtype=kind)
    names = dict(zip(("BM", "BN", "BK", "threads", "STAGES"), tile, strict=True))
    compiled = matmul.compile("sm_90a", T=getattr(tl, dtype), BLOCKS=132, **names)
    assert "tile.role @math1" in compiled.mlir("barriers")
    if compiler.find_ptxas():
        assert compiled.resources["warnings"] == []
        assert compiled.resources["spill_stores"] == 0
    expected = a.float() @ b.float().T
    for _ in range(20):
        c = torch.full((m, n), float("nan"), device="cuda", dtype=kind)
        compiled(a, b, c)
        error = (c.float() - expected).norm() / expected.norm().clamp(min=1e-6)
        assert error < 1e-2, error
