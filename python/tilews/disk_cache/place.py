"""The place of one kernel in the cache."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ir
from .entries import CacheEntry
from .keys import make_key
from .store import DiskCache, configured


@dataclasses.dataclass(frozen=True)
class CachePlace:
    """Where a kernel is kept, whether it is there or not.

    Attributes:
        cache: the cache.
        code: the kernel's tile IR as bytecode.
        key: of the kernel in the cache.
    """

    cache: DiskCache
    code: bytes
    key: str

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
        entry = CacheEntry(chip, dict(manifest), list(messages), dict(forms))
        self.cache.put(self.key, entry)

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Keeps other processes from compiling the kernel at the same time."""
        return self.cache.compiling(self.key)


def find_place(
    module: ir.Module, options: Sequence[Any], assembler: str | None
) -> CachePlace | None:
    """The place of a kernel in the cache of the environment; None without a cache.

    Invalid IR has none: MLIR's writer of bytecode crashes on some. The compiler
    refuses it.

    Args:
        module: its tile IR. It holds all that the kernel's Python code depends on: its
            source, captured values, constants, types and extents.
        options, assembler: as for :func:`.make_key`.

    Raises:
        CompileError: an environment variable has a wrong value.
    """
    cache = configured()
    if cache is None:
        return None
    try:
        module.operation.verify()
    except ir.MLIRError:
        return None
    code = io.BytesIO()
    module.operation.write_bytecode(code)
    key = make_key(code.getvalue(), options, assembler)
    return CachePlace(cache, code.getvalue(), key)
