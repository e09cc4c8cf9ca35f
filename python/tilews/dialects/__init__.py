"""MLIR's dialects, each of which is imported with the first use of one of its names."""

from __future__ import annotations

import importlib.util

from .._support.lazy import LazyModule


def __getattr__(name: str) -> LazyModule:
    full = f"{__name__}.{name}"
    if name.startswith("_") or importlib.util.find_spec(full) is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = found = LazyModule(full)
    return found
