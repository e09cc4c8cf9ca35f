"""Operations: functions on arrays that launch a public kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from ..dispatch import Kernel

P = ParamSpec("P")
R = TypeVar("R")


class Operation(Generic[P, R]):
    """A function on arrays, with the kernel that it launches.

    Attributes:
        kernel: the kernel, to be compiled ahead of time or inspected.
    """

    __name__: str

    def __init__(self, function: Callable[P, R], kernel: Kernel) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.kernel = kernel

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> str:
        return self._function.__qualname__  # As functions: pickled as its name.

    def __repr__(self) -> str:
        return f"<tilews operation {self.__name__}>"


def operation(kernel: Kernel) -> Callable[[Callable[P, R]], Operation[P, R]]:
    """Makes an operation of a function that launches `kernel`."""
    return lambda function: Operation(function, kernel)
