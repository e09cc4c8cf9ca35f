"""A simulator of the machine code of AMD GPUs.

It executes code objects (HSACO) on a CPU, so that code for AMD's GPUs runs without one.
Every instruction works on a whole wave with numpy. Unknown instructions are errors. The
simulator is stricter than a GPU: results of loads may be used only after the wait that
orders them, memory that was not written may not be read, and every access has to lie
inside a buffer.

:func:`launch` runs a compiled kernel on arrays, as ``kernel(..., run="sim")`` does;
:class:`Simulator` runs kernels of any code object.
"""

from .launching import launch
from .machine import KernelTrap, MachineError, Simulator
from .queues import POLICIES

__all__ = ["POLICIES", "KernelTrap", "MachineError", "Simulator", "launch"]
