"""File names, streams, programs and inputs of commands: no tracebacks."""

import ast
import copy
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import compiler, runtime
from tilews.errors import CompileError

KERNEL = """
gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  llvm.func @nothing() attributes {rocdl.kernel, tile.arguments = []} {
    llvm.return
  }
}
"""
COPY = """
gpu.module @kernels {
  gpu.func @copy(%a: memref<?xi32> {tile.name = "a"}) kernel {
    gpu.return
  }
}
"""
ROOT = pathlib.Path(__file__).parents[3]


@tilews.kernel
def double(A: tl.Tensor["M", tl.f32]):
    x = tl.grid(1)
    A[x] = tl.load(A[x], (64,)) * 2.0


def run(module, *arguments, cwd, shell="", **options):
    """A command; `shell` redirects its streams."""
    command = [sys.executable, "-m", module, *map(os.fspath, arguments)]
    script = ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(script, cwd=cwd, capture_output=True, **options)


def assert_refused(result, message):
    assert result.returncode in (1, 2)
    assert b"Traceback" not in result.stderr
    assert message in result.stderr


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    return path


# --- file names and streams ----------------------------------------------------


@pytest.mark.parametrize("name", ["/dev/zero", "large.mlir"])
@pytest.mark.parametrize("tool", ["opt", "translate --to=ptx", "reduce"])
def test_tools_read_no_input_without_end(tool, name, tmp_path):
    with (tmp_path / "large.mlir").open("wb") as file:
        file.truncate(600 << 20)
    tool, *options = tool.split()
    path = pathlib.Path(os.environ["TILEWS_BUILD_DIR"], "bin", f"tilews-{tool}")
    found = subprocess.run(
        [path, name, *options], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert found.returncode == 1
    assert f"'{name}': it has more than 512 MiB, or no end".encode() in found.stderr


@pytest.mark.parametrize("tool", ["opt", "translate --to=ptx", "reduce"])
def test_tools_read_pipes_and_devices(tool, tmp_path):
    """They are checked before the parser sees them, which cannot be read twice."""
    os.mkfifo(tmp_path / "pipe")
    tool, *options = tool.split()
    path = pathlib.Path(os.environ["TILEWS_BUILD_DIR"], "bin", f"tilews-{tool}")
    text = '"a"() {m = ' + "[" * 10000 + "]" * 10000 + "} : () -> ()"
    for name in ("pipe", "/dev/stdin"):
        with subprocess.Popen(
            [path, name, *options],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            if name == "pipe":
                (tmp_path / name).write_text(text)
            _, messages = process.communicate(text if name != "pipe" else None, 60)
        assert process.returncode == 1
        assert "is nested too deeply" in messages


@pytest.mark.parametrize(
    "words",
    [
        "tilews compile /dev/zero",
        "tilews compile large.mlir",
        "tilews.sim /dev/zero",
        "tilews.sim copy.mlir --replay /dev/zero",
        "tilews.mutate endless.mlir",
        "tilews.spin /dev/zero",
    ],
)
def test_commands_read_no_input_without_end(words, tmp_path):
    with (tmp_path / "large.mlir").open("wb") as file:
        file.truncate(600 << 20)
    (tmp_path / "endless.mlir").symlink_to("/dev/zero")
    (tmp_path / "copy.mlir").write_text(COPY)
    result = run(*words.split(), cwd=tmp_path, timeout=60)
    assert_refused(result, b"it has more than 512 MiB, or no end")


def test_launches_read_no_input_without_end(source):
    compiler.compile_file(source).save(code := source.with_suffix(".hsaco"))
    for files in (("/dev/zero", source.with_suffix(".json")), (code, "/dev/zero")):
        with pytest.raises(OSError, match="it has more than 512 MiB, or no end"):
            runtime.load(*files)


def test_a_pipe_is_opened_once(source, tmp_path):
    """A second reader would wait for a writer that has gone."""
    os.mkfifo(pipe := tmp_path / "pipe.mlir")
    code = """
import sys, time, pathlib
from tilews import compiler
open_file = pathlib.Path.open
def open_slowly(self, *options):
    file = open_file(self, *options)
    time.sleep(0.5)
    return file
pathlib.Path.open = open_slowly
compiler.compile_file(sys.argv[1])
"""
    with subprocess.Popen([sys.executable, "-c", code, pipe]) as process:
        pipe.write_text(source.read_text())
        assert process.wait(60) == 0


def test_input_that_is_no_text(tmp_path):
    (tmp_path / "odd.mlir").write_bytes(b"\xd0\xff")
    for module in ("tilews.mutate", "tilews.spin"):
        result = run(module, "odd.mlir", cwd=tmp_path)
        assert_refused(result, b"odd.mlir")


def test_names_that_are_not_utf8(source, tmp_path):
    odd = tmp_path / os.fsdecode(b"kernel\xff")
    done = run("tilews", "compile", source, "-o", f"{odd}.hsaco", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert runtime.load(f"{odd}.hsaco").manifest["kernel"] == "nothing"
    renamed = source.rename(f"{odd}.mlir")
    for module, *words in (("tilews", "compile"), ("tilews.sim",)):
        result = run(module, *words, renamed, cwd=tmp_path)
        assert_refused(result, b"expected a file name in UTF-8")


@pytest.mark.parametrize(
    "shell, message", [(">&-", b"stdout is closed"), (">/dev/full", b"No space left")]
)
def test_stdout_that_takes_nothing(shell, message, source, tmp_path):
    result = run("tilews", "compile", source, "--to", "asm", cwd=tmp_path, shell=shell)
    assert_refused(result, message)


@pytest.mark.parametrize(
    "words",
    [
        "tilews targets",
        "tilews --help",
        "tilews compile --help",
        "tilews.sim --help",
        "tilews.mutate --help",
        "tilews.enumerate --help",
        "tilews.fuzz --help",
        "tilews.spin --help",
    ],
)
def test_a_text_for_a_stream_that_takes_nothing(words, tmp_path):
    for shell, message in (
        (">/dev/full", b"No space left"),
        (">&-", b"stdout is closed"),
    ):
        assert_refused(run(*words.split(), cwd=tmp_path, shell=shell), message)


@pytest.mark.parametrize("output", [".", "", "missing/nothing.hsaco", "/dev/null/x"])
def test_outputs_that_are_no_files(output, source, tmp_path):
    result = run("tilews", "compile", source, "-o", output, cwd=tmp_path)
    assert_refused(result, b"there is no folder" if "/" in output else b"is a folder")
    if output in (".", ""):
        with pytest.raises(CompileError, match="is a folder"):
            compiler.compile_file(source).save(output)


@pytest.mark.parametrize("kernel", ["\udcff", "a\nb"])
def test_kernels_without_a_name(kernel, source, tmp_path):
    words = ("compile", source, "--kernel", kernel, "--to", "manifest")
    assert_refused(run("tilews", *words, cwd=tmp_path), b"the name of a kernel")
    with pytest.raises(CompileError, match="the name of a kernel"):
        compiler.compile_file(source, kernel=5)


def test_constants_that_are_options(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "import tilews\nimport tilews.language as tl\n"
        "@tilews.kernel\ndef nothing(A: tl.Tensor['M', tl.f32]):\n    tl.grid(1)\n"
    )
    for constant, message in {
        "target=sm_80": b"use --target",
        "line_info=0": b"use --line-info",
        "self=1": b"known names: M",
    }.items():
        words = ("compile", "kernel.py:nothing", "--target", "sm_90a", "-D", constant)
        assert_refused(run("tilews", *words, cwd=tmp_path), message)


# --- inputs of tilews-sim ------------------------------------------------------


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b"{}", b"[]", b"5"])
def test_replays_of_other_files(text, source, tmp_path):
    (tmp_path / "replay.json").write_bytes(text)
    result = run("tilews.sim", source, "--replay", "replay.json", cwd=tmp_path)
    assert_refused(result, b"is no counterexample")


@pytest.mark.parametrize("extent", [10**14, 10**18, 10**30])
def test_extents_beyond_the_memory(extent, tmp_path):
    (tmp_path / "copy.mlir").write_text(COPY)
    result = run("tilews.sim", "copy.mlir", "--dim", f"a.0={extent}", cwd=tmp_path)
    assert_refused(result, b"does not fit the memory")


def test_seeds_beyond_the_memory(tmp_path):
    (tmp_path / "copy.mlir").write_text(COPY)
    result = run("tilews.sim", "copy.mlir", "--seeds", str(10**20), cwd=tmp_path)
    assert_refused(result, b"not in the range")


# --- ptxas ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables, folder",
    [
        ({"PATH": ""}, "."),
        ({"PATH": "."}, "."),
        ({"PATH": ":/usr/bin:"}, "."),
        ({"PATH": "tools"}, "tools"),
        ({"CUDA_HOME": ""}, "bin"),
        ({"CUDA_PATH": "cuda"}, "cuda/bin"),
        ({}, "nvidia/cu13/bin"),
    ],
)
def test_programs_of_the_current_directory_are_not_found(variables, folder, tmp_path):
    ptxas = tmp_path / folder / "ptxas"
    ptxas.parent.mkdir(parents=True, exist_ok=True)
    ptxas.write_text("#!/bin/sh\ntouch executed\n")
    ptxas.chmod(0o755)
    (tmp_path / "find.py").write_text(
        "from tilews.compiler import find_ptxas\nprint(find_ptxas())\n"
    )
    environment = {**os.environ, "PATH": "/usr/bin", **variables}
    found = run("find", cwd=tmp_path, env=environment, text=True)
    assert found.returncode == 0, found.stderr
    path = pathlib.Path(found.stdout.strip())
    assert found.stdout == "None\n" or tmp_path not in (tmp_path / path).parents


