"""Code and manifest of one kernel, in two files that know each other.

The code ends with a comment that has the hash of the manifest, and the manifest has the
hash of the whole file with the code. Loaders of ELF files ignore what comes at the end.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .launch_errors import LaunchError

_MARK = b" tilews manifest sha256: "
_COMMENT = re.compile(rb"\n(?://|;)" + _MARK + rb"([0-9a-f]{64})\n\Z")


def pair(
    code: bytes, manifest: dict[str, Any], comment: str = "//"
) -> tuple[bytes, dict[str, Any]]:
    """The contents of both files.

    Args:
        code: PTX, assembly or a binary.
        manifest: its launch manifest.
        comment: what begins a comment in the code.
    """
    digest = _digest(manifest).encode()
    whole = code + b"\n" + comment.encode() + _MARK + digest + b"\n"
    return whole, {**manifest, "code_sha256": hashlib.sha256(whole).hexdigest()}


def unpair(content: bytes, manifest: dict[str, Any]) -> bytes:
    """The code in a file, without the comment.

    Raises:
        LaunchError: code and manifest are not of one kernel.
    """
    expected = manifest.get("code_sha256")
    found = hashlib.sha256(content).hexdigest()
    if expected is not None and expected != found:
        raise LaunchError(
            f"code_sha256: the manifest is of another file, with the hash {expected}; "
            f"found code with the hash {found}"
        )
    if comment := _COMMENT.search(content[-128:]):
        expected, found = comment[1].decode(), _digest(manifest)
        if expected != found:
            raise LaunchError(
                f"the code is of another manifest, with the hash {expected}; found a "
                f"manifest with the hash {found}"
            )
        return content[: -len(comment[0])]
    return content


def _digest(manifest: dict[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "code_sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
