"""Interestingness scripts for ``tilews-reduce``.

``tilews-disagrees FILE`` and ``tilews-crashes FILE`` exit with 1 if the kernel in
FILE is interesting, as ``tilews-reduce`` wants it, else with 0. What to look for
comes from the environment:

* ``TILEWS_PASSES``: passes in the notation of :func:`tilews.passes.run`.
* ``TILEWS_ARGUMENTS``: for ``tilews-disagrees``, the kernel's arguments: shapes such
  as ``64x48``, of which arrays of small integers are made, and numbers such as
  ``5``, separated by spaces.
* ``TILEWS_MESSAGE``: a regular expression; passes that fail with an error in which
  it is found count as a crash.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import ir, passes, sim
from ..errors import CompileError
from ..sim._run import DTYPES, find_kernel
from .check import POLICIES, difference, simulate


def make_arguments(module: ir.Module, text: str) -> list[Any]:
    """Arguments for the one kernel of a module, the same each time.

    Raises:
        ValueError: the text does not have one entry for each of them.
    """
    kernel = find_kernel(module, None)
    types = ir.FunctionType(
        ir.TypeAttr(kernel.attributes["function_type"]).value
    ).inputs
    random = np.random.default_rng(0)
    made: list[Any] = []
    for entry, type_ in zip(text.split(), types, strict=True):
        if not isinstance(type_, ir.MemRefType):
            made.append(int(entry))
            continue
        dtype = np.dtype(DTYPES[str(type_.element_type)][0])
        shape = [int(extent) for extent in entry.split("x")]
        low = 0 if dtype.kind in "ib" else -3
        made.append(random.integers(low, 4, shape).astype("f4").astype(dtype))
    return made


def disagrees(text: str, pipeline: str, arguments: str) -> bool:
    """Whether passes change what a kernel computes, or make it fail.

    Args:
        text: a module with one kernel. One that fails as it is, or that the passes
            refuse, is not of interest.
    """
    with ir.Context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
            expected = make_arguments(module, arguments)
            simulate(module, expected)
            passes.run(module, pipeline)
        except (ir.MLIRError, ValueError, CompileError, sim.SimulationError):
            return False
        for policy in POLICIES:
            found = make_arguments(module, arguments)
            try:
                simulate(module, found, policy)
            except sim.SimulationError:
                return True
            if difference(found, expected):
                return True
        return False


def crashes(path: str, pipeline: str, message: str = "") -> bool:
    """Whether passes end with a signal, or with an error that has a message."""
    with ir.Context():
        parsed = str(passes._parse(pipeline))
    # The name of what it is anchored to is not a part of its text.
    text = re.sub(r"^\w*\(", "(", parsed.removeprefix("builtin.module"))
    command = ["tilews-opt", f"--pass-pipeline=builtin.module{text}", path]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode < 0:
        return True
    fails = result.returncode != 0 and bool(message)
    return fails and re.search(message, result.stderr) is not None


def _setting(name: str) -> str:
    if name not in os.environ:
        raise SystemExit(f"{name} is not set; see tilews.fuzz.interesting")
    return os.environ[name]


def _answer(question: Callable[[str], bool]) -> NoReturn:
    """Exits with the answer; aborts if the question fails, which is no answer."""
    try:
        answer = question(sys.argv[-1])
    except BaseException:
        traceback.print_exc()
        os.abort()
    raise SystemExit(int(answer))


def disagrees_main() -> NoReturn:
    def question(path: str) -> bool:
        with open(path) as file:
            text = file.read()
        return disagrees(text, _setting("TILEWS_PASSES"), _setting("TILEWS_ARGUMENTS"))

    _answer(question)


def crashes_main() -> NoReturn:
    message = os.environ.get("TILEWS_MESSAGE", "")
    _answer(lambda path: crashes(path, _setting("TILEWS_PASSES"), message))


if __name__ == "__main__":
    {"disagrees": disagrees_main, "crashes": crashes_main}[sys.argv[1]]()
