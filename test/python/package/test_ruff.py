"""Kernels pass ruff's default rules, with the settings of docs/language.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ruff", reason="ruff is not installed")
ROOT = Path(__file__).parents[3]
KERNELS = """\
from typing import Annotated

import tilews
import tilews.language as tl


@tilews.kernel
def calls(X: tl.Tensor("M, N", "T"), Y: tl.Tensor("N", tl.f32), n: tl.i32 | None):
    Y[0] = tl.load(X[0, n], (64,))


@tilews.kernel
def annotated(X: Annotated[tl.Buffer, tl.Tensor("M, N", "T")]):
    X[0, 0] = tl.zeros((8, 8), X.dtype)
"""
BRACKETS = """\
import tilews.language as tl


def brackets(X: tl.Tensor["M, N", "T"], Y: tl.Tensor["N:16", "U"]):
    Y[0] = tl.load(X[0, undefined], (64,))
"""


def run_ruff(*options):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"]
    command += ["--output-format", "concise", *map(str, options)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not found.stderr, found.stderr
    return re.findall(r":(\d+):\d+: ([A-Z]+\d+)", found.stdout)


def test_the_examples_have_the_documented_settings_only():
    # Without our configuration ruff cannot know which imports are our own packages.
    imports = "I001"
    assert run_ruff("--ignore", f"F722,F821,{imports}", ROOT / "examples") == []


def test_forms_of_annotations(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    assert run_ruff("--select", "E4,E7,E9,F", path) == []
    path.write_text(BRACKETS)
    found = run_ruff("--select", "F", path)
    assert {rule for _, rule in found} == {"F722", "F821"}
    assert run_ruff("--select", "F", "--ignore", "F722,F821", path) == []
