"""Where kernels are written: files, notebooks, `python -c`, exec."""

import contextlib
import importlib.util
import linecache
import os
import pty
import runpy
import select
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilews

TEXT = textwrap.dedent("""
    import numpy as np
    import tilews
    import tilews.language as tl

    @tilews.kernel
    def increment(X: tl.Tensor["8", tl.f32]):
        X[0] = tl.load(X) + 1.0

    def run():
        x = np.zeros(8, np.float32)
        increment(x)
        return float(x[0])
""")


def python(*arguments, text=None):
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [["-c"], ["-W", "ignore", "-Xutf8", "-Bc"]])
@pytest.mark.parametrize("arguments", [[], ["one", "-c", "two"]])
def test_an_argument_of_python(options, arguments):
    found = python(*options, f"{TEXT}print(run())", *arguments)
    assert found.stdout == "1.0\n", found.stderr


def test_what_exec_runs_is_no_argument_of_python():
    found = python("-c", f"exec({TEXT!r}); run()")
    assert "<string>:6:1: error: cannot read the source of increment" in found.stderr
    hint = "hint: the text that exec runs is not kept: give it, @tilews.kernel(source="
    assert hint in found.stderr


def test_standard_input():
    found = python("-", text=f"{TEXT}run()\n")
    assert "<stdin>:6:1: error: cannot read the source of increment" in found.stderr
    assert "hint: what is piped into Python is not kept" in found.stderr


def read(terminal):
    ready, _, _ = select.select([terminal], [], [], 60)
    assert ready, "the prompt says nothing"
    return os.read(terminal, 4096)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps what is typed")
def test_the_prompt(tmp_path):
    pytest.importorskip("readline", reason="Python has no readline")
    master, slave = pty.openpty()
    typed = TEXT.replace("\n\n", "\n\n\n").replace("tl\n\n\n", "tl\n").lstrip()
    typed = f"{typed}\nprint('result', run() + 41)\nexit()\n"
    process = subprocess.Popen(
        [sys.executable, "-q"],
        **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
        env={**os.environ, "HOME": str(tmp_path), "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    for line in typed.splitlines(keepends=True):
        while not shown.rstrip(b" ").endswith((b">>>", b"...")):
            shown += read(master)
        os.write(master, line.encode())
        shown = b"" if b"result" not in shown else shown
    with contextlib.suppress(OSError):  # The other end is closed.
        while piece := read(master):
            shown += piece
    os.close(master)
    assert process.wait(60) == 0
    assert b"result 42.0" in shown


def test_cells_of_notebooks_and_generated_text():
    # IPython keeps the text of a cell this way.
    name = "<ipython-input-3-0123456789ab>"
    lines = TEXT.splitlines(keepends=True)
    linecache.cache[name] = (len(TEXT), None, lines, name)
    scope = {}
    exec(compile(TEXT, name, "exec"), scope)
    assert scope["run"]() == 1.0
    linecache.cache[name] = (1, None, ["\n"], name)
    exec(compile(TEXT, name, "exec"), scope)
    with pytest.raises(tilews.KernelError, match="cannot read the source of increment"):
        scope["run"]()


GIVEN = textwrap.dedent("""
    import numpy as np
    import tilews
    import tilews.language as tl

    def half(x):
        return x * 0.5

    @tilews.func
    def shifted(x, by=1.0):
        return half(x) + by

    def make(bias):
        @tilews.kernel(threads=64, source=text)
        def kernel(X: tl.Tensor["8", tl.f32]):
            X[0] = tl.reduce(tl.load(X), lambda a, b: a + b) + shifted(tl.load(X), bias)
        return kernel
""")


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_a_text_that_the_decorator_gives(future):
    text = future + GIVEN
    scope = {"text": text}
    # A compiler may inherit the features of the module that calls it.
    code = compile(text, "<string>", "exec", dont_inherit=bool(future))
    exec(code, scope)
    x = np.arange(8, dtype=np.float32)
    scope["make"](3.0)(x)
    np.testing.assert_array_equal(x, 28 + np.arange(8) / 2 + 3)
    assert ".entry kernel" in scope["make"](1.0).compile("sm_80").ptx


def test_a_text_of_the_function_alone():
    alone = textwrap.dedent("""
        @tilews.kernel(source=alone)
        def kernel(X: tl.Tensor["8", tl.f32]):
            X[0] = tl.load(X) * undefined
    """)
    text = f"import tilews\nimport tilews.language as tl\n{alone}"
    scope = {"alone": alone}
    exec(text, scope)
    with pytest.raises(
        tilews.KernelError, match="name 'undefined' is not defined"
    ) as e:
        scope["kernel"].mlir()
    assert str(e.value).startswith("<string>:6:25: error:")
    assert "X[0] = tl.load(X) * undefined" in str(e.value)
    scope["undefined"] = 2.0
    x = np.ones(8, np.float32)
    scope["kernel"](x)
    assert (x == 2).all()


def test_a_text_without_the_function():
    scope = {"text": TEXT.replace("1.0", "2.0")}
    exec(TEXT.replace("tilews.kernel", "tilews.kernel(source=text)"), scope)
    with pytest.raises(tilews.KernelError, match="does not hold increment") as caught:
        scope["run"]()
    assert caught.value.hint.startswith("give all of the text that exec runs")
    with pytest.raises(TypeError, match="increment: source= is the text of the kernel"):
        exec(TEXT.replace("tilews.kernel", "tilews.kernel(source=3)"), {})


def test_a_file_that_changes_after_its_import(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text(TEXT.replace("def increment", "def decrement"))
    linecache.checkcache()
    with pytest.raises(tilews.KernelError) as caught:
        module.run()
    assert (
        caught.value.hint == "the file is missing, or has changed since it was imported"
    )
    path.write_text(TEXT)
    linecache.checkcache()
    x = np.zeros(8, np.float32)
    module.increment(x)
    assert x[0] == 1.0


def test_a_file_that_is_edited_and_run_again_is_read_again(tmp_path):
    path = tmp_path / "edited.py"
    text = (
        "import tilews\nimport tilews.language as tl\n\n"
        "@tilews.kernel(threads=32)\n"
        'def fill(Y: tl.Tensor["8", tl.f32]):\n'
        "    Y[0:8] = NUMBER\n"
    )
    for number in ("1.0", "25.0"):
        path.write_text(text.replace("NUMBER", number))
        y = np.zeros(8, np.float32)
        runpy.run_path(str(path))["fill"](y)
        assert (y == float(number)).all()
