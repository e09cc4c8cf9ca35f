"""The keys of the cache: hashes of all that the code of a kernel depends on.

An entry is found by :func:`make_key`, from the kernel's tile IR. To have the IR, the
kernel has to be built, which needs MLIR. So there is a second way, a *shortcut*: the
hash of what the IR is built from, :func:`make_shortcut`, leads to the key. A shortcut
may miss where the key hits, for example after an edit of another kernel in the file.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _tilews
from .._support import tool_path
from .._version import __version__
from .entries import FORMAT

#: A file's path, size, and time in nanoseconds.
FileIdentity = tuple[str, int, int]


@functools.cache
def compiler_identity() -> tuple[str, ...]:
    """The build IDs of the compiler's libraries, LLVM's and MLIR's among them."""
    return __version__, *sorted(_tilews.build_ids())


def file_identity(path: str) -> FileIdentity:
    """Which file this is.

    Raises:
        OSError: there is none.
    """
    found = os.path.realpath(path)
    status = os.stat(found)
    return found, status.st_size, status.st_mtime_ns


def assembler_identity(path: str | None) -> tuple[Any, ...]:
    """Which ``ptxas`` assembles; empty without one."""
    return () if path is None else file_identity(path)


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
    return _hash(parts, code)


def make_shortcut(captures: str) -> str:
    """The shortcut to a kernel's key; its form is that of a key.

    Args:
        captures: the digest of what its IR and its code depend on: see
            :mod:`.captures`.
    """
    parts = [FORMAT, platform.python_version(), _installed_files(), _assemblers()]
    return _hash(parts, captures.encode())


def _hash(parts: list[Any], code: bytes) -> str:
    return hashlib.sha256(json.dumps(parts).encode() + b"\0" + code).hexdigest()


@functools.cache
def _installed_files() -> tuple[FileIdentity, ...]:
    """The files of this package, which build kernels and compile them."""
    found: list[FileIdentity] = []
    package = os.path.dirname(os.path.dirname(__file__))
    for folder, folders, names in os.walk(package, followlinks=True):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in names:
            path = os.path.join(folder, name)
            # A link may lead nowhere, such as the lock file of an editor.
            with contextlib.suppress(OSError):
                status = os.stat(path)
                found.append((path, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


def _assemblers() -> list[FileIdentity]:
    """All files that may be the ``ptxas`` that compilation uses."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        folders.append(os.path.join(os.environ.get(name, ""), "bin"))
    folders += tool_path.directories()
    return identities(os.path.join(folder, "ptxas") for folder in folders)


def identities(paths: Iterable[str]) -> list[FileIdentity]:
    """Which files there are among these paths."""
    found = []
    for path in paths:
        try:
            found.append(file_identity(path))
        except OSError:
            continue
    return found


@functools.cache
def outer_libraries() -> tuple[FileIdentity, ...]:
    """Libraries of LLVM and MLIR in this process that are no files of this package.

    A build for development links those of the system, which may be updated.
    """
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps}
    return tuple(
        identities(
            path
            for path in sorted(paths)
            if os.path.basename(path).startswith(("libLLVM", "libMLIR"))
            and not path.startswith(package)
        )
    )
