"""The cycle model: how busy a kernel keeps the units of a compute unit."""

from .cycles import CycleReport, count_blocks, model_cycles
from .unit_times import GLOBAL_LATENCIES, get_times

__all__ = [
    "GLOBAL_LATENCIES",
    "CycleReport",
    "count_blocks",
    "get_times",
    "model_cycles",
]
