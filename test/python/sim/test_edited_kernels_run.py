"""The simulator and the verifier agree on who reads and writes the slots of roles."""

import pathlib

import numpy as np
import pytest

from support import edited_kernels
from tilews import ir, sim

ROOT = pathlib.Path(__file__).parents[2] / "lit" / "Verifier"
FILES = (
    "channels/several-consumers.edits",
    "channels/sparse-matmuls.edits",
    "barriers/sparse-matmuls.edits",
)
#: Without barriers, the simulator lets a role wait for what it has started itself, as
#: `--tile-insert-barriers` does.
UNSEEN = {"operand_overwritten_while_the_matmul_runs", "drains_after_the_commit"}
CASES = [
    (path, name)
    for path in FILES
    for name, case in edited_kernels.read(ROOT / path).items()
    if (case.is_proved or case.is_wrong) and name not in UNSEEN
]
_TYPES = {"f32": "f4", "f16": "f2", "i16": "i2", "i1": "?"}


def make_argument(type_: ir.Type) -> np.ndarray | int:
    """Zeros for memory, with 512 elements where an extent is dynamic; 3 otherwise."""
    if not isinstance(type_, ir.MemRefType):
        return 3
    shape = [
        512 if type_.is_dynamic_dim(i) else type_.get_dim_size(i)
        for i in range(type_.rank)
    ]
    return np.zeros(shape, _TYPES[str(type_.element_type)])


@pytest.mark.parametrize(("path", "name"), CASES)
@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_faults_are_those_of_the_verdicts(path, name, policy):
    case = edited_kernels.read(ROOT / path)[name]
    with ir.Context(), ir.Location.unknown():
        kernel = sim.find_kernel(ir.Module.parse(case.text()), None)
        (body,) = kernel.regions[0].blocks
        arguments = [make_argument(each.type) for each in body.arguments]
        fails = False
        try:
            barriers = "implied" if path.startswith("channels") else "explicit"
            sim.run(kernel, None, arguments, 1, policy=policy, barriers=barriers)
        except sim.SimulationError:
            fails = True
        assert fails == case.is_wrong
