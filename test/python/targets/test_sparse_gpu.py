"""Matmuls with a 2:4 sparse left operand on an NVIDIA GPU, against float64."""

import numpy as np
import pytest

from kernels import sparse
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
CHIP = runtime.device_target()
if not CHIP.startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

# torch cannot convert arrays of these types from numpy.
TORCH_ONLY = {
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
#: The chip's own instructions (wgmma.sp on Hopper), and older ones.
TARGETS = sorted({CHIP, "sm_80", "sm_89"})


def to_device(array, operand=None):
    if operand not in TORCH_ONLY:
        return torch.from_numpy(array.copy()).cuda()
    bits = array.view(f"i{array.dtype.itemsize}").copy()
    return torch.from_numpy(bits).cuda().view(TORCH_ONLY[operand])


@pytest.mark.parametrize(
    ("case", "target"),
    [
        (case, target)
        for case in (*sparse.SMALL, *sparse.LARGE)
        for target in TARGETS
        if case.runs_on(target)
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_product(case, target):
    compiled = case.compile(target)
    if target != CHIP:
        # A cubin runs on its own family only; the driver compiles PTX for all.
        compiled = runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())
    for seed in range(2):
        (a, e, b, _), expected = case.data(seed)
        c = torch.full(expected.shape, -1, device="cuda")
        c = c.to(torch.int32 if case.output == "i32" else torch.float32)
        compiled(
            to_device(a, case.lhs), to_device(e), to_device(b, case.rhs or case.lhs), c
        )
        torch.cuda.synchronize()
        found = c.cpu().numpy()
        assert np.array_equal(found, expected), (
            f"{np.count_nonzero(found != expected)} of {found.size} elements differ, "
            f"the first at {np.argwhere(found != expected)[0]}"
        )
