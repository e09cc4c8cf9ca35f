"""The place of one kernel in the cache."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import ir
from .captures import digest
from .entries import CacheEntry, Shortcut
from .keys import make_key, make_shortcut, outer_libraries
from .store import DiskCache, configured


@dataclasses.dataclass(frozen=True)
class CachePlace:
    """Where a kernel is kept, whether it is there or not.

    Attributes:
        cache: the cache.
        code: the kernel's tile IR as bytecode.
        key: of the kernel in the cache.
        shortcut: to the key; None if there is none.
    """

    cache: DiskCache
    code: bytes
    key: str
    shortcut: str | None = None

    def parse(self) -> ir.Module:
        """The kernel's tile IR: a new module."""
        return ir.Module.parse(self.code, ir.Context())

    def get(self) -> CacheEntry | None:
        """The kernel, if it is there."""
        return self.cache.get(self.key)

    def put(
        self,
        chip: str,
        manifest: Mapping[str, Any],
        messages: Sequence[str],
        forms: Mapping[str, bytes],
    ) -> None:
        """Keeps the kernel: see :class:`.CacheEntry`."""
        forms = {"tile": self.code, **forms}
        entry = CacheEntry(chip, dict(manifest), list(messages), forms)
        self.cache.put(self.key, entry)
        self.put_shortcut()

    def put_shortcut(self) -> None:
        """Keeps the shortcut to the kernel."""
        if self.shortcut is None:
            return
        with contextlib.suppress(OSError):  # There is no /proc.
            libraries = [*map(list, outer_libraries())]
            self.cache.put_shortcut(self.shortcut, Shortcut(self.key, libraries))

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Keeps other processes from compiling the kernel at the same time."""
        return self.cache.compiling(self.key)


def find_place(
    module: ir.Module,
    options: Sequence[Any],
    assembler: str | None,
    shortcut: str | None = None,
) -> CachePlace | None:
    """The place of a kernel in the cache of the environment; None without a cache.

    Invalid IR has none: MLIR's writer of bytecode crashes on some. The compiler
    refuses it.

    Args:
        module: its tile IR. It holds all that the kernel's Python code depends on: its
            source, captured values, constants, types and extents.
        options, assembler: as for :func:`.make_key`.
        shortcut: to its key, if it has one.

    Raises:
        CompileError: an environment variable has a wrong value.
    """
    cache = configured()
    if cache is None:
        return None
    # Another thread may change the module between the check and the writing.
    copy = module.operation.clone(ip=False).operation
    try:
        copy.verify()
    except ir.MLIRError:
        return None
    code = io.BytesIO()
    copy.write_bytecode(code)
    key = make_key(code.getvalue(), options, assembler)
    return CachePlace(cache, code.getvalue(), key, shortcut)


def find_shortcut(captured: Iterable[Any], text: str | None) -> str | None:
    """The shortcut to a kernel; None if it has none, or if there is no cache.

    Args:
        captured: its function, and what else its IR and its code depend on.
        text: the text that holds the function, if Python does not keep it.

    Raises:
        CompileError: an environment variable has a wrong value.
    """
    found = configured() and digest(captured, text)
    return make_shortcut(found) if found else None


def follow_shortcut(shortcut: str) -> tuple[CachePlace, CacheEntry] | None:
    """The kernel that a shortcut leads to in the cache of the environment.

    Raises:
        CompileError: an environment variable has a wrong value.
    """
    cache = configured()
    found = cache and cache.follow(shortcut)
    if not cache or not found:
        return None
    key, entry = found
    return CachePlace(cache, entry.forms["tile"], key, shortcut), entry
