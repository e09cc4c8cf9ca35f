"""The key of an entry: a hash of all that the code of a kernel depends on."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from .._mlir_libs import _tilews
from .._version import __version__
from .entries import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence


@functools.cache
def compiler_identity() -> tuple[str, ...]:
    """The build IDs of the compiler's libraries, LLVM's and MLIR's among them."""
    return __version__, *sorted(_tilews.build_ids())


def assembler_identity(path: str | None) -> tuple[Any, ...]:
    """Which ``ptxas`` assembles: its path, size and time; empty without one."""
    if path is None:
        return ()
    found = os.path.realpath(path)
    status = os.stat(found)
    return found, status.st_size, status.st_mtime_ns


def make_key(code: bytes, options: Sequence[Any], assembler: str | None) -> str:
    """The key of a kernel.

    Args:
        code: its tile IR.
        options: what else is asked of the compiler, as values of JSON.
        assembler: the path of ``ptxas``, for NVIDIA's chips.

    Returns:
        64 hexadecimal digits.
    """
    parts = [FORMAT, compiler_identity(), assembler_identity(assembler), list(options)]
    return hashlib.sha256(json.dumps(parts).encode() + b"\0" + code).hexdigest()
