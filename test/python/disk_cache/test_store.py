"""The folder of entries: limits, damage, folders that cannot be used, processes."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tilews.disk_cache import store
from tilews.disk_cache.entries import CacheEntry, Shortcut
from tilews.disk_cache.store import DiskCache, configured
from tilews.errors import CompileError

ENTRY = CacheEntry(
    "gfx942", {"kernel": "k"}, [], {"tile": b"IR", "binary": bytes(1000)}
)
KEYS = [f"{number:02x}" + "0" * 62 for number in range(40)]


def test_an_entry_is_found_by_its_key(tmp_path):
    cache = DiskCache(tmp_path / "a" / "b")
    assert cache.get(KEYS[0]) is None
    cache.put(KEYS[0], ENTRY)
    assert cache.get(KEYS[0]) == ENTRY
    assert cache.get(KEYS[1]) is None
    assert [stored.key for stored in cache.entries()] == [KEYS[0]]


def test_the_least_recently_used_entries_go_first(tmp_path):
    size = len(ENTRY.to_bytes())
    cache = DiskCache(tmp_path, most_bytes=10 * size)
    for age, key in enumerate(KEYS[:10]):
        cache.put(key, ENTRY)
        os.utime(cache.path(key), (age, age))
    assert cache.get(KEYS[0])  # Used now.
    cache.put(KEYS[10], ENTRY)
    kept = {stored.key for stored in cache.entries()}
    assert kept == {KEYS[0], *KEYS[4:11]}


def test_the_newest_entry_stays_even_if_it_is_too_large(tmp_path):
    cache = DiskCache(tmp_path, most_bytes=10)
    cache.put(KEYS[0], ENTRY)
    cache.put(KEYS[1], ENTRY)
    assert [stored.key for stored in cache.entries()] == [KEYS[1]]


def test_a_shortcut_leads_to_an_entry_as_long_as_there_is_one(tmp_path):
    cache = DiskCache(tmp_path)
    assert cache.follow(KEYS[1]) is None
    cache.put_shortcut(KEYS[1], Shortcut(KEYS[0], []))
    assert cache.follow(KEYS[1]) is None
    cache.put(KEYS[0], ENTRY)
    assert cache.follow(KEYS[1]) == (KEYS[0], ENTRY)
    assert [stored.key for stored in cache.entries()] == [KEYS[0]]
    cache.drop(cache.entries()[0])
    assert cache.follow(KEYS[1]) is None


def test_shortcuts_go_with_their_entries(tmp_path):
    size = len(ENTRY.to_bytes())
    cache = DiskCache(tmp_path, most_bytes=3 * size)
    for age, key in enumerate(KEYS[:4]):
        cache.put(key, ENTRY)
        cache.put_shortcut(key, Shortcut(key, []))
        os.utime(cache.path(key), (age, age))
    cache.put(KEYS[4], ENTRY)
    kept = {stored.key for stored in cache.entries()}
    assert kept == {*KEYS[2:5]}
    left = {path.stem for path in tmp_path.rglob("*.shortcut")}
    assert left == kept - {KEYS[4]}
    assert cache.clear() == 3
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_damaged_entry_is_none_and_is_replaced(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put(KEYS[0], ENTRY)
    cache.path(KEYS[0]).write_bytes(b"tilews-cache 1 " + bytes(200))
    assert cache.get(KEYS[0]) is None
    assert [stored.key for stored, _ in cache.damaged()] == [KEYS[0]]
    cache.put(KEYS[0], ENTRY)
    assert cache.get(KEYS[0]) == ENTRY
    assert not cache.damaged()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 90])
def test_another_file_is_no_entry(tmp_path, content):
    cache = DiskCache(tmp_path)
    cache.path(KEYS[0]).parent.mkdir()
    cache.path(KEYS[0]).write_bytes(content)
    assert cache.get(KEYS[0]) is None


def test_a_cache_that_is_only_read_changes_nothing(tmp_path):
    DiskCache(tmp_path).put(KEYS[0], ENTRY)
    os.utime(DiskCache(tmp_path).path(KEYS[0]), (5, 5))
    cache = DiskCache(tmp_path, is_writable=False)
    assert cache.get(KEYS[0]) == ENTRY
    cache.put(KEYS[1], ENTRY)
    with cache.compiling(KEYS[1]):
        pass
    assert [stored.used for stored in cache.entries()] == [5]
    assert [path.name for path in tmp_path.iterdir()] == [KEYS[0][:2]]


@pytest.mark.parametrize("folder", ["file/below", "/proc/tilews"])
def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, folder):
    (tmp_path / "file").touch()
    cache = DiskCache(tmp_path / folder)
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept in"):
        cache.put(KEYS[0], ENTRY)
    with cache.compiling(KEYS[0]):
        assert cache.get(KEYS[0]) is None


def test_clear_removes_what_killed_processes_left(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put(KEYS[0], ENTRY)
    left = cache.path(KEYS[0]).parent / ".tilews-0123"
    left.write_bytes(b"half")
    assert cache.clear() == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


WRITER = f"""
import sys
sys.path[:] = {sys.path!r}
import pathlib
from tilews.disk_cache.entries import CacheEntry, Shortcut
from tilews.disk_cache.store import DiskCache
cache = DiskCache(pathlib.Path(sys.argv[1]))
code = bytes(range(256)) * 4096
print("ready", flush=True)
while True:
    for number in range(8):
        entry = CacheEntry("gfx942", {{}}, [], {{"tile": b"IR", "binary": code}})
        cache.put(f"{{number:064x}}", entry)
