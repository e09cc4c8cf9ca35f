"""Options that all attentions have: checks, and numbers for their kernels."""

import math
from typing import Any

import tilews.language as tl

from ...runtime import device_target
from ...runtime.arrays import is_on_host
from ..host import POSITIVE, check_array, check_number, fail

LOG2_E = 1 / math.log(2)
#: The highest score before all others. It is finite, so that differences are numbers.
LOWEST = -1e30


def check_options(
    name: str,
    heads: tuple[int, int],
    depth: int,
    scale: float | None,
    soft_cap: float | None,
    sinks: Any,
) -> None:
    """Checks the options of an attention.

    Args:
        name: the name of the operation, for errors.
        heads: the numbers of heads of queries, and of keys.
        depth: the elements of a head.
        scale, soft_cap, sinks: as for :func:`attention`.

    Raises:
        LaunchError: one does not fit.
    """
    if depth % 16 or not 0 < depth <= 256:
        raise fail(name, f"'q': expected D a multiple of 16 up to 256, found {depth}")
    if heads[1] == 0 or heads[0] % heads[1]:
        expected = f"'k': expected a number of heads that divides {heads[0]}"
        raise fail(name, f"{expected}, found {heads[1]}")
    for label, number in (("scale", scale), ("soft_cap", soft_cap)):
        if number is not None:
            check_number(name, label, number, POSITIVE)
    if sinks is not None:
        check_array(name, "sinks", sinks, (heads[0],), (tl.f32,))


def score_factors(
    scale: float | None, soft_cap: float | None, depth: int
) -> tuple[float, float]:
    """The factor of scores that makes them powers of two, and that of the argument of
    the hyperbolic tangent if there is a soft cap."""
    scale = depth**-0.5 if scale is None else float(scale)
    if soft_cap is None:
        return scale * LOG2_E, scale
    soft_cap = float(soft_cap)
    return soft_cap * LOG2_E, scale / soft_cap


def launch_target(q: Any, launch: dict[str, Any]) -> str:
    """The chip of a launch with the queries q, or "cpu"."""
    return launch.get("target") or ("cpu" if is_on_host(q) else device_target())
