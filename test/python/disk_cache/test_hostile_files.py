"""Files of the cache that somebody made up: they are refused, and lead nowhere."""

import json
import random

import pytest

from tilews.disk_cache.entries import CacheEntry, Shortcut, _seal
from tilews.disk_cache.store import DiskCache

KEY = "0123abcd" * 8
ENTRY = {
    "chip": "gfx942",
    "manifest": {"kernel": "k"},
    "messages": ["m"],
    "forms": {"tile": 2, "binary": 3},
}
CODE = b"\n12345"
SHORTCUT = {"key": KEY, "libraries": []}
VALUES = (
    *(None, True, -1, 0, 2, 1 << 70, 1.5, float("nan"), "", "\0", "../../x", KEY),
    *([], [1], ["a", 1, 2], [["\0", 1, 2]], {}, {"tile": 5}, {"tile": -1, "x": 6}),
)


def entry_file(header):
    return _seal(json.dumps(header).encode() + CODE)


def shortcut_file(header):
    return _seal(json.dumps(header).encode())


def write(folder, key, suffix, content):
    path = folder / key[:2] / f"{key}{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def changed(generator, header):
    """The header with another value, key or less, somewhere."""
    header = json.loads(json.dumps(header))
    part = header
    while True:
        key = generator.choice([*part, "new"])
        if isinstance(part.get(key), dict) and generator.random() < 0.7:
            part = part[key]
        elif key in part and generator.random() < 0.3:
            del part[key]
            return header
        else:
            part[key] = generator.choice(VALUES)
            return header


def test_made_up_headers_are_valid_or_refused():
    generator = random.Random(0)
    refused = 0
    for _ in range(3000):
        header = changed(generator, ENTRY)
        try:
            entry = CacheEntry.from_bytes(entry_file(header))
        except ValueError:
            refused += 1
            continue
        assert type(entry.chip) is str and type(entry.manifest) is dict
        assert all(type(message) is str for message in entry.messages)
        assert b"".join(entry.forms.values()) == CODE[1:] and "tile" in entry.forms
    assert 1000 < refused < 3000
    for _ in range(1000):
        try:
            found = Shortcut.from_bytes(shortcut_file(changed(generator, SHORTCUT)))
        except ValueError:
            continue
        assert found.key == KEY and type(found.libraries) is list


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[]", b"1", b""])
def test_other_json_is_refused(text):
    for kind in (CacheEntry, Shortcut):
        with pytest.raises(ValueError):
            kind.from_bytes(_seal(text))


@pytest.mark.parametrize(
    "key", ["../../x", "/etc/passwd", KEY.upper(), KEY + "\n", "", 5, None, [KEY]]
)
def test_a_shortcut_leads_to_a_key_only(tmp_path, key):
    cache = DiskCache(tmp_path)
    write(tmp_path, KEY, ".shortcut", shortcut_file({**SHORTCUT, "key": key}))
    assert cache.follow(KEY) is None


def test_a_shortcut_leads_to_no_file_outside(tmp_path):
    (tmp_path / "cache").mkdir()
    cache = DiskCache(tmp_path / "cache")
    # The key of a file outside has two parts: the folder "..", and a name.
    (tmp_path / "x.tilews").write_bytes(entry_file(ENTRY))
    write(cache.folder, KEY, ".shortcut", shortcut_file({**SHORTCUT, "key": "../x"}))
    (cache.folder / "..").resolve(strict=True)
    assert cache.follow(KEY) is None
    write(cache.folder, KEY, ".shortcut", shortcut_file(SHORTCUT))
    write(cache.folder, KEY, ".tilews", entry_file(ENTRY))
    key, entry = cache.follow(KEY)
    assert key == KEY and entry.forms == {"tile": b"12", "binary": b"345"}


def test_an_entry_without_tile_ir_is_a_miss(tmp_path):
    cache = DiskCache(tmp_path)
    write(tmp_path, KEY, ".shortcut", shortcut_file(SHORTCUT))
    write(tmp_path, KEY, ".tilews", entry_file({**ENTRY, "forms": {"binary": 5}}))
    assert cache.follow(KEY) is None
    assert [reason for _, reason in cache.damaged()] == [
        "expected the form 'tile', found ['binary']"
    ]
