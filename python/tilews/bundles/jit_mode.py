"""Whether calls may compile: the environment variable ``TILEWS_JIT``.

A service compiles its kernels before it serves, and has them on disk. A call that
compiles nevertheless would keep its users waiting: it is a warning, or an error.
"""

from __future__ import annotations

import os
import warnings

from ..errors import CompileError

_MODES = ("on", "warn", "error")


def check_call(kernel: str, target: str) -> None:
    """Says that a call is about to compile a kernel, if the environment asks for it.

    Args:
        kernel: its name.
        target: the chip it is compiled for.

    Raises:
        CompileError: calls must not compile, or the variable has a wrong value.
    """
    mode = os.environ.get("TILEWS_JIT", "on")
    if mode not in _MODES:
        raise CompileError(f"TILEWS_JIT: expected on, warn or error, found {mode!r}")
    if mode == "on":
        return
    message = (
        f"a call of {kernel} has to compile it for {target}: no kernel on disk is for "
        "these types, constants and extents"
    )
    if mode == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return
    raise CompileError(
        f"{message}; TILEWS_JIT=error forbids this. Compile it before, by "
        f"{kernel}.compile or {kernel}.compile_for with the same cache"
    )
