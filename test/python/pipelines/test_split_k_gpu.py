"""Loops over K that several blocks share, on an NVIDIA GPU."""

import pytest

from kernels.cooperating import split_k
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if not runtime.device_target().startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)


@pytest.mark.parametrize("splits", [1, 3, 16])
@pytest.mark.parametrize("kernel", ["gemm", "persistent"])
def test_product(kernel, splits):
    a, b, c = (torch.from_numpy(x).cuda() for x in split_k.arguments(2000))
    steps = torch.arange(2000, device="cuda") // 16
    kept = steps >= 0 if kernel == "gemm" else (steps % 2 == 1) & (steps != 5)
    factor = 1 if kernel == "gemm" else 0.5
    expected = 1 + factor * (a[:, kept].double() @ b[kept].double())
    getattr(split_k, kernel).compile(runtime.device_target(), SPLITS=splits)(a, b, c)
    torch.cuda.synchronize()
    assert torch.equal(c.double(), expected)


@pytest.mark.parametrize("blocks", [1, 5, 132, 1000])
def test_streamed_product(blocks):
    a, b, c = (torch.from_numpy(x).cuda() for x in split_k.arguments(2000))
    split_k.streamed.compile(runtime.device_target(), BLOCKS=blocks)(a, b, c)
    torch.cuda.synchronize()
    assert torch.equal(c.double(), 1 + a.double() @ b.double())
