"""Commands with files, folders and names as nobody expects them: one clear message."""

import datetime
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tilews.cli import main
from tilews.disk_cache.entries import CacheEntry
from tilews.disk_cache.store import DiskCache

KERNEL = """
import re
import tilews
import tilews.language as tl

@tilews.kernel(specialize=[{"A": tilews.ArraySpec((64,), tl.f32)}])
def double(A: tl.Tensor["M", tl.f32]):
    x = tl.grid(1)
    A[x] = tl.load(A[x], (64,)) * 2.0
"""
ENTRY = CacheEntry("gfx942", {"kernel": "a\x1b[31m\nb"}, [], {"tile": b"IR"})
KEY = "0123abcd" * 8


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


def assert_refused(result, message):
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit)
    assert message in result.stderr


@pytest.mark.parametrize(
    "name",
    ["a.py", "x.py:y", "a b", "a\nb", "'\"", "-x", "--help", "%s{}", "\u65e5", "$(x)"],
)
def test_names_of_python_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}.py").write_text(KERNEL)
    output = tmp_path / f"{name}.hsaco"
    words = ("compile", "--target", "gfx942", "-o", output)
    result = run(*words, "--", f"{name}.py:double")
    assert result.exit_code == 0, result.output
    assert output.exists() and output.with_suffix(".json").exists()
    for other in ("re", "tl", "double.x", "", " "):
        result = run(*words, "--", f"{name}.py:{other}")
        assert_refused(result, "double")


def test_a_file_of_ir_whose_name_looks_like_a_kernel(source, tmp_path):
    odd = source.rename(tmp_path / "x.py:kernel.mlir")
    assert run("compile", odd, "-o", tmp_path / "x.hsaco").exit_code == 0


@pytest.mark.parametrize(
    "text, message",
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class E(BaseException): pass\nraise E('x')", "E: x"),
        ("def f(): f()\nf()", "RecursionError"),
        ("\0", "null bytes"),
        ("def __getattr__(name): raise RuntimeError(name)", "no kernel 'double'"),
        (
            "class A:\n  def __getattr__(self, n): 1 / 0\ndouble = A()",
            "no kernel 'double'",
        ),
        ("class A:\n  compile = 5\ndouble = A()", "no kernel 'double'"),
    ],
    ids=["exit", "exception", "recursion", "zero", "lazy", "attributes", "number"],
)
def test_modules_that_fail(text, message, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(text)
    assert_refused(run("compile", f"{path}:double", "--target", "gfx942"), message)
    bundle = run("bundle", path, "--target", "gfx942", "-o", tmp_path / "bundle")
    assert_refused(bundle, "Error: ")
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("make", ["loop", "dangling", "folder", "pipe"])
def test_sources_that_are_no_files(make, tmp_path):
    path = tmp_path / "kernels.py"
    if make in ("loop", "dangling"):
        path.symlink_to(path.name if make == "loop" else "nowhere")
    elif make == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    words = (f"{path}:double", "--target", "gfx942")
    assert_refused(run("compile", *words), f"cannot read {path}")
    words = (path, "--target", "gfx942", "-o", tmp_path / "bundle")
    assert_refused(run("bundle", *words), f"cannot read {path}")


def test_an_output_that_is_a_pipe_of_the_shell(source):
    command = [sys.executable, "-m", "tilews", "compile", source, "--to", "asm", "-o"]
    done = subprocess.run([*command, "/dev/stdout"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b".amdhsa_kernel nothing" in done.stdout


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with an entry of a kernel with an odd name."""
    monkeypatch.setenv("TILEWS_CACHE_DIR", str(tmp_path / "c\x1b[31m"))
    monkeypatch.setenv("TILEWS_CACHE", "on")
    cache = DiskCache(tmp_path / "c\x1b[31m")
    cache.put(KEY, ENTRY)
    return cache


def test_the_cache_lists_odd_names_in_one_line(cache):
    result = run("cache", "ls")
    assert result.stdout.splitlines()[0].endswith("gfx942  a\\x1b[31m\\nb")
    assert result.stdout.count("\n") == 1
    cache.path(KEY).write_text("x")
    for command in ("ls", "stat", "verify"):
        result = run("cache", command)
        assert isinstance(result.exception, SystemExit) or result.exit_code == 0
        assert "\x1b" not in result.stdout


def test_a_pipe_in_the_cache_is_damaged(cache):
    path = cache.path("ab" * 32)
    path.parent.mkdir()
    os.mkfifo(path)
    command = [sys.executable, "-m", "tilews", "cache"]
    for name in ("ls", "verify", "clear"):
        done = subprocess.run([*command, name], capture_output=True, timeout=60)
        assert done.returncode == (name == "verify"), done.stderr
        assert name != "ls" or b"damaged" in done.stdout
    assert not path.exists()


def test_entries_of_any_time(cache):
    for year in (1600, 1970, 9998, 12000):
        seconds = int((year - 1970) * 365.25 * 86400)
        os.utime(cache.path(KEY), (seconds, seconds))
        used = cache.entries()[0].used
        result = run("cache", "ls")
        assert result.exit_code == 0, result.output
        if used < datetime.datetime(9990, 1, 1).timestamp():
            assert f"{datetime.datetime.fromtimestamp(used):%Y-%m-%d}" in result.stdout


@pytest.mark.parametrize("mode", ["", "ON", "0", "\n"])
def test_modes_that_the_cache_does_not_have(mode, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWS_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWS_CACHE", mode)
    for command in ("ls", "stat", "verify", "clear"):
        result = run("cache", command)
        assert result.exit_code != 0
        assert isinstance(result.exception, SystemExit)
        assert "TILEWS_CACHE: expected on, off or read" in str(result.output)
