"""The cases of test_arithmetic.py on an NVIDIA GPU.

As a script, it runs all cases without pytest and prints those that fail:

    python test/python/targets/test_arithmetic_gpu.py
"""

import sys
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support import arithmetic
from support.arithmetic import ArithmeticCase
from tilews import ir, runtime
from tilews.compiler import compile_module

torch = pytest.importorskip("torch", reason="torch is not installed")
CHIP = runtime.device_target()
if not CHIP.startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

CASES = arithmetic.cases()
if int(CHIP[3:].rstrip("af")) >= 89:
    CASES += arithmetic.fp8_cases(("f8E4M3FN", "f8E5M2"))
# torch cannot convert arrays of these types from numpy.
OWN = {
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


def to_device(array: np.ndarray) -> "torch.Tensor":
    bits = torch.from_numpy(array.view(f"i{array.itemsize}").copy()).cuda()
    own = OWN.get(array.dtype.name)
    return bits.view(own or torch.from_numpy(array).dtype)


def to_numpy(tensor: "torch.Tensor", like: np.ndarray) -> np.ndarray:
    bits = tensor.view(getattr(torch, f"int{8 * like.itemsize}"))
    return bits.cpu().numpy().view(like.dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gpu(case: ArithmeticCase) -> None:
    with ir.Context():
        module = ir.Module.parse(case.module())
        compiled = compile_module(module, CHIP, index_bitwidth=64)
    arguments = case.arguments()
    device = [to_device(array) for array in arguments]
    compiled(*device)
    torch.cuda.synchronize()
    case.check([to_numpy(*pair) for pair in zip(device, arguments, strict=True)])


def main() -> None:
    """Runs all cases; exits with 1 if one fails."""
    failed = 0
    for case in CASES:
        try:
            test_gpu(case)
        except AssertionError as error:
            failed += 1
            print(f"FAILED {error}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases passed on {CHIP}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
