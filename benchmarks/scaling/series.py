"""What is measured of one pass on one axis."""

from __future__ import annotations

import dataclasses
import math

#: Passes of fewer instructions have no exponent: what they do for each module, however
#: small, hides how they grow. So many instructions take about 0.02 ms.
FLOOR = 100_000
#: The flag of the sum of all passes.
TOTAL = "total"


@dataclasses.dataclass(frozen=True)
class Series:
    """How one pass grows on one axis.

    Attributes:
        flag: of the pass; ``total`` for the whole pipeline.
        axis: the name of the axis.
        chip: the target.
        size: the largest of the sizes, n.
        seconds: CPU time for n/4, n/2 and n.
        instructions: executed for n/2 and n.
    """

    flag: str
    axis: str
    chip: str
    size: int
    seconds: tuple[float, float, float]
    instructions: tuple[int, int]

    @property
    def exponent(self) -> float | None:
        """1 for linear growth, 2 for quadratic; None if there is too little to tell."""
        half, full = self.instructions
        if full < FLOOR or half < FLOOR // 8:
            return None
        return math.log2(full / half)
