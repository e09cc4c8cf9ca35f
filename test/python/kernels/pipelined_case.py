"""What a kernel with a pipelined loop is run with."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass
class Case:
    """A kernel with its arguments, outputs last, and its constants.

    ``piped`` is the number of channels that the schedule has to find; ``roles``
    says whether a role of its own fills them where there is TMA; ``tolerance`` is
    what a GPU's functions may be off by.
    """

    name: str
    kernel: Any
    arguments: Callable[[np.random.Generator], list]
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)
    piped: int = 1
    roles: bool = True
    tolerance: float = 0.0


def integers(random: np.random.Generator, shape, dtype=np.float16) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(dtype)
