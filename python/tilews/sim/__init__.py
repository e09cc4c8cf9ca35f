"""The simulator: runs kernels on the CPU, with values and under hostile timing.

:func:`run` runs a kernel in any form up to barriers in shared memory, from the tile
operations as they are written to what ``--tile-lower-channels`` makes of them. Kernels
as written run sequentially, which defines what every lowering has to compute.
:func:`trace` shows when things happen in a block, on a chip's time scale.
:func:`replay` runs a kernel up to the fault that the verifier has found in it.
:func:`differential` runs a kernel after each pass of a pipeline and finds the first
one that changes what it computes. ``docs/simulator.md`` says what is modelled.
"""

from ._differential import Difference, differential, list_passes
from ._events import Event
from ._options import BARRIERS, POLICIES, Exploration, RunOptions
from ._replay import Counterexample, find_counterexample, replay
from ._run import SimulationError, find_kernel, run
from ._trace import Trace, make_trace, trace

__all__ = [
    "BARRIERS",
    "POLICIES",
    "Counterexample",
    "Difference",
    "Event",
    "Exploration",
    "RunOptions",
    "SimulationError",
    "Trace",
    "differential",
    "find_counterexample",
    "find_kernel",
    "list_passes",
    "make_trace",
    "replay",
    "run",
    "trace",
]
