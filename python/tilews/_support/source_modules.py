"""Modules with kernels, which commands are given."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import pathlib
import sys
import types

from ..errors import CompileError


@functools.cache
def load_module(source: str) -> types.ModuleType:
    """Imports a module by its dotted name, or executes a file that ends in .py.

    Raises:
        CompileError: it cannot be read, or fails.
    """
    is_file = source.endswith(".py")
    # Line tables name the file, so that the code depends on its path.
    path = pathlib.Path(os.path.realpath(source))
    if is_file and not path.is_file():
        raise CompileError(f"cannot read {source}: there is no such file")
    sys.path.insert(0, str(path.parent) if is_file else "")
    try:
        if not is_file:
            return importlib.import_module(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # It may even exit.
        reason = f"{type(error).__name__}: {error}"
        raise CompileError(f"cannot load {source}: {reason}") from error
    return module