# --- copies of kernels ---------------------------------------------------------


def test_kernels_are_copied_and_pickled_by_their_files(source):
    compiled = compiler.compile_file(source)
    assert copy.deepcopy(compiled) is compiled
    for kernel in (compiled, compiled.loaded):
        again = pickle.loads(pickle.dumps(kernel))
        assert isinstance(again, runtime.LoadedKernel)
        assert again.manifest == compiled.manifest
        assert again._image == compiled.hsaco
    assert copy.deepcopy(again) is again


def test_damaged_pickles_are_refused(source):
    text = pickle.dumps(compiler.compile_file(source))
    for damaged in (text.replace(b"nothing", b"notHing"), text.replace(b"ELF", b"elf")):
        assert damaged != text
        with pytest.raises(runtime.LaunchError, match="with the hash"):
            pickle.loads(damaged)


def test_kernels_in_python_are_pickled_as_their_names():
    assert pickle.loads(pickle.dumps(double)) is double
    assert copy.deepcopy(double) is double


def test_interpreted_kernels_say_why_not():
    interpreted = double.compile("cpu", M=64)
    assert copy.deepcopy(interpreted) is interpreted
    with pytest.raises(TypeError, match="has no code"):
        pickle.dumps(interpreted)
    array = np.ones(64, np.float32)
    copy.copy(interpreted)(array)
    assert array[0] == 2


# --- documents -----------------------------------------------------------------


def functions_that_raise_type_errors():
    for path in sorted((ROOT / "python/tilews").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                if "raise TypeError" in ast.unparse(node):
                    yield pytest.param(node, id=f"{path.stem}.{node.name}")


@pytest.mark.parametrize("function", list(functions_that_raise_type_errors()))
def test_type_errors_are_documented(function):
    assert "TypeError:" in (ast.get_docstring(function) or "")


def test_third_party_notices():
    text = (ROOT / "THIRD_PARTY_NOTICES").read_text()
    for name in ("LLVM", "lld", "nanobind", "robin-map", "zlib", "Zstandard"):
        assert name in text
    assert '"THIRD_PARTY_NOTICES"' in (ROOT / "pyproject.toml").read_text()
