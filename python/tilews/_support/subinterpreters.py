"""Python interpreters other than the first one of a process.

Native modules of tilews, MLIR's among them, keep Python objects for the whole process.
Another interpreter would use objects of the first one, which ends the process.
"""

from __future__ import annotations

import importlib
from typing import Any


def refuse_subinterpreters() -> None:
    """Checks that this is the main interpreter.

    Raises:
        ImportError: it is another one.
    """
    interpreters = _find_module()
    if interpreters is None:  # A Python that has one interpreter in a process.
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "tilews was imported in a subinterpreter, but its native modules work in "
            "the main interpreter of a process only: import tilews there, or use "
            "another process (multiprocessing)"
        )


def _find_module() -> Any:
    # The name since Python 3.13, and the one before.
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
