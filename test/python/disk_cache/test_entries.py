"""The form of entries: what is written is read, and nothing else is."""

import pytest

from tilews.disk_cache.entries import CacheEntry, Shortcut

ENTRY = CacheEntry(
    chip="sm_90a",
    manifest={"kernel": "scale", "block": [128, 1, 1]},
    messages=["k.py:3:1: remark: as expected"],
    forms={"tile": b"\n\0IR", "binary": b"\n\0code\n", "ptx": b""},
)


SHORTCUT = Shortcut("0123" * 16, [["/usr/lib/libLLVM.so", 12345, 678]])
FILES = pytest.mark.parametrize("file", [ENTRY, SHORTCUT])


@FILES
def test_what_is_written_is_read(file):
    assert file.from_bytes(file.to_bytes()) == file


@FILES
def test_no_byte_may_differ(file):
    content = file.to_bytes()
    for place in range(len(content)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(content)
            damaged[place] ^= change
            with pytest.raises(ValueError):
                file.from_bytes(bytes(damaged))


@FILES
def test_no_byte_may_be_missing_or_added(file):
    content = file.to_bytes()
    for size in range(len(content)):
        with pytest.raises(ValueError):
            file.from_bytes(content[:size])
    with pytest.raises(ValueError):
        file.from_bytes(content + b" ")
