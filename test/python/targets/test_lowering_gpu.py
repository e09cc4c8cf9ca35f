"""Kernels of the zoo on an NVIDIA GPU, against the interpreter."""

import numpy as np
import pytest

from kernels import zoo
from support import function_cases
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
CHIP = runtime.device_target()
if not CHIP.startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

HAS_FP8 = int(CHIP[3:].rstrip("af")) >= 89
CASES = zoo.all_cases() if HAS_FP8 else (zoo.gemm_cases() + zoo.other_cases())

# torch cannot convert arrays of these types from numpy.
TORCH_ONLY = {
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


def to_device(array):
    if not isinstance(array, np.ndarray):
        return array
    if (dtype := TORCH_ONLY.get(array.dtype.name)) is None:
        return torch.from_numpy(array.copy()).cuda()
    bits = array.view(f"i{array.dtype.itemsize}").copy()
    return torch.from_numpy(bits).cuda().view(dtype)


def to_numpy(tensor, like):
    if like.dtype.name in TORCH_ONLY:
        bits = getattr(torch, f"int{8 * like.dtype.itemsize}")
        return tensor.view(bits).cpu().numpy().view(like.dtype)
    return tensor.cpu().numpy()


@pytest.mark.parametrize("target", sorted({CHIP, "sm_80"}))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_matches_interpreter(case, target):
    if target == "sm_80" and case.name.startswith(("cast-", "gemm-float8")):
        pytest.skip("sm_80 has no fp8")
    arguments = case.arguments(np.random.default_rng(7))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    case.kernel(*expected, target="cpu", **case.constants)
    device = [to_device(a) for a in arguments]
    compiled = case.kernel.compile_for(*device, target=target, **case.constants)
    if target != CHIP:
        # A cubin runs on its own family only; the driver compiles PTX for all.
        compiled = runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())
    compiled(*device)
    torch.cuda.synchronize()
    for found, wanted in zip(device, expected, strict=True):
        if not isinstance(wanted, np.ndarray):
            continue
        case.check(to_numpy(found, wanted), wanted)


@pytest.mark.parametrize("case", function_cases.CASES, ids=lambda case: case.name)
def test_functions(case):
    x, y = case.arguments()
    expected = case.expected(x, y)
    found = np.zeros(expected.shape, function_cases.stored(expected.dtype))
    device = [to_device(a) for a in (x, y, found)]
    function_cases.apply(*device, F=case.ours)
    case.check(to_numpy(device[-1], found), expected)
