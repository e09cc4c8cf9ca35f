"""Conversions between fragment layouts on the simulator of AMD's machine code."""

import os
import subprocess
from pathlib import Path

import layout_pairs
import numpy as np
import pytest
from amdgcn.machine import Simulator

TOOLS = Path(os.environ["TILEWS_BUILD_DIR"]) / "python_packages/tilews/bin"
MORE_SHARED = 64 << 10
PER_MODULE = 24


def compile_pairs(pairs: list[layout_pairs.Pair], target: str, path: Path) -> None:
    """Writes the code object of all pairs."""
    passes = f"--pass-pipeline={layout_pairs.lowering(target)}"
    lowered = subprocess.run(
        [TOOLS / "tilews-opt", passes],
        input=layout_pairs.module(pairs, target),
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


@pytest.mark.parametrize("seed", range(int(os.environ.get("TILEWS_LAYOUT_SEEDS", "2"))))
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_pairs(target: str, seed: int, tmp_path: Path) -> None:
    lanes = 64 if target == "gfx942" else 32
    pairs = layout_pairs.random_pairs(PER_MODULE, seed, lanes)
    path = tmp_path / "pairs.hsaco"
    compile_pairs(pairs, target, path)
    simulator = Simulator(path, seed)
    for i, pair in enumerate(pairs):
        x, y = pair.arguments(seed)
        simulator.launch(f"pair_{i}", (1,), pair.threads, [x, y], MORE_SHARED)
        np.testing.assert_array_equal(y, x, err_msg=f"pair_{i}: {pair}")
