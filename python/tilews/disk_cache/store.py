"""A folder of entries, shared by processes and hosts.

Each entry is a file, ``ab/abcdef....tilews`` for the key ``abcdef...``, which appears
complete under its name or not at all. A reader checks its hash, so that a damaged file
costs a compilation, and no more. The time of a file is that of its last use; the files
that were used least recently go first when there are too many bytes. Shortcuts are
files of the same kind, ``ab/abcdef....shortcut``, which go with their entries.

A process that compiles a kernel holds a lock of its own for the key, so that others
wait for the entry instead of compiling the same. The operating system drops the lock of
a process that dies. On a file system without locks each process compiles.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
import pathlib
import time
import warnings
from collections.abc import Iterator

from .._support import files
from ..errors import CompileError
from .entries import CacheEntry, Shortcut
from .keys import identities

SUFFIX = ".tilews"
_LOCK = ".lock"
_SHORTCUT = ".shortcut"
#: Seconds after which a temporary file is one of a process that was killed.
_ABANDONED = 3600
#: Seconds that a process waits for one that compiles the same kernel.
_PATIENCE = 60
#: The part of the largest size that is left after entries were dropped.
_KEPT = 0.8


@dataclasses.dataclass(frozen=True)
class Stored:
    """A file of the cache.

    Attributes:
        key: of its entry.
        path: of the file.
        size: in bytes.
        used: the time of the last use, in seconds since 1970.
    """

    key: str
    path: pathlib.Path
    size: int
    used: float

    def read(self) -> CacheEntry:
        """The entry.

        Raises:
            OSError: it cannot be read, or is no regular file.
            ValueError: it is damaged.
        """
        return CacheEntry.from_bytes(_read(self.path))


class DiskCache:
    """Compiled kernels in a folder.

    Finding and adding raise no error because of the folder: it may be full, damaged,
    forbidden or gone. Kernels are then compiled, and a warning says why none is kept.

    Args:
        folder: where the entries are; made when the first one is written.
        most_bytes: the largest size of all entries.
        is_writable: whether entries may be added, dropped and marked as used.
    """

    def __init__(
        self, folder: pathlib.Path, most_bytes: int = 1 << 30, is_writable: bool = True
    ) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._is_writable = is_writable

    def path(self, key: str) -> pathlib.Path:
        """The file of a key, which need not exist."""
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def get(self, key: str) -> CacheEntry | None:
        """The entry of a key; None if there is none, or none that can be used."""
        path = self.path(key)
        try:
            entry = CacheEntry.from_bytes(_read(path))
        except (OSError, ValueError):
            return None
        if self._is_writable:
            with contextlib.suppress(OSError):
                os.utime(path)
        return entry

    def follow(self, shortcut: str) -> tuple[str, CacheEntry] | None:
        """The key and the entry that a shortcut leads to; None without them."""
        try:
            path = self.path(shortcut).with_suffix(_SHORTCUT)
            found = Shortcut.from_bytes(_read(path))
            if found.libraries != [*map(list, identities(found.paths))]:
                return None
        except (OSError, ValueError):
            return None
        entry = self.get(found.key)
        return (found.key, entry) if entry else None

    def put(self, key: str, entry: CacheEntry) -> None:
        """Adds or replaces the entry of a key; drops others if there is no room."""
        path = self.path(key)
        if self._write(path, entry.to_bytes()):
            # Somebody may remove folders meanwhile.
            with contextlib.suppress(OSError):
                self._make_room(path)

    def put_shortcut(self, shortcut: str, target: Shortcut) -> None:
        """Adds or replaces a shortcut."""
        self._write(self.path(shortcut).with_suffix(_SHORTCUT), target.to_bytes())

    def _write(self, path: pathlib.Path, content: bytes) -> bool:
        """Writes a file; returns whether it is there."""
        if not self._is_writable:
            return False
        try:
            # Code is nobody else's business, and must be nobody else's work.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            if path.exists() and not path.is_file():
                path.unlink()  # A pipe would wait for a reader.
            files.write(path, content)
        except OSError as error:
            message = f"compiled kernels are not kept in '{self.folder}': {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
            return False
        return True

    @contextlib.contextmanager
    def compiling(self, key: str) -> Iterator[None]:
        """Holds the lock of a key; waits for another process that holds it."""
        with contextlib.ExitStack() as held:
            if self._is_writable:
                with contextlib.suppress(OSError):
                    path = self.path(key).with_suffix(_LOCK)
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    held.enter_context(_locked(path))
            yield

    def entries(self) -> list[Stored]:
        """All files of entries, the least recently used one first."""
        found = []
        for path in self.folder.glob(f"??/*{SUFFIX}"):
            with contextlib.suppress(OSError):  # Another process may have dropped it.
                status = path.stat()
                found.append(Stored(path.stem, path, status.st_size, status.st_mtime))
        return sorted(found, key=lambda each: each.used)

    def damaged(self) -> list[tuple[Stored, str]]:
        """The entries that cannot be used, with what was found."""
        found = []
        for stored in self.entries():
            try:
                stored.read()
            except (OSError, ValueError) as error:
                found.append((stored, str(error)))
        return found

    def drop(self, stored: Stored) -> None:
        """Removes an entry.

        Raises:
            OSError: it cannot be removed.
        """
        stored.path.unlink(missing_ok=True)
        stored.path.with_suffix(_LOCK).unlink(missing_ok=True)

    def clear(self) -> int:
        """Removes all entries, and what killed processes have left.

        Returns:
            How many entries there were.

        Raises:
            OSError: one cannot be removed.
        """
        entries = self.entries()
        for stored in entries:
            self.drop(stored)
        self._drop_abandoned(0)
        self._drop_shortcuts()
        return len(entries)

    def _make_room(self, newest: pathlib.Path) -> None:
        """Drops entries until most bytes of the limit are left for new ones."""
        entries = self.entries()
        total = sum(stored.size for stored in entries)
        if total <= self.most_bytes:
            return
        self._drop_abandoned(_ABANDONED)
        for stored in entries:
            if total <= _KEPT * self.most_bytes:
                break
            if stored.path == newest:
                continue
            with contextlib.suppress(OSError):
                self.drop(stored)
                total -= stored.size
        self._drop_shortcuts()

    def _drop_shortcuts(self) -> None:
        """Removes the shortcuts that lead to no entry."""
        for path in self.folder.glob(f"??/*{_SHORTCUT}"):
            with contextlib.suppress(OSError):
                try:
                    target = Shortcut.from_bytes(_read(path))
                except ValueError:
                    path.unlink()
                    continue
                if not self.path(target.key).exists():
                    path.unlink()

    def _drop_abandoned(self, seconds: float) -> None:
        """Removes temporary files of processes that were killed that long ago."""
        for path in self.folder.glob("??/.tilews-*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime >= seconds:
                    path.unlink()


def _read(path: pathlib.Path) -> bytes:
    """The content of a file.

    Raises:
        OSError: it cannot be read, or is a pipe or a device, which may have no end.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return files.read(path)


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Locks a file, or gives up after a time: the other process may be stopped.

    Raises:
        OSError: the file system has no locks.
    """
    # Opening a pipe would wait for a reader.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    try:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
        try:
            yield
        finally:
            # Another thread may have forked: that process has the lock, too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def folder() -> pathlib.Path:
    """The folder that the environment names."""
    if given := os.environ.get("TILEWS_CACHE_DIR"):
        return pathlib.Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base, "tilews")


def configured() -> DiskCache | None:
    """The cache that the environment asks for; None if it is off.

    Raises:
        CompileError: a variable has a value that it cannot have.
    """
    mode = os.environ.get("TILEWS_CACHE", "on")
    if mode not in ("on", "off", "read"):
        raise CompileError(f"TILEWS_CACHE: expected on, off or read, found {mode!r}")
    if mode == "off":
        return None
    size = os.environ.get("TILEWS_CACHE_SIZE", "1024")
    # More digits than any disk needs, and Python takes no number of any length.
    is_number = size.isascii() and size.isdigit() and len(size) <= 15
    if not (is_number and int(size) > 0):
        raise CompileError(
            f"TILEWS_CACHE_SIZE: expected a number of MiB above 0, found {size!r:.80}"
        )
    return DiskCache(folder(), int(size) << 20, is_writable=mode == "on")
