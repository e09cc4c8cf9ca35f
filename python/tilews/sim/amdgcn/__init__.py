"""A simulator of the machine code of AMD GPUs.

It executes code objects (HSACO) on a CPU, so that code for AMD's GPUs runs without one.
Every instruction works on a whole wave with numpy. Unknown instructions are errors. The
simulator is stricter than a GPU: results of loads may be used only after the wait that
orders them, memory that was not written may not be read, and every access has to lie
inside a buffer.

:func:`launch` runs a compiled kernel on arrays, as ``kernel(..., run="sim")`` does;
:class:`Simulator` runs kernels of any code object. :func:`record` runs one block, which
:func:`model_cycles` replays on a model of a compute unit.
"""

from .cycle_model import GLOBAL_LATENCIES, CycleReport, model_cycles
from .launching import launch, record
from .machine import KernelTrap, MachineError, Simulator
from .queues import POLICIES
from .recording import Recording

__all__ = [
    "GLOBAL_LATENCIES",
    "POLICIES",
    "CycleReport",
    "KernelTrap",
    "MachineError",
    "Recording",
    "Simulator",
    "launch",
    "model_cycles",
    "record",
]
