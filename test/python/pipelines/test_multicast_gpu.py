"""Clusters whose blocks multicast tiles, on a Hopper GPU, against torch.

The cases have iterations below, at and above the number of stages, ragged extents,
panels of persistent blocks, and several element types."""

import pytest

from benchmarks import kernels
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a":
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

#: Most tiles are 128 x 256 x 64 (e4m3: 128 deep), with 4 stages.
SHAPES = [
    (256, 512, 0),
    (256, 512, 64),
    (512, 1024, 192),
    (1024, 1536, 1024),
    (200, 328, 72),
    (1000, 1544, 520),
    (136, 264, 4096),
]
CLUSTERS = [(2, 1), (1, 2), (2, 2), (4, 1), (1, 4)]
TORCH = {"f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn"}


def check(config, shape, dtype="f16", layout="NN"):
    """Compares two launches with torch; the second shows wrong state of the first."""
    m, n, k = shape
    torch.manual_seed(0)
    kind = getattr(torch, TORCH[dtype])
    out = getattr(torch, TORCH[kernels.OUTPUTS[dtype]])
    a = torch.randn(m, k, device="cuda").to(kind)
    b = torch.randn(k, n, device="cuda").to(kind)
    right = b.t().contiguous() if layout[1] == "T" else b
    expected = a.float() @ b.float()
    compiled = kernels.compile_gemm("sm_90a", shape, dtype, layout, config)
    assert "multicast::cluster" in compiled.ptx
    for _ in range(2):
        c = torch.full((m, n), float("nan"), device="cuda", dtype=out)
        compiled(a, right, c)
        torch.cuda.synchronize()
        error = (c.float() - expected).norm() / expected.norm().clamp(min=1e-6)
        assert error < 1e-2, error


def config(cluster, blocks=0, panel=8, depth=64):
    return kernels.GemmConfig(128, 256, depth, 256, 4, blocks, panel, cluster)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
def test_blocks_of_a_grid(cluster, shape):
    check(config(cluster), shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("blocks", [8, 132])
@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (1, 4)], ids=str)
def test_blocks_that_take_tiles_cyclically(cluster, blocks, shape):
    check(config(cluster, blocks), shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("blocks", [8, 132])
@pytest.mark.parametrize("cluster", [(2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("tile", [(64, 256), (128, 192), (192, 128)], ids=str)
def test_roles_that_take_tiles_alternately(tile, cluster, blocks, shape):
    check(
        kernels.GemmConfig(*tile, 64, 128, 4, blocks, 8, cluster, ping_pong=True), shape
    )


@pytest.mark.parametrize("panel", [2, 4, 16])
def test_panels(panel):
    check(config((1, 2), 132, panel), (4096, 4096, 512))


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "e4m3"])
def test_element_types(dtype, cluster):
    for blocks in (0, 132):
        check(
            config(cluster, blocks, depth=128 if dtype == "e4m3" else 64),
            (1024, 1536, 1040),
            dtype,
            "NT",
        )


@pytest.mark.parametrize("layout", ["NN", "NT"])
def test_a_large_product(layout):
    for blocks in (0, 132):
        check(config((1, 2), blocks), (4096, 8192, 2048), "f16", layout)
