"""A kernel with a pipelined loop, its arguments and its constants."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass
class PipelinedCase:
    """A kernel with its arguments, outputs last, and its constants.

    ``piped`` is the number of channels that the schedule must have. ``roles`` says
    whether a separate role fills them on chips with TMA. ``tolerance`` bounds the
    error of a GPU's math functions.
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
