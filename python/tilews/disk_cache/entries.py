"""What the cache keeps of a compiled kernel, and its form as bytes.

A file begins with a line that names the format, and the SHA-256 of the rest. Then comes
a line of JSON with the manifest, the messages and the sizes of the forms of code, then
the code itself::

    tilews-cache 2 5e88...\\n
    {"chip": "sm_90a", "forms": {"binary": 21376}, "manifest": {...}, ...}\\n
    <21376 bytes>

A file of which any byte differs is no entry.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

#: Changes whenever older entries cannot be read any more.
FORMAT = 2
_FIRST = f"tilews-cache {FORMAT} ".encode()
_DIGITS = hashlib.sha256().digest_size * 2
_START = len(_FIRST) + _DIGITS + 1


@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """A compiled kernel.

    Attributes:
        chip: its target, such as 'sm_90a'.
        manifest: how it is launched: see ``docs/launch.md``.
        messages: warnings and remarks of the compiler.
        forms: code by form: 'binary', or 'ptx' where no assembler was found; and
            'tile', the bytecode of the tile IR, from which other forms are compiled.
    """

    chip: str
    manifest: dict[str, Any]
    messages: list[str]
    forms: dict[str, bytes]

    def to_bytes(self) -> bytes:
        """The content of a file."""
        header = dataclasses.asdict(self)
        header["forms"] = {form: len(code) for form, code in self.forms.items()}
        text = json.dumps(header).encode()
        return _seal(b"\n".join([text, b"".join(self.forms.values())]))

    @classmethod
    def from_bytes(cls, content: bytes) -> CacheEntry:
        """Reads the content of a file.

        Raises:
            ValueError: it is no entry, or is damaged.
        """
        text, _, code = _open(content).partition(b"\n")
        header = json.loads(text)
        forms, begin = {}, 0
        for form, size in header["forms"].items():
            forms[form] = code[begin : begin + size]
            begin += size
        return cls(**{**header, "forms": forms})


@dataclasses.dataclass(frozen=True)
class Shortcut:
    """What leads from a kernel's source to its entry.

    Attributes:
        key: of the entry.
        libraries: the files outside of the package that took part in compiling it, as
            paths, sizes and times.
    """

    key: str
    libraries: list[list[Any]]

    @property
    def paths(self) -> list[str]:
        """The paths of the libraries."""
        return [path for path, *_ in self.libraries]

    def to_bytes(self) -> bytes:
        """The content of a file."""
        return _seal(json.dumps(dataclasses.asdict(self), sort_keys=True).encode())

    @classmethod
    def from_bytes(cls, content: bytes) -> Shortcut:
        """Reads the content of a file.

        Raises:
            ValueError: it is no shortcut, or is damaged.
        """
        return cls(**json.loads(_open(content)))


def _seal(content: bytes) -> bytes:
    """A file with this content: the format and the hash come first."""
    return _FIRST + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _open(file: bytes) -> bytes:
    """The content of a file.

    Raises:
        ValueError: it is none of this format, or a byte of it has changed.
    """
    digest, content = file[len(_FIRST) : _START - 1], file[_START:]
    expected = hashlib.sha256(content).hexdigest().encode()
    if file[:_START] != _FIRST + expected + b"\n":
        raise ValueError(
            "expected an entry of this version of tilews, found "
            + ("one with another hash" if digest else "another file")
        )
    return content
