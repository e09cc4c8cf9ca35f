"""The axes along which kernels grow, and their sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from . import pipelined_kernels as pipelined
from . import schedule_kernels as schedule
from . import straight_kernels as straight

NVIDIA = ("sm_90a", "sm_80")
ALL = (*NVIDIA, "gfx942")


@dataclasses.dataclass(frozen=True)
class Axis:
    """A way to make a kernel larger.

    Attributes:
        name: for tables.
        meaning: what there are n of.
        make: the text of a kernel of size n.
        size: the largest size that is measured; the others are a half and a quarter.
        chips: the targets that it is compiled for.
    """

    name: str
    meaning: str
    make: Callable[[int], str]
    size: int
    chips: tuple[str, ...] = ALL


AXES = (
    Axis("scalars", "scalar operations in a chain", straight.scalars, 8000),
    Axis(
        "elementwise", "operations on fragments in a chain", straight.elementwise, 4000
    ),
    Axis("affine", "affine maps in a chain", straight.affine, 400),
    Axis("loads", "loads from global memory", straight.loads, 1000),
    Axis("copies", "copies through one shared buffer", straight.copies, 500),
    Axis("buffers", "shared buffers", straight.buffers, 480),
    Axis("arguments", "arguments of a kernel", straight.arguments, 400),
    Axis("functions", "kernels in a module", straight.functions, 64),
    Axis("depth", "nested loops", straight.depth, 250),
    Axis("carried depth", "loops that carry values", straight.carried_depth, 250),
    Axis(
        "loop buffers",
        "nested loops, each around a buffer",
        straight.loop_buffers,
        192,
    ),
    Axis("ifs", "guards in sequence", straight.ifs, 400),
    Axis("if depth", "nested guards", straight.if_depth, 100),
    Axis("iter args", "values that a loop carries", straight.iter_args, 400),
    Axis("pipelines", "pipelined loops in sequence", pipelined.pipelines, 64),
    Axis(
        "pipeline depth",
        "loops around a pipelined loop",
        pipelined.pipeline_depth,
        8,
        NVIDIA,
    ),
    Axis(
        "while depth",
        "`scf.while` loops around a pipelined loop",
        pipelined.while_depth,
        20,
        NVIDIA,
    ),
    Axis("doubled", "doublings of a carried index", pipelined.doubled, 4000),
    Axis("matmuls", "matmuls in a pipelined loop", pipelined.matmuls, 128),
    Axis("operations", "operations in a pipelined loop", pipelined.operations, 500),
    Axis("channels", "buffers in a pipelined loop", pipelined.channels, 128, NVIDIA),
    Axis(
        "clusters",
        "multicast copies in a pipelined loop",
        pipelined.clusters,
        28,
        NVIDIA[:1],
    ),
    Axis("guards", "guards in a pipelined loop", pipelined.guards, 512, NVIDIA),
    Axis(
        "guard depth",
        "guards around the copy of a pipelined loop",
        pipelined.guard_depth,
        48,
    ),
    Axis("persistent", "persistent loops in sequence", pipelined.persistent, 32),
    Axis(
        "staged",
        "stores through shared memory",
        pipelined.staged,
        40,  # more have more versions than the verifier follows, so that it gives up
        NVIDIA[:1],
    ),
    Axis(
        "role channels",
        "channels between two roles",
        schedule.role_channels,
        28,
        NVIDIA[:1],
    ),
    Axis("roles", "roles", schedule.roles, 12, NVIDIA[:1]),
    Axis("masks", "guards of one channel in a loop", schedule.masks, 8, NVIDIA[:1]),
    Axis("guard terms", "terms of one guard", schedule.guard_terms, 2000, NVIDIA[:1]),
    Axis(
        "guard loads",
        "loads that a guard depends on",
        schedule.guard_loads,
        2000,
        NVIDIA[:1],
    ),
    Axis(
        "trip counts",
        "loops of two roles, each with a trip count of its own",
        schedule.trip_counts,
        32,
        NVIDIA[:1],
    ),
    Axis("barriers", "barriers between two roles", schedule.barriers, 512, NVIDIA[:1]),
)


def find_axis(name: str) -> Axis:
    """The axis of a name.

    Raises:
        KeyError: there is none.
    """
    return {axis.name: axis for axis in AXES}[name]
