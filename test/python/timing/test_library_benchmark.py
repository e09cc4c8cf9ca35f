"""The benchmark of tilews.kernels: its cases, its report and its worker's interface."""

import importlib.util
import json
import random
import sys

import click.testing
import pytest

from benchmarks import runner
from benchmarks.cases import Case
from benchmarks.library import __main__ as library
from benchmarks.library import tilings
from tilews import kernels
from tilews.kernels.matmuls import tiling

#: Measures nothing: tilews and torch take the same time, and the last case is wrong.
WORKER = """
import json, sys
cases = json.load(sys.stdin)
print(json.dumps({"ready": {"torch CUDA": "none"}}))
for case in cases:
    unit = "TFLOP/s" if case["group"] == "matmul" else "GB/s"
    last = "wrong" if case is cases[-1] else "ok"
    for name, status in (("torch", "ok"), ("tilews", last)):
        row = {"implementation": name, "config": "c", "status": status, "ms": 1.0}
        row |= {"error": 0.0, "bound": 1.0, unit: 2.0, "tried": []}
        print(json.dumps({"row": row}))
    print(json.dumps({"done": True}))
"""


def test_every_operation_is_measured():
    # One has the kernel of silu_and_mul, and others are parts of moe.
    inside = {"gated", "sort_by_expert", "combine_rows"}
    assert {*library.LISTED} | inside == {*kernels.__all__} - {"Operation"}


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is missing")
def test_every_operation_has_a_trial():
    from benchmarks.library.trials import TRIALS

    assert TRIALS.keys() == library.LISTED.keys()


def test_random_cases_depend_on_the_seed():
    names = list(library.LISTED)
    first, again = (library.random_cases(names, 4, 1) for _ in range(2))
    assert first == again != library.random_cases(names, 4, 2)
    assert len(first) == 4 * len(names)
    for case in first:
        assert all(extent > 0 for extent in case.shape)
        if case.group == "matmul":
            assert case.shape[1] % 16 == case.shape[2] % 16 == 0


def test_results_are_written_and_failures_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "WORKER", (sys.executable, "-c", WORKER))
    options = ["--only", "softmax,matmul", "--random", "1", "--seed", "3"]
    options += ["--results", str(tmp_path)]
    done = click.testing.CliRunner().invoke(library.main, options)
    assert done.exit_code == 1
    (path,) = tmp_path.glob("*-library-softmax-matmul.json")
    outcome = json.loads(path.read_text())
    assert outcome["environment"]["seed"] == 3
    count = sum(len(library.LISTED[name]) + 1 for name in ("softmax", "matmul"))
    assert len(outcome["runs"]) == 2 * count
    text = path.with_suffix(".md").read_text()
    assert "| softmax | 3 | 100 % | 100 % |" in text
    assert text.count(": wrong: no result") == 2


def test_unknown_operations_are_refused():
    done = click.testing.CliRunner().invoke(library.main, ["--only", "softmax,sort"])
    assert done.exit_code == 2 and "no operation sort" in done.output


def test_worker_needs_a_gpu():
    from tilews.runtime import device_target

    if device_target().startswith("sm_"):
        pytest.skip("there is a GPU")
    session = runner.Session(60.0, lambda line: None, library.WORKER)
    with pytest.raises(runner.WorkerError, match="no NVIDIA GPU here"):
        session.run([Case("softmax", (8, 8), "f32")])


# --- Tiles of matmuls ----------------------------------------------------------------


@pytest.mark.parametrize("itemsize", [1, 2])
def test_every_tiling_is_measured(itemsize):
    draw = random.Random(0)
    for _ in range(20):
        shape = tilings.draw_shape(draw)
        assert all(extent > 0 for extent in shape)
        found = tilings.tilings_of(shape, itemsize)
        chosen = tiling.choose((1, *shape), itemsize, "sm_90a", False, True)
        assert found[0] == chosen and len(set(found)) == len(found)
        assert set(tiling.candidates("sm_90a", itemsize, True)) <= set(found)


def test_table_of_tilings():
    rows = [
        {"shape": (3, 16, 32), "dtype": "bf16", "torch": 9.0, "times": [12.0, 10.0]},
        {"shape": (5, 16, 64), "dtype": "e4m3", "torch": 8.0, "times": [8.0, 16.0]},
    ]
    text = tilings.describe({"gpu": "a GPU", "seed": 3, "ptxas": None}, rows)
    assert "seed 3\n" in text
    assert "| 3x16x32 | bf16 | 12.0 | 10.0 | 1.20 | 9.0 | 0.75 | 0.90 |" in text
    assert "2 shapes. Chosen / best: median 1.100, largest 1.20." in text
    assert "torch / best: median 0.95, smallest 0.90." in text
