"""Bounded-exhaustive testing of the verifier of schedules.

``python -m tilews.enumerate`` enumerates all schedules of a small grammar, up to
symmetry. It compares the verdict on each with what the simulator finds in all orders,
for a few trip counts and masks. ``docs/testing.md`` describes it.
"""

from ._compare import Comparer, Disagreement
from ._grammar import FAMILIES, Family, Schedule, enumerate_schedules
from ._texts import make_text

__all__ = [
    "FAMILIES",
    "Comparer",
    "Disagreement",
    "Family",
    "Schedule",
    "enumerate_schedules",
    "make_text",
]
