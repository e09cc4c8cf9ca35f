"""Conversions, flips, scans and reductions in random fragment layouts, on the
simulator of AMD's machine code."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from support import layout_pairs
from tilews.sim.amdgcn.machine import Simulator

TOOLS = Path(os.environ["TILEWS_BUILD_DIR"]) / "python_packages/tilews/bin"
MORE_SHARED = 64 << 10
PER_MODULE = 24
#: The number of cases; larger numbers are slower and find more.
SEEDS = range(int(os.environ.get("TILEWS_LAYOUT_SEEDS", "2")))


def compile_cases(
    cases: Sequence[layout_pairs.Case],
    target: str,
    path: Path,
) -> None:
    """Writes the code object of all cases."""
    passes = f"--pass-pipeline={layout_pairs.lowering(target)}"
    lowered = subprocess.run(
        [TOOLS / "tilews-opt", passes],
        input=layout_pairs.module(cases, target),
        capture_output=True,
        text=True,
        check=False,
    )
    assert lowered.returncode == 0, lowered.stderr
    subprocess.run(
        [TOOLS / "tilews-translate", "-", "--to=hsaco", "-o", str(path)],
        input=lowered.stdout,
        text=True,
        check=True,
    )


def check_results(
    cases: Sequence[layout_pairs.Case], target: str, seed: int, folder: Path
) -> None:
    """Runs kernels, and compares what they leave in their second argument."""
    path = folder / "cases.hsaco"
    compile_cases(cases, target, path)
    simulator = Simulator(path.read_bytes(), seed)
    for i, case in enumerate(cases):
        x, y, expected = case.arguments(seed)
        simulator.launch(f"case_{i}", (1,), case.threads, [x, y], MORE_SHARED)
        np.testing.assert_array_equal(y, expected, err_msg=f"case_{i}: {case}")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_pairs(target: str, seed: int, tmp_path: Path) -> None:
    lanes = 64 if target == "gfx942" else 32
    pairs = layout_pairs.random_pairs(PER_MODULE, seed, lanes)
    check_results(pairs, target, seed, tmp_path)


def test_staged(tmp_path: Path) -> None:
    check_results(layout_pairs.staged_cases()[::3], "gfx942", 0, tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_combinations(target: str, seed: int, tmp_path: Path) -> None:
    lanes = 64 if target == "gfx942" else 32
    cases = layout_pairs.random_combinations(PER_MODULE, seed, lanes)
    check_results(cases, target, seed, tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_flips(target: str, seed: int, tmp_path: Path) -> None:
    lanes = 64 if target == "gfx942" else 32
    cases = layout_pairs.random_flips(PER_MODULE, seed, lanes)
    check_results(cases, target, seed, tmp_path)
