"""What kernels print in the interpreter, and breakpoints in them."""

import inspect
import re
import sys

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check
from tilews.runtime import LaunchError


@tilews.kernel
def printing(X: tl.Tensor["2, 3, 4", tl.f32], N: tl.constexpr = 2):
    block = tl.grid(N)
    x = tl.load(X)
    tl.print("the block", block)
    tl.print("x", x)
    tl.print(x[0], 7 * block)
    print("done")


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 4
LINE = printing.python.__code__.co_firstlineno + 6
ONE_BLOCK = f"""\
block (0, 0, 0): the block 0
block (0, 0, 0): x, shape (2, 3, 4)
  [0, :, :]
     0     1    2     3
  0  0  0.25  0.5  0.75
  1  1  1.25  1.5  1.75
  2  2  2.25  2.5  2.75
  [1, :, :]
     0     1    2     3
  0  3  3.25  3.5  3.75
  1  4  4.25  4.5  4.75
  2  5  5.25  5.5  5.75
block (0, 0, 0): test_prints.py:{LINE}, shape (3, 4)
     0     1    2     3
  0  0  0.25  0.5  0.75
  1  1  1.25  1.5  1.75
  2  2  2.25  2.5  2.75
block (0, 0, 0): test_prints.py:{LINE} 0
block (0, 0, 0): done
"""


def test_tables(capsys):
    printing(X, N=1)
    assert capsys.readouterr().out == ONE_BLOCK


@tilews.kernel
def labelled(n: tl.i32, X: tl.Tensor["2", tl.f32]):
    print("k", 3, n, n + 1, "X", tl.load(X), "end")


def test_labels_of_values(capsys):
    labelled(5, np.array([0.5, 7], np.float32))
    assert capsys.readouterr().out.splitlines() == [
        "block (0, 0, 0): k 3 5",
        "block (0, 0, 0): k 3 6",
        "block (0, 0, 0): X, shape (2,)",
        "      0  1",
        "    0.5  7",
        "block (0, 0, 0): end",
    ]


@tilews.kernel
def large(X: tl.Tensor["64, 64", tl.i32], Y: tl.Tensor["40", tl.f32]):
    tl.print("X", tl.load(X))
    tl.print("Y", tl.load(Y))


def test_numpy_shortens_tables(capsys):
    numbers = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    y = np.full(40, 1 / 3, np.float32)
    with np.printoptions(edgeitems=1, precision=3, linewidth=40):
        large(numbers, y)
    *table, _ = capsys.readouterr().out.split("block (0, 0, 0): Y, shape (40,)\n")
    assert table == [
        "block (0, 0, 0): X, shape (64, 64)\n"
        "          0  ...    63\n"
        "    0     0  ...    63\n"
        "  ...   ...  ...   ...\n"
        "   63  4032  ...  4095\n"
    ]
    with np.printoptions(linewidth=40, precision=3):
        large(numbers, y)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[-20:])) <= 40
    assert "".join(lines).count("0.333") == 40
    assert re.findall(r"\d+", lines[-2])[-1] == "39"


@pytest.mark.parametrize("lines", [3, 1000, 0])
def test_at_most_some_lines(capsys, monkeypatch, lines):
    if lines != 1000:
        monkeypatch.setenv("TILEWS_PRINT_LINES", str(lines))
    printing(X, N=100)
    shown = capsys.readouterr().out.splitlines()
    if lines == 0:
        assert len(shown) > 1000 and shown[-1].startswith("block (99, 0, 0): done")
    else:
        assert len(shown) == lines + 1
        assert shown[-1].startswith("... and more; TILEWS_PRINT_LINES=0 prints all")


def test_a_wrong_number_of_lines(monkeypatch):
    monkeypatch.setenv("TILEWS_PRINT_LINES", "many")
    with pytest.raises(LaunchError, match=r"lines that a run prints, .* found 'many'"):
        printing(X)


@tilews.kernel
def stopping(
    X: tl.Tensor["M, 4", "T"], scale: tl.f32 = 2.0, nothing: tl.constexpr = None
):
    def helper(y):
        doubled = y + y
        breakpoint()
        return doubled

    row = tl.grid(X.shape[0])
    x = tl.load(X[row, 0], (1, 4))
    positive = x.to(tl.f32) > 0.0
    total = tl.f32(0.0)
    for k in tl.range(2):
        total = helper(tl.sum(x.to(tl.f32)) + k.to(tl.i32).to(tl.f32))
        if k == 1:
            breakpoint()
    X[row, 0] = tl.where(positive, total * scale, 0.0).to(X.dtype)


def test_breakpoints(monkeypatch):
    stops = []

    def hook():
        frame = sys._getframe(1)
        names = {n: v for n, v in frame.f_locals.items() if not n.startswith("__")}
        stops.append((frame.f_code.co_filename, frame.f_lineno, names))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x = np.array([[1, -2, 3, 0.5], [4, 5, 6, -np.inf]], ml_dtypes.bfloat16)
    before = x.copy()
    stopping(x)
    source, first = inspect.getsourcelines(stopping.python)
    inner, outer = (
        first + number
        for number, line in enumerate(source)
        if line.strip() == "breakpoint()"
    )
    block = [inner, inner, outer]
    assert [line for _, line, _ in stops] == [*block, *block]
    assert {file for file, _, _ in stops} == {__file__}
    assert [stop[2]["doubled"] for stop in stops[:2]] == [5.0, 7.0]
    names = stops[2][2]
    assert names["block"] == (0, 0, 0)
    assert stops[5][2]["block"] == (1, 0, 0)
    assert (names["k"], names["total"], names["scale"]) == (1, 7.0, 2.0)
    assert names["nothing"] is None
    for stop, row in ((stops[2], before[:1]), (stops[5], before[1:])):
        found = stop[2]["x"]
        assert found.dtype == ml_dtypes.bfloat16 and found.shape == (1, 4)
        np.testing.assert_array_equal(found.astype("f4"), row.astype("f4"))
    assert names["positive"].dtype == bool
    assert names["positive"].tolist() == [[True, False, True, True]]


def test_quitting_a_debugger_ends_the_kernel(monkeypatch):
    def hook():
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "breakpointhook", hook)
    with pytest.raises(KeyboardInterrupt):
        stopping(np.zeros((2, 4), np.float32))


def test_breakpoints_are_for_the_interpreter():
    def kernel(n: tl.i32):
        breakpoint()  # HERE

    text = "breakpoint() stops the interpreter only"
    check(kernel, text, "call the kernel with target='cpu'", target="sm_90a")
    assert "tile.print" in tilews.kernel(kernel).mlir("cpu")
