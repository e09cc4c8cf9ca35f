"""Schedules for Hopper on the GPU, against torch.

The cases have trip counts below, at and above the number of stages, ragged extents,
guards, persistent blocks and TMA stores."""

import pytest

from kernels import hopper
from tilews import compiler, ir, runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a":
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

SHAPES = [
    (128, 256, 0),
    (128, 256, 64),
    (256, 512, 192),
    (512, 768, 1024),
    (200, 328, 72),
    (1000, 1032, 520),
]
KERNELS: dict[str, runtime.LoadedKernel] = {}


def get_kernel(name):
    if name not in KERNELS:
        with ir.Context():
            module = ir.Module.parse(hopper.gemm(**hopper.VARIANTS[name]))
            compiled = hopper.compile_schedule(module)
            # Without ptxas the driver assembles.
            image = compiled.cubin if compiler.find_ptxas() else compiled.ptx.encode()
            KERNELS[name] = runtime.LoadedKernel(compiled.manifest, image)
    return KERNELS[name]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", hopper.VARIANTS)
def test_gemm_matches_torch(name, shape):
    m, n, k = shape
    options = hopper.VARIANTS[name]
    dtype = torch.bfloat16 if options.get("dtype") == "bf16" else torch.float16
    out = dtype if options.get("store") == "tma" else torch.float32
    torch.manual_seed(0)
    a = torch.randn(m, k, device="cuda", dtype=dtype)
    b = torch.randn(n, k, device="cuda", dtype=dtype)
    c = torch.full((m, n), float("nan"), device="cuda", dtype=out)
    tile_k = options.get("tile_k", 64)
    steps = -(-k // tile_k)
    masks = [None]
    if options.get("masked"):
        masks = [
            torch.ones(steps, device="cuda", dtype=torch.int8),
            torch.zeros(steps, device="cuda", dtype=torch.int8),
            torch.randint(0, 2, (steps,), device="cuda", dtype=torch.int8),
        ]
    for mask in masks:
        # The second launch fails if the first one leaves wrong state.
        for _ in range(2):
            get_kernel(name)(a, b, c, *([] if mask is None else [mask]))
        torch.cuda.synchronize()
        left = a.float()
        if mask is not None and k:
            left = left * mask.repeat_interleave(tile_k)[:k].float()
        expected = left @ b.float().T
        error = (c.float() - expected).norm() / expected.norm().clamp(min=1e-6)
        assert error < (1e-2 if out != torch.float32 else 1e-3), error
