"""Full disks, signals, odd files and other processes: kernels are compiled anyway."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tilews.disk_cache.entries import CacheEntry, Shortcut
from tilews.disk_cache.store import DiskCache, configured
from tilews.errors import CompileError

KEY = "0123abcd" * 8
ENTRY = CacheEntry("gfx942", {"kernel": "k"}, [], {"tile": b"IR", "binary": bytes(9)})

COMPILE = """
import resource, sys, warnings
import tilews, tilews.language as tl

@tilews.kernel(threads=64)
def fill(A: tl.Tensor["64", tl.f32]):
    A[0] = tl.full((64,), 1.0, tl.f32)

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    print(len(fill.compile(target="gfx942").binary))
print(*(each.message for each in found))
"""


@pytest.fixture
def compile_with_limit(tmp_path):
    """Compiles a kernel in a process whose files have at most so many bytes.

    Returns the size of the binary, and the warnings.
    """
    script = tmp_path / "compile.py"
    script.write_text(COMPILE)
    cache = {"TILEWS_CACHE": "on", "TILEWS_CACHE_DIR": str(tmp_path / "cache")}

    def run(limit):
        done = subprocess.run(
            [sys.executable, script, str(limit)],
            env=os.environ | cache,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        size, _, warned = done.stdout.partition("\n")
        return int(size), warned.strip()

    return run


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_full_disk(compile_with_limit, tmp_path):
    folder = tmp_path / "cache"
    cache = DiskCache(folder)
    binary, warned = compile_with_limit(1 << 30)
    (entry,) = cache.entries()
    assert not warned and entry.size > binary
    before = contents(folder)
    # What is there is found, and stays.
    assert compile_with_limit(entry.size - 1) == (binary, "")
    assert contents(folder) == before
    # The linker's files have room, and the larger entry does not.
    cache.clear()
    again, warned = compile_with_limit(entry.size - 1)
    assert again == binary
    assert warned.startswith("compiled kernels are not kept in ")
    assert "File too large" in warned
    assert not cache.entries()
    assert compile_with_limit(1 << 30) == (binary, "")
    assert not cache.damaged()


WRITER = f"""
import sys
sys.path[:] = {sys.path!r}
import pathlib
from tilews.disk_cache.entries import CacheEntry
from tilews.disk_cache.store import DiskCache
cache = DiskCache(pathlib.Path(sys.argv[1]))
entry = CacheEntry("gfx942", {{}}, [], {{"tile": b"IR", "binary": bytes(4 << 20)}})
print("ready", flush=True)
while True:
    with cache.compiling("{KEY}"):
        cache.put("{KEY}", entry)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGXCPU])
def test_a_signal_leaves_an_entry_or_none(tmp_path, number):
    for delay in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.007 * delay)
            writer.send_signal(number)
            assert writer.wait(timeout=60) in (-number, 1)
        finally:
            writer.kill()
            writer.stdout.close()
        assert not DiskCache(tmp_path).damaged()
    if number == signal.SIGINT:  # An exception, after which the file is removed.
        assert {path.suffix for path in contents(tmp_path)} <= {".tilews", ".lock"}


@pytest.mark.parametrize("suffix", [".tilews", ".shortcut"])
def test_a_pipe_is_no_entry_and_is_replaced(tmp_path, suffix):
    cache = DiskCache(tmp_path)
    path = cache.path(KEY).with_suffix(suffix)
    path.parent.mkdir()
    os.mkfifo(path)
    assert cache.get(KEY) is None and cache.follow(KEY) is None
    assert suffix == ".shortcut" or "no regular file" in cache.damaged()[0][1]
    cache.put(KEY, ENTRY)
    cache.put_shortcut(KEY, Shortcut(KEY, []))
    assert cache.follow(KEY) == (KEY, ENTRY)


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path)]
)
def test_a_lock_that_is_no_file(tmp_path, make):
    cache = DiskCache(tmp_path)
    path = cache.path(KEY).with_suffix(".lock")
    path.parent.mkdir()
    make(path)
    with cache.compiling(KEY):
        cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY


def test_a_folder_at_the_name_of_an_entry_is_a_warning(tmp_path):
    cache = DiskCache(tmp_path)
    cache.path(KEY).mkdir(parents=True)
    with pytest.warns(RuntimeWarning, match="Is a directory"):
        cache.put(KEY, ENTRY)
    assert cache.get(KEY) is None


def test_a_process_that_was_forked_meanwhile_has_no_lock(tmp_path):
    cache = DiskCache(tmp_path)
    with cache.compiling(KEY):
        child = os.fork()
        if not child:
            signal.pause()
    try:
        begin = time.monotonic()
        with cache.compiling(KEY):
            assert time.monotonic() - begin < 30
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_error_gives_the_lock_back(tmp_path):
    cache = DiskCache(tmp_path)
    with pytest.raises(ZeroDivisionError), cache.compiling(KEY):
        raise ZeroDivisionError
    descriptors = len(os.listdir("/proc/self/fd"))
    begin = time.monotonic()
    with cache.compiling(KEY):
        assert time.monotonic() - begin < 30
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_folders_that_vanish_are_no_error(tmp_path, monkeypatch):
    def vanish(*_):
        raise FileNotFoundError("somebody removes the cache")

    cache = DiskCache(tmp_path, most_bytes=1)
    monkeypatch.setattr(pathlib.Path, "glob", vanish)
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY


@pytest.mark.parametrize("size", ["9" * 5000, "1" * 16, "\N{SUPERSCRIPT TWO}"])
def test_sizes_beyond_any_disk(monkeypatch, size):
    monkeypatch.setenv("TILEWS_CACHE", "on")
    monkeypatch.setenv("TILEWS_CACHE_SIZE", size)
    with pytest.raises(CompileError, match="expected a number of MiB") as caught:
        configured()
    assert len(str(caught.value)) < 200
