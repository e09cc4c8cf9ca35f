"""Conversions, flips and combinations in random fragment layouts on an NVIDIA GPU."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from tilews.passmanager import PassManager

from support import layout_pairs
from tilews import ir, runtime
from tilews.compiler import compile_module

torch = pytest.importorskip("torch", reason="torch is not installed")
CHIP = runtime.device_target()
if not CHIP.startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

PER_MODULE = 30


def compile_cases(cases: Sequence[layout_pairs.Case]) -> list[runtime.LoadedKernel]:
    """The kernels of all cases, from one cubin."""
    with ir.Context() as context:
        module = ir.Module.parse(layout_pairs.module(cases, CHIP), context)
        PassManager.parse(layout_pairs.lowering(CHIP), context).run(module.operation)
        compiled = compile_module(module)
        image, compilation = compiled.binary, compiled._compilation
        manifests = [
            json.loads(compilation.manifest(f"case_{i}")) for i in range(len(cases))
        ]
    return [runtime.LoadedKernel(manifest, image) for manifest in manifests]


def check_copies(cases: Sequence[layout_pairs.Case], seed: int) -> None:
    """Runs kernels that leave a copy of their first argument in the second."""
    for i, (case, kernel) in enumerate(zip(cases, compile_cases(cases), strict=True)):
        x, y, _ = case.arguments(seed)
        source, result = to_device(x), to_device(y)
        kernel(source, result, grid=(1,))
        torch.cuda.synchronize()
        np.testing.assert_array_equal(
            result.view(torch.uint8).cpu().numpy(),
            source.view(torch.uint8).cpu().numpy(),
            err_msg=f"case_{i}: {case}",
        )


@pytest.mark.parametrize("seed", range(20))
def test_pairs(seed: int) -> None:
    check_copies(layout_pairs.random_pairs(PER_MODULE, 1000 + seed, lanes=32), seed)


def test_matrices() -> None:
    check_copies(layout_pairs.staged_cases(), seed=1)


@pytest.mark.parametrize("seed", range(4))
def test_combinations(seed: int) -> None:
    cases = layout_pairs.random_combinations(PER_MODULE, 2000 + seed, lanes=32)
    for i, (case, kernel) in enumerate(zip(cases, compile_cases(cases), strict=True)):
        x, y, expected = case.arguments(seed)
        result = to_device(y)
        kernel(to_device(x), result, grid=(1,))
        np.testing.assert_array_equal(
            result.cpu().numpy(), expected, err_msg=f"case_{i}: {case}"
        )


@pytest.mark.parametrize("seed", range(8))
def test_flips(seed: int) -> None:
    cases = layout_pairs.random_flips(PER_MODULE, 3000 + seed, lanes=32)
    for i, (case, kernel) in enumerate(zip(cases, compile_cases(cases), strict=True)):
        x, y, expected = case.arguments(seed)
        result = to_device(y)
        kernel(to_device(x), result, grid=(1,))
        torch.cuda.synchronize()
        np.testing.assert_array_equal(
            result.view(torch.uint8).cpu().numpy(),
            np.ascontiguousarray(expected).view(np.uint8),
            err_msg=f"case_{i}: {case}",
        )


def to_device(array: np.ndarray) -> "torch.Tensor":
    """The array on the GPU; types that torch cannot convert are copied as bits."""
    own = {
        "bfloat16": torch.bfloat16,
        "float8_e4m3fn": torch.float8_e4m3fn,
    }.get(array.dtype.name)
    if own is None:
        return torch.from_numpy(array.copy()).cuda()
    bits = array.view(f"i{array.dtype.itemsize}").copy()
    return torch.from_numpy(bits).cuda().view(own)
