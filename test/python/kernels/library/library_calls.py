"""Operations of tilews.kernels in tests: their launches on chips, and comparisons."""

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import ml_dtypes
import numpy as np

from support.verifying import schedule_steps, verify_steps
from tilews import ir
from tilews.dispatch import Kernel

#: One chip for each way of lowering.
CHIPS = ("sm_80", "sm_90a", "gfx942", "gfx950", "gfx1100")
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
#: The largest relative error of rounding once.
ROUNDOFF = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-22}


@contextlib.contextmanager
def launches() -> Iterator[list]:
    """The launches that operations make meanwhile, none of which runs."""
    found = []

    def call(kernel, *args, target=None, run=None, **options):
        found.append((kernel, args, options))

    with mock.patch.object(Kernel, "__call__", call):
        yield found


def compile_for(operate: Callable[..., object], chip: str) -> list:
    """The compiled kernels that an operation launches on a chip."""
    with launches() as found:
        operate(target=chip)
    assert found, "the operation launches nothing"
    compiled = [
        kernel.compile_for(*args, target=chip, **options)
        for kernel, args, options in found
    ]
    for each in compiled:
        assert each.asm
    return compiled


def count_proofs(operate: Callable[..., object], chip: str) -> list[int]:
    """After how many passes each kernel that an operation launches is proved."""
    counts = []
    for compiled in compile_for(operate, chip):
        with ir.Context():
            module = ir.Module.parse(compiled.mlir("tile"))
            counts.append(verify_steps(module, _pipeline(chip)))
    return counts


def prove(operate: Callable[..., object], chip: str) -> None:
    """Fails unless an operation launches a schedule, proved after each pass.

    Kernels without a schedule, such as sums of parts, may come with it.
    """
    steps = len(schedule_steps(_pipeline(chip)))
    counts = set(count_proofs(operate, chip))
    assert steps in counts and counts <= {0, steps}, counts


def _pipeline(chip: str) -> str:
    kind = "nvvm" if chip.startswith("sm_") else "rocdl"
    return f"tilews-to-{kind}{{chip={chip}}}"


def assert_close(
    found: np.ndarray,
    expected: np.ndarray,
    dtype: str,
    terms: float = 4,
    size: float = 1e-30,
):
    """Compares with float64: one rounding of each element, and some of f32.

    Args:
        found: the result, rounded to `dtype`.
        expected: the same in float64.
        dtype: the type of the result.
        terms: how many units of 2^-20 of the largest number it may differ by.
        size: a number on the way, which may be larger than all results.
    """
    assert found.shape == expected.shape
    if not expected.size:
        return
    error = np.abs(np.asarray(found, np.float64) - expected)
    allowed = ROUNDOFF[dtype] * np.abs(expected)
    allowed += 2**-25 if dtype == "f16" else 0  # Half of the smallest number.
    allowed += terms * 2**-20 * max(np.abs(expected).max(), size)
    worst = np.argmax(error - allowed)
    assert (error <= allowed).all(), (
        f"{np.ravel(found)[worst]} and {np.ravel(expected)[worst]}"
    )
