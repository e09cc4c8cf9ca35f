"""Operations: functions on arrays that launch a public kernel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from .._launch import CallPlan, HotCall
from .._support.call_recorder import MAX_ARGUMENTS, current_recorder, recording
from ..call_plans import STREAM, TENSOR_OR_CONSTANT, CallForm
from ..dispatch import Kernel
from ..runtime import LaunchError

#: What an operation passes on to the call of its kernel.
_LAUNCH_OPTIONS = ("stream", "target", "run")

P = ParamSpec("P")
R = TypeVar("R")


class Operation(HotCall, Generic[P, R]):
    """A function on arrays, with the kernel that it launches.

    Attributes:
        kernel: the kernel, to be compiled ahead of time or inspected.
    """

    __name__: str

    def __init__(
        self, function: Callable[P, R], kernel: Kernel, changing: frozenset[str]
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._changing = changing
        self._known = {*inspect.signature(function).parameters, *_LAUNCH_OPTIONS}
        self.kernel = kernel

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def _call_anew(
        self, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[R, CallPlan | None]:
        for name in kwargs:
            if name not in self._known:
                options = ", ".join(map(repr, _LAUNCH_OPTIONS))
                raise LaunchError(
                    f"{self.__name__}: unknown argument '{name}'; of a launch it takes "
                    f"{options}"
                )
        if self._changing or current_recorder():
            return self._function(*args, **kwargs), None
        with recording() as recorder:
            result = self._function(*args, **kwargs)
        return result, recorder.make_plan([*args, *kwargs.values()], result)

    def _describe_form(self, count: int, names: tuple[str, ...]) -> CallForm | None:
        """What the arguments of a call are: see :meth:`CallPlans.describe_form`."""
        total = count + len(names)
        if self._changing or "run" in names or total > MAX_ARGUMENTS:
            return None
        roles = [(TENSOR_OR_CONSTANT, position) for position in range(total)]
        for position, name in enumerate(names, count):
            if name == "stream":
                roles[position] = (STREAM, 0)
        return roles, []

    def __reduce__(self) -> str:
        return self._function.__qualname__  # As functions: pickled as its name.

    def __repr__(self) -> str:
        return f"<tilews operation {self.__name__}>"


def operation(
    kernel: Kernel, changing: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], Operation[P, R]]:
    """Makes an operation of a function that launches `kernel`.

    Args:
        kernel: the kernel.
        changing: numbers that are others with each call, for which a plan of one call
            would be of no use to the next one.
    """
    return lambda function: Operation(function, kernel, frozenset(changing))
