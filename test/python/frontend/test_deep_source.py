"""Source that is nested too deeply for Python's stack is an error with a place."""

import importlib.util
import sys
from contextlib import contextmanager

import pytest

import tilews

HEADER = """\
import tilews
import tilews.language as tl

@tilews.kernel
def deep(C: tl.Tensor["N", tl.f32], n: tl.index):
    x = tl.load(C[0])
"""
SUM_LINE = HEADER.count("\n") + 1


@contextmanager
def recursion_limit(limit):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def write(path, body):
    """The kernel of a new file with `body` as its last statements."""
    file = path / "deep_source.py"
    file.write_text(HEADER + body)
    spec = importlib.util.spec_from_file_location("deep_source", file)
    module = importlib.util.module_from_spec(spec)
    with recursion_limit(20_000):
        spec.loader.exec_module(module)
    return module.deep


def sum_of(terms):
    return f"    C[0] = {' + '.join(['x'] * terms)}\n"


def nested(head, levels):
    lines = [" " * (4 + i) + head for i in range(levels)]
    return "\n".join([*lines, " " * (4 + levels) + "C[0] = x"]) + "\n"


def test_what_generators_of_kernels_write_is_built(tmp_path):
    assert write(tmp_path, sum_of(100)).build("sm_90a")
    assert write(tmp_path, nested("if n > 0:", 60)).build("sm_90a")


def test_a_long_sum_is_an_error_at_its_line(tmp_path):
    kernel = write(tmp_path, sum_of(2000))
    with pytest.raises(tilews.KernelError) as caught:
        kernel.build("sm_90a")
    error = caught.value
    assert error.message == "expressions or statements are nested too deeply here"
    assert error.line == SUM_LINE
    assert error.__cause__ is None
    assert len(str(error)) < 800
    assert "hint: compute parts in variables" in str(error)


def test_a_sum_that_python_cannot_parse_again(tmp_path):
    try:
        kernel = write(tmp_path, sum_of(5000))
    except RecursionError:  # The limit of Python 3.12 cannot be raised.
        pytest.skip("this version of Python compiles no module with such a sum")
    with pytest.raises(tilews.KernelError) as caught:
        kernel.build("sm_90a")
    # Newer versions of Python parse it, with a limit of their own.
    assert "too deeply" in caught.value.message
    assert caught.value.line is not None


def test_nested_statements(tmp_path):
    kernel = write(tmp_path, nested("if n > 0:", 95))
    with recursion_limit(400), pytest.raises(tilews.KernelError) as caught:
        kernel.build("sm_90a")
    error = caught.value
    assert error.message == "expressions or statements are nested too deeply here"
    assert error.line >= SUM_LINE
