"""Runs the examples of the documentation in the interpreter.

An example is a program with assertions; or, with ``>>>`` before its lines, the body of
a kernel. There the line below an expression has the value that the kernel computes.
"""

import contextlib
import doctest
import math
import re
import runpy
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

from support import verifying
from tilews import ir
from tilews.dispatch import Kernel
from tilews.runtime.prints import Printer

HEADER = """\
import math
import numpy as np
import tilews
import tilews.language as tl

"""
#: What tables of tl.print are made of: the number of the expression, the element, its
#: value.
PRINTED = re.compile(r"^block \(0, 0, 0\): #(\d+) ?(\([\d, ]*\))? ?(\S+)$", re.M)
NUMBER = re.compile(r"-?(?:\d+(?:\.(\d*))?(?:e[+-]?\d+)?|inf|nan)|True|False")
NAMES = {"nan": math.nan, "inf": math.inf}


def is_body(code: str) -> bool:
    """Whether an example is the body of a kernel."""
    return code.startswith(">>>")


def run_program(code: str, path: Path) -> dict:
    """Runs a program, written to a file; returns its names.

    Raises:
        AssertionError: a result is not as the program says, or it checks nothing.
    """
    assert "assert" in code, "the example checks no result"
    path.write_text(HEADER + code)
    return runpy.run_path(str(path))


def run_body(code: str, path: Path) -> None:
    """Runs the body of a kernel, and compares the values of its expressions.

    Args:
        code: the lines of the example.
        path: a file to write the kernel to.

    Raises:
        AssertionError: a value is another one than that of the example.
    """
    examples = doctest.DocTestParser().get_examples(code)
    lines = []
    for number, example in enumerate(examples):
        source = example.source.rstrip("\n")
        # The line may end in a comment.
        lines.append(f"tl.print('#{number}', {source}\n)" if example.want else source)
    assert any(example.want for example in examples), "the example shows no value"
    body = textwrap.indent("\n".join(lines), "    ")
    path.write_text(f"{HEADER}@tilews.kernel\ndef example():\n    tl.grid(1)\n{body}\n")
    texts: list[str] = []
    with mock.patch.object(Printer, "show", lambda _, text: texts.append(text)):
        runpy.run_path(str(path))["example"](target="cpu")
    printed = "\n".join(texts)
    values: dict[int, list[tuple[str, float]]] = {}
    for number, place, value in PRINTED.findall(printed):
        values.setdefault(int(number), []).append((place, float(value)))
    for number, example in enumerate(examples):
        if example.want:
            assert number in values, f"{example.source}: nothing was printed"
            compare(values[number], example)


def compare(values: list[tuple[str, float]], example: doctest.Example) -> None:
    """Compares printed elements with a list of numbers, to the digits it shows."""
    expected = np.array(eval(example.want, NAMES), np.float64)
    last = eval(values[-1][0] or "()")
    shape = (last,) if isinstance(last, int) else last
    assert expected.shape == tuple(extent + 1 for extent in shape), example.source
    found = np.array([value for _, value in values]).reshape(expected.shape)
    digits = [
        0 if decimals is None else 0.51 * 10.0 ** -len(decimals)
        for decimals in (match[1] for match in NUMBER.finditer(example.want))
    ]
    tolerance = np.array(digits).reshape(expected.shape)
    with np.errstate(invalid="ignore"):
        equal = (found == expected) | (abs(found - expected) <= tolerance)
    equal |= np.isnan(found) & np.isnan(expected)
    assert equal.all(), f"{example.source}expected {expected}, found {found}"


@contextlib.contextmanager
def calls() -> Iterator[list]:
    """The calls of kernels that are made meanwhile, for :func:`compile_and_prove`."""
    found = []
    run = Kernel.__call__

    def call(kernel, *args, **options):
        found.append((kernel, args, dict(options)))
        return run(kernel, *args, **options)

    with mock.patch.object(Kernel, "__call__", call):
        yield found


def compile_and_prove(found: list, chip: str = "sm_90a") -> None:
    """Makes PTX for each call of a kernel, and proves its schedule after each pass."""
    for kernel, args, options in found:
        options.pop("grid", None)
        compiled = kernel.compile_for(*args, target=chip, **options)
        assert f".entry {kernel.name}(" in compiled.ptx
        with ir.Context():
            module = ir.Module.parse(compiled.mlir("tile"))
            pipeline = f"tilews-to-nvvm{{chip={chip}}}"
            verifying.verify_steps(module, pipeline, verifying.FIRST)
