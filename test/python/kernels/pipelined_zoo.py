"""Kernels with pipelined loops of every shape that schedules support.

Inputs are small integers, so that results do not depend on the order of summation and
are compared exactly. Tests run a case before and after passes.
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
