"""Pipelined kernels on an NVIDIA GPU, against the interpreter."""

import numpy as np
import pytest

from kernels import pipelined_zoo
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
CHIP = runtime.device_target()
if not CHIP.startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)


@pytest.mark.parametrize("target", sorted({CHIP, "sm_80"}))
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_matches_interpreter(case, target):
    arguments = case.arguments(np.random.default_rng(7))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    case.kernel(*expected, target="cpu", **case.constants)
    device = [
        torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a
        for a in arguments
    ]
    compiled = case.kernel.compile_for(*device, target=target, **case.constants)
    if target != CHIP:
        # A cubin runs on its own family only; the driver compiles PTX for all.
        compiled = runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())
    compiled(*device)
    torch.cuda.synchronize()
    for found, wanted in zip(device, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(
                found.cpu().numpy().astype("f8"),
                wanted.astype("f8"),
                rtol=case.tolerance,
                atol=case.tolerance,
            )
