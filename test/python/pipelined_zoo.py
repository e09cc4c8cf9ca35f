"""Kernels with pipelined loops: every shape of loop that schedules have to keep.

Their inputs are small integers, so that results do not depend on the order of
sums and are compared exactly. ``CASES`` runs them as they are written; passes are
tested by running the same case on what they made of it.
"""

import pipelined_flows
import pipelined_guards
import pipelined_loops
import pipelined_masks
import pipelined_products
import pipelined_views

CASES = [
    *pipelined_products.CASES,
    *pipelined_guards.CASES,
    *pipelined_masks.CASES,
    *pipelined_loops.CASES,
    *pipelined_flows.CASES,
    *pipelined_views.CASES,
]
