"""A kernel of the zoo, with arguments."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tilews.compiler import warp_size


@dataclasses.dataclass
class ZooCase:
    """A kernel with random arguments; ``tolerance`` is relative to the norm."""

    name: str
    kernel: Any
    arguments: Callable[[np.random.Generator], list]
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)
    tolerance: float = 1e-6

    def constants_for(self, target: str) -> dict[str, Any]:
        """The constants, with as many warps on a chip with warps of 64 threads."""
        threads = self.constants.get("threads", 0)
        if threads % warp_size(target):
            return {**self.constants, "threads": 2 * threads}
        return self.constants

    def check(self, found: np.ndarray, expected: np.ndarray) -> None:
        """Raises AssertionError if an argument after the kernel is not as expected."""
        wide, wanted = found.astype(np.float64), expected.astype(np.float64)
        error = np.linalg.norm(wide - wanted)
        assert error <= self.tolerance * np.linalg.norm(wanted), (self.name, error)
