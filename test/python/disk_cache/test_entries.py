"""The form of entries: what is written is read, and nothing else is."""

import pytest

from tilews.disk_cache.entries import CacheEntry

ENTRY = CacheEntry(
    chip="sm_90a",
    manifest={"kernel": "scale", "block": [128, 1, 1]},
    messages=["k.py:3:1: remark: as expected"],
    forms={"binary": b"\n\0code\n", "ptx": b""},
)


def test_what_is_written_is_read():
    assert CacheEntry.from_bytes(ENTRY.to_bytes()) == ENTRY


def test_no_byte_may_differ():
    content = ENTRY.to_bytes()
    for place in range(len(content)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(content)
            damaged[place] ^= change
            with pytest.raises(ValueError):
                CacheEntry.from_bytes(bytes(damaged))


def test_no_byte_may_be_missing_or_added():
    content = ENTRY.to_bytes()
    for size in range(len(content)):
        with pytest.raises(ValueError):
            CacheEntry.from_bytes(content[:size])
    with pytest.raises(ValueError):
        CacheEntry.from_bytes(content + b" ")
