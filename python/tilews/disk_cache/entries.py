"""What the cache keeps of a compiled kernel, and its form as bytes.

A file begins with a line that names the format, and the SHA-256 of the rest. Then comes
a line of JSON with the manifest, the messages and the sizes of the forms of code, then
the code itself::

    tilews-cache 1 5e88...\\n
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
FORMAT = 1
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
        forms: code by form: 'binary', or 'ptx' where no assembler was found.
    """

    chip: str
    manifest: dict[str, Any]
    messages: list[str]
    forms: dict[str, bytes]

    def to_bytes(self) -> bytes:
        """The content of a file."""
        header = dataclasses.asdict(self)
        header["forms"] = {form: len(code) for form, code in self.forms.items()}
        text = json.dumps(header, sort_keys=True).encode()
        rest = b"\n".join([text, b"".join(self.forms.values())])
        return _FIRST + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest

    @classmethod
    def from_bytes(cls, content: bytes) -> CacheEntry:
        """Reads the content of a file.

        Raises:
            ValueError: it is no entry, or is damaged.
        """
        digest, rest = content[len(_FIRST) : _START - 1], content[_START:]
        expected = hashlib.sha256(rest).hexdigest().encode()
        if content[:_START] != _FIRST + expected + b"\n":
            raise ValueError(
                "expected an entry of this version of tilews, found "
                + ("one with another hash" if digest else "another file")
            )
        text, _, code = rest.partition(b"\n")
        header = json.loads(text)
        forms, begin = {}, 0
        for form, size in header["forms"].items():
            forms[form] = code[begin : begin + size]
            begin += size
        return cls(**{**header, "forms": forms})
