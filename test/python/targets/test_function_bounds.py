"""Functions of floating point are as accurate as docs/numerics.md says, in every form.

The interpreter, the simulator of phase 4, LLVM IR for NVIDIA on the CPU, and AMD's
machine code on its simulator compute the arguments of ``function_bounds.py``.
"""

import pathlib
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.llvm_on_cpu import KernelOnCpu
from targets.function_bounds import BOUNDS, COUNT, FunctionBound
from tilews import ir, sim
from tilews.sim.amdgcn import launch

by_name = pytest.mark.parametrize("case", BOUNDS, ids=lambda case: case.name)


@tilews.kernel(threads=128)
def compute(
    X: tl.Tensor["2048", "T"],
    Y: tl.Tensor["2048", "T"],
    Z: tl.Tensor["2048", "T"],
    F: tl.constexpr,
):
    tl.grid(1)
    Z[0] = F(tl.load(X), tl.load(Y))


def _arrays(case: FunctionBound, dtype: type = np.float32) -> list[np.ndarray]:
    x, y = case.arguments[0], case.arguments[-1]
    return [x.astype(dtype), y.astype(dtype), np.full(COUNT, 77, dtype)]


@by_name
def test_interpreter(case: FunctionBound) -> None:
    arrays = _arrays(case)
    compute(*arrays, F=case.apply)
    case.check(arrays[-1])


@by_name
def test_simulator(case: FunctionBound) -> None:
    arrays = _arrays(case)
    compiled = compute.compile_for(*arrays, F=case.apply, target="sm_90a")
    with ir.Context():
        sim.run(ir.Module.parse(compiled.mlir("barriers")), "compute", arrays)
    case.check(arrays[-1])


@by_name
def test_llvm(case: FunctionBound, tmp_path) -> None:
    arrays = _arrays(case)
    compiled = compute.compile_for(*arrays, F=case.apply, target="sm_80")
    KernelOnCpu(compiled.llvm, "compute", tmp_path)(128, arrays)
    case.check(arrays[-1])


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100"])
@by_name
def test_amdgcn(case: FunctionBound, chip: str) -> None:
    arrays = _arrays(case)
    launch(compute.compile_for(*arrays, F=case.apply, target=chip), arrays)
    case.check(arrays[-1])


@pytest.mark.parametrize("name", ["sin", "tanh", "pow", "%", "log"])
@pytest.mark.parametrize("dtype", [tl.f16, tl.bf16], ids=str)
def test_narrow(name: str, dtype: tl.DType) -> None:
    """Functions of f16 and bf16 are those of f32, rounded."""

    @tilews.kernel(threads=128)
    def narrow(
        X: tl.Tensor["2048", tl.f32],
        Y: tl.Tensor["2048", tl.f32],
        Z: tl.Tensor["2048", tl.f32],
        F: tl.constexpr,
        D: tl.constexpr,
    ):
        tl.grid(1)
        Z[0] = F(tl.load(X).to(D), tl.load(Y).to(D)).to(tl.f32)

    case = next(case for case in BOUNDS if case.name == name)
    found, expected = _arrays(case), _arrays(case)
    narrow(*expected, F=case.apply, D=dtype)
    launch(narrow.compile_for(*found, F=case.apply, D=dtype, target="gfx942"), found)
    # The last place of 11 or 8 bits may differ where f32 is near a tie.
    np.testing.assert_allclose(
        found[-1],
        expected[-1],
        rtol=2.0**-7 if dtype == tl.bf16 else 2.0**-10,
        atol=2.0**-24,
    )


def test_table_of_documentation() -> None:
    """The bounds in docs/numerics.md are those that are tested."""
    page = pathlib.Path(__file__).parents[3] / "docs" / "numerics.md"
    rows = dict(re.findall(r"^\| `([^`]+)` \| ([\d.]+)", page.read_text(), flags=re.M))
    for case in BOUNDS:
        name = "x ** n" if case.name.startswith("x **") else f"tl.{case.name}"
        name = "x % y" if case.name == "%" else name
        assert float(rows[name]) == case.ulps, name
