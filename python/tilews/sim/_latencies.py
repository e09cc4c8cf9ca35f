"""Rates and latencies of chips, for timelines."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Latencies:
    """Rates of one multiprocessor (compute unit), in cycles of its clock.

    Attributes:
        chip: an example of those that it is for.
        sources: where the numbers are from, in the order of the fields below.
        memory: cycles until the first byte from global memory is there.
        memory_bytes: bytes a cycle from global memory, if all share it.
        shared_bytes: bytes a cycle of shared memory.
        matmul: multiply-adds a cycle of tensor cores, for 16-bit types.
        elements: elementwise operations a cycle.
        issue: cycles to start something that goes on by itself.
        barrier: cycles from an arrival to the end of a wait for it.
    """

    chip: str
    sources: dict[str, str]
    memory: int
    memory_bytes: float
    shared_bytes: float
    matmul: float
    elements: float
    issue: int
    barrier: int


_DATASHEET = "estimated: peak of the data sheet"
_GUESS = "estimated"

#: Latencies by prefix of the chip's name; the first prefix that matches counts.
TABLE: dict[str, Latencies] = {
    "sm_9": Latencies(
        chip="sm_90a (H200, 132 SMs, 1.75 GHz)",
        sources={
            "memory": _GUESS,
            "memory_bytes": f"{_DATASHEET}, 4.8 TB/s",
            "shared_bytes": f"{_DATASHEET}, 32 banks of 4 bytes",
            "matmul": "measured: 858 TFLOP/s of wgmma with operands that stay in "
            "shared memory",
            "elements": f"{_DATASHEET}, 128 lanes",
            "issue": _GUESS,
            "barrier": _GUESS,
        },
        memory=700,
        memory_bytes=20.7,
        shared_bytes=128,
        matmul=1856,
        elements=128,
        issue=8,
        barrier=30,
    ),
    "sm_": Latencies(
        chip="sm_80 (A100, 108 SMs, 1.41 GHz)",
        sources={
            "memory": _GUESS,
            "memory_bytes": f"{_DATASHEET}, 2.0 TB/s",
            "shared_bytes": f"{_DATASHEET}, 32 banks of 4 bytes",
            "matmul": f"{_DATASHEET}, 312 TFLOP/s",
            "elements": f"{_DATASHEET}, 64 lanes",
            "issue": _GUESS,
            "barrier": _GUESS,
        },
        memory=600,
        memory_bytes=13.4,
        shared_bytes=128,
        matmul=1024,
        elements=64,
        issue=8,
        barrier=30,
    ),
    "gfx": Latencies(
        chip="gfx942 (MI300X, 304 CUs, 2.1 GHz)",
        sources={
            "memory": _GUESS,
            "memory_bytes": f"{_DATASHEET}, 5.3 TB/s",
            "shared_bytes": f"{_DATASHEET}, 32 banks of 4 bytes",
            "matmul": f"{_DATASHEET}, 1307 TFLOP/s",
            "elements": f"{_DATASHEET}, 128 lanes",
            "issue": _GUESS,
            "barrier": _GUESS,
        },
        memory=800,
        memory_bytes=8.3,
        shared_bytes=128,
        matmul=1024,
        elements=128,
        issue=8,
        barrier=40,
    ),
}


def find(chip: str) -> Latencies:
    """The latencies of a chip.

    Raises:
        ValueError: there are none.
    """
    for prefix, latencies in TABLE.items():
        if chip.startswith(prefix):
            return latencies
    raise ValueError(
        f"no latencies are known for '{chip}', only for chips whose names begin "
        f"with {', '.join(TABLE)}"
    )
