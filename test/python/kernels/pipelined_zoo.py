"""Kernels with pipelined loops: every shape of loop that schedules have to keep.

Their inputs are small integers, so that results do not depend on the order of
sums and are compared exactly. ``CASES`` runs them as they are written; passes are
tested by running the same case on what they made of it.
"""

from kernels import (
    pipelined_flows,
    pipelined_guards,
    pipelined_loops,
    pipelined_masks,
    pipelined_matmuls,
    pipelined_views,
)

CASES = [
    *pipelined_matmuls.CASES,
    *pipelined_guards.CASES,
    *pipelined_masks.CASES,
    *pipelined_loops.CASES,
    *pipelined_flows.CASES,
    *pipelined_views.CASES,
]
