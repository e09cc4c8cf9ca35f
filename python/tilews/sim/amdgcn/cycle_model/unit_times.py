"""Rates of AMD's compute units for the cycle model, with their sources.

Times of matmuls are not here: LLVM's scheduling model of the chip has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..disassembly import MachineError


@dataclass(frozen=True)
class UnitTimes:
    """Times of one compute unit, in cycles.

    Attributes:
        issue: between two instructions of one wave, and for which a vector instruction
            occupies its SIMD: 64 lanes on 16 units.
        vector: until the result of a vector instruction can be used.
        shared: from the start of a read of shared memory to its end.
        global_bytes: bytes a cycle between global memory and the unit.
        simds: SIMDs of a unit; each has a unit for matmuls.
        registers: vector registers of a lane, for all waves of a SIMD.
        most_waves: of a SIMD.
        shared_size: bytes of shared memory.
    """

    issue: int = 4
    vector: int = 8
    shared: int = 69
    global_bytes: int = 64
    simds: int = 4
    registers: int = 512
    most_waves: int = 8
    shared_size: int = 64 << 10


#: Measured on gfx950 (latency of dependent instructions and of ds_read_b32, in comments
#: of facebookexperimental/triton, AMDLatencyModel.cpp), or in AMD's documents on CDNA3
#: and CDNA4 (registers, waves, shared memory, 64 bytes a cycle from the L2 cache).
TIMES = {
    "gfx90a": UnitTimes(),
    "gfx942": UnitTimes(),
    "gfx950": UnitTimes(shared_size=160 << 10),
}

#: Cycles until data from global memory is there: an L2 hit under load (estimated), and
#: HBM (790, from the same comments).
GLOBAL_LATENCIES = (500, 790)


def get_times(chip: str) -> UnitTimes:
    """The times of a chip's compute units.

    Raises:
        MachineError: there is no model of the chip.
    """
    try:
        return TIMES[chip]
    except KeyError:
        raise MachineError(
            f"there is no cycle model of {chip}, only of {', '.join(TIMES)}"
        ) from None
