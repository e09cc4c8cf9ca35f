"""Errors in kernels: their text and their place."""

import inspect

import pytest

import tilews


def check(function, message, hint=None, **bindings):
    """Checks the error of a kernel: its text, and the line that is marked."""
    with pytest.raises(tilews.KernelError) as caught:
        tilews.kernel(function).mlir(**bindings)
    error = caught.value
    assert message in error.message
    if hint is not None:
        assert hint in error.hint
    lines, first = inspect.getsourcelines(function)
    marked = [i for i, line in enumerate(lines) if "# HERE" in line]
    if marked:
        assert error.line == first + marked[0]
        file = inspect.getsourcefile(function)
        assert error.filename == file
        assert f"{file}:{error.line}:{error.column}: error: " in str(error)
        assert lines[marked[0]].strip() in str(error)
