"""Operations of numbers have the same results in every form, on every edge value.

The interpreter, the simulator of phase 4, LLVM IR for NVIDIA on the CPU, and AMD's
machine code on its simulator are compared with the definitions in
``support/definitions.py``. ``test_arithmetic_gpu.py`` runs the cases on a GPU.
"""

import pytest

from support import arithmetic
from support.arithmetic import ArithmeticCase
from support.llvm_on_cpu import KernelOnCpu
from tilews import ir, sim
from tilews.compiler import CompiledKernel, compile_module
from tilews.sim.amdgcn.machine import Simulator

CASES = arithmetic.cases()
OCP = arithmetic.fp8_cases(("f8E4M3FN", "f8E5M2"))
FNUZ = arithmetic.fp8_cases(("f8E4M3FNUZ", "f8E5M2FNUZ"))
AMD = [("gfx942", case) for case in CASES + FNUZ]
# LLVM folds constants alike for both chips.
AMD += [("gfx1201", case) for case in CASES + OCP if "constant" not in case.name]


def compile_case(case: ArithmeticCase, chip: str) -> CompiledKernel:
    with ir.Context():
        return compile_module(ir.Module.parse(case.module()), chip, index_bitwidth=64)


@pytest.mark.parametrize("case", CASES + OCP + FNUZ, ids=lambda case: case.name)
def test_interpreter(case: ArithmeticCase) -> None:
    arguments = case.arguments()
    with ir.Context():
        sim.run(ir.Module.parse(case.module()), "k", arguments)
    case.check(arguments)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_simulator(case: ArithmeticCase) -> None:
    """Folders of upstream and the passes of tilews keep the results."""
    arguments = case.arguments()
    text = compile_case(case, "sm_90a").mlir("barriers")
    with ir.Context():
        sim.run(ir.Module.parse(text), "k", arguments)
    case.check(arguments)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_llvm(case: ArithmeticCase, tmp_path) -> None:
    arguments = case.arguments()
    kernel = KernelOnCpu(compile_case(case, "sm_80").llvm, "k", tmp_path)
    kernel(arithmetic.THREADS, arguments)
    case.check(arguments)


@pytest.mark.parametrize(
    ("chip", "case"), AMD, ids=lambda value: getattr(value, "name", value)
)
def test_amdgcn(chip: str, case: ArithmeticCase, tmp_path) -> None:
    arguments = case.arguments()
    path = tmp_path / "kernel.hsaco"
    path.write_bytes(compile_case(case, chip).hsaco)
    Simulator(path.read_bytes()).launch("k", (1,), arithmetic.THREADS, arguments)
    case.check(arguments)