"""


def test_a_killed_process_leaves_no_broken_entry(tmp_path):
    cache = DiskCache(tmp_path)
    for delay in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        time.sleep(0.003 * delay)
        while delay == 11 and not cache.entries():
            time.sleep(0.01)  # The machine is busy.
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert not cache.damaged()
    assert cache.entries()


HOLDER = f"""
import sys, time
sys.path[:] = {sys.path!r}
import pathlib
from tilews.disk_cache.store import DiskCache
with DiskCache(pathlib.Path(sys.argv[1])).compiling(sys.argv[2]):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def _hold(folder, seconds):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), KEYS[0], str(seconds)],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    holder.stdout.close()
    return holder


def test_one_process_waits_for_another_that_compiles(tmp_path):
    holder = _hold(tmp_path, 0.5)
    with DiskCache(tmp_path).compiling(KEYS[0]):
        assert holder.wait(timeout=5) == 0


def test_nobody_waits_for_a_process_that_died_or_stopped(tmp_path, monkeypatch):
    holder = _hold(tmp_path, 600)
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    with DiskCache(tmp_path).compiling(KEYS[0]):
        assert holder.poll() is None
    monkeypatch.setattr(store, "_PATIENCE", 600)
    holder.kill()
    holder.wait()
    with DiskCache(tmp_path).compiling(KEYS[0]):
        pass


def test_the_environment_configures_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWS_CACHE", "on")
    monkeypatch.setenv("TILEWS_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWS_CACHE_SIZE", "3")
    cache = configured()
    assert (cache.folder, cache.most_bytes) == (tmp_path, 3 << 20)
    monkeypatch.delenv("TILEWS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert configured().folder == pathlib.Path("/there/tilews")
    monkeypatch.setenv("TILEWS_CACHE", "off")
    assert configured() is None


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("TILEWS_CACHE", "yes", "expected on, off or read, found 'yes'"),
        ("TILEWS_CACHE_SIZE", "0", "expected a number of MiB above 0, found '0'"),
        ("TILEWS_CACHE_SIZE", "1G", "expected a number of MiB above 0, found '1G'"),
    ],
)
def test_wrong_variables_are_errors(monkeypatch, name, value, message):
    monkeypatch.setenv("TILEWS_CACHE", "on")
    monkeypatch.setenv(name, value)
    with pytest.raises(CompileError, match=message):
        configured()
