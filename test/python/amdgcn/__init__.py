"""A simulator of AMD GPU machine code, a tool of the tests.

It executes tilews' code objects on a CPU, so that code for AMD's GPUs is checked
without one. Every instruction works on a whole wave with numpy. Unknown instructions
are errors. The simulator is stricter than a GPU: results of loads may be used only
after the wait that orders them, memory that was not written may not be read, and
every access has to lie inside a buffer.
"""

from .machine import KernelTrap, MachineError, Simulator

__all__ = ["KernelTrap", "MachineError", "Simulator"]
