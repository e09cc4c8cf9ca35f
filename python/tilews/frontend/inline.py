"""Functions that kernels call, marked as such."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from ..errors import LanguageError


class InlineFunction:
    """A function decorated with :func:`tilews.func`."""

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"expected a Python function, found {function!r:.80}")
        functools.update_wrapper(self, function)
        self.python = function

    # Type checkers see the calls in kernels, which return values.
    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LanguageError(
            f"{self.python.__name__} works only inside a kernel",
            "call it in a function decorated with @tilews.kernel",
        )

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else functools.partial(self, instance)
