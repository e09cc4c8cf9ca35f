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
import re
from collections.abc import Iterable, Mapping
from typing import Any

#: Changes whenever older entries cannot be read any more.
FORMAT = 2
_FIRST = f"tilews-cache {FORMAT} ".encode()
_DIGITS = hashlib.sha256().digest_size * 2
_START = len(_FIRST) + _DIGITS + 1
_KEY = re.compile(f"[0-9a-f]{{{_DIGITS}}}")
_ENTRY_KINDS = {"chip": str, "manifest": dict, "messages": list, "forms": dict}


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
        header = _read_json(text, _ENTRY_KINDS)
        _check_all(header["messages"], str)
        sizes = header.pop("forms")
        _check_all(sizes.values(), int)
        if "tile" not in sizes:
            raise ValueError(f"expected the form 'tile', found {[*sizes]}")
        if min(sizes.values()) < 0 or sum(sizes.values()) != len(code):
            raise ValueError(f"expected forms of {len(code)} bytes, found {sizes}")
        forms, begin = {}, 0
        for form, size in sizes.items():
            forms[form] = code[begin : begin + size]
            begin += size
        return cls(**header, forms=forms)


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
        header = _read_json(_open(content), {"key": str, "libraries": list})
        _check_all(header["libraries"], list)
        for library in header["libraries"]:
            if [*map(type, library)] != [str, int, int]:
                raise ValueError(f"expected path, size and time, found {library!r:.80}")
        if not _KEY.fullmatch(header["key"]):
            raise ValueError(f"expected a key, found {header['key']!r:.80}")
        return cls(**header)


def _read_json(text: bytes, kinds: Mapping[str, type]) -> dict[str, Any]:
    """An object of JSON with values of these kinds.

    Raises:
        ValueError: it is another one.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("expected an entry, found JSON that is too deep") from None
    if not isinstance(found, dict):
        raise ValueError(f"expected an object of JSON, found {found!r:.80}")
    if {key: type(value) for key, value in found.items()} != kinds:
        raise ValueError(f"expected {', '.join(kinds)}, found {', '.join(found)}")
    return found


def _check_all(items: Iterable[Any], kind: type) -> None:
    """Checks values of JSON.

    Raises:
        ValueError: one is of another kind.
    """
    for item in items:
        if type(item) is not kind:
            raise ValueError(f"expected {kind.__name__}, found {item!r:.80}")


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
