"""Files: inputs with a limit; a reader finds the old content or the new one."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import stat
from collections.abc import Mapping

Content = str | bytes

#: The bytes of an input, as in ``lib/Support/Files.cpp``: far beyond any kernel.
_MOST_BYTES = 1 << 29


def read(path: str | os.PathLike[str]) -> bytes:
    """The content of a file.

    Raises:
        OSError: it cannot be read, or has too many bytes or no end, as ``/dev/zero``.
    """
    with open(path, "rb") as file:
        # A limit that is given in one call is allocated at once.
        parts, left = [], _MOST_BYTES + 1
        while left and (part := file.read(min(left, 1 << 24))):
            parts.append(part)
            left -= len(part)
    if not left:
        reason = f"it has more than {_MOST_BYTES >> 20} MiB, or no end"
        raise OSError(errno.EFBIG, reason, os.fspath(path))
    return b"".join(parts)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file.

    Raises:
        OSError: as for :func:`read`.
        UnicodeDecodeError: it is not in UTF-8.
    """
    return read(path).decode("utf-8")


def has_name(path: str | os.PathLike[str]) -> bool:
    """Whether a path can name a file: it has a last part, and no character NUL."""
    return bool(pathlib.Path(path).name) and "\0" not in os.fspath(path)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path names what is no file of a folder, such as a device or a pipe."""
    given = pathlib.Path(path)
    return given.exists() and not given.is_file()


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Writes one file: see :func:`write_all`."""
    write_all({path: content})


def write_all(contents: Mapping[str | os.PathLike[str], Content]) -> None:
    """Writes files, none of them before there is room for all.

    The content goes to a new file in the same folder, which then gets the name. So a
    full disk, a signal or an error leaves the old files. A device or a pipe is written
    directly, and a symbolic link stays one.

    Raises:
        OSError: a file cannot be written.
    """
    with contextlib.ExitStack() as cleanup:
        renames = []
        for name, content in contents.items():
            data = content.encode() if isinstance(content, str) else content
            if is_special(name):
                # The target of a link such as /dev/stdout may have no path.
                pathlib.Path(name).write_bytes(data)
                continue
            path = pathlib.Path(os.path.realpath(name))
            try:
                new = _write_beside(path, data)
            except OSError as error:
                # The user knows the file by this name.
                raise OSError(error.errno, error.strerror, str(name)) from None
            cleanup.callback(new.unlink, missing_ok=True)
            renames.append((new, path))
        for new, path in renames:
            new.replace(path)


def _write_beside(path: pathlib.Path, data: bytes) -> pathlib.Path:
    """Writes a new file beside `path`, with the permissions that `path` has or gets."""
    new = path.with_name(f".tilews-{os.urandom(8).hex()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        new.unlink()
        raise
    return new
