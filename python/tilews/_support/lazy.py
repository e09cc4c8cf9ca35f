"""Modules that are imported when they are used, not when they are named.

MLIR and its dialects take most of the time in which tilews is imported, and a kernel
that the cache on disk has is launched without them.
"""

from __future__ import annotations

import importlib
import types
from typing import Any


class LazyModule(types.ModuleType):
    """Stands for a module until the first of its names is looked up.

    Example:
        >>> math = LazyModule("math")
        >>> math.gcd(12, 18)  # imports it
        6
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks any module for some of these.
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))
