"""The examples run and print their results."""

import importlib
import json
import pathlib
import subprocess
import sys

import pytest

import tilews.language as tl

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "name",
    ["gemm", "softmax", "attention", "block_sparse", "prefix_sum", "histogram", "topk"],
)
def test_example_checks_its_result(name):
    assert f"{name}{' values' * (name == 'topk')}: maximum relative error" in run(name)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ["attention", "block_sparse"])
def test_example_is_scheduled_and_verified(name, target, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    kernel = getattr(importlib.import_module(name), name)
    constants = {"causal": True} if name == "attention" else {}
    compiled = kernel.compile(target, T=tl.f16, **constants)
    assert "wgmma" in compiled.ptx if target == "sm_90a" else "mma.sync" in compiled.ptx
    for remark in ("tile-pipe", "tile-ws", "tile-verify"):
        assert not [text for text in compiled.messages if remark in str(text)]


def test_schedules_made_by_functions():
    lines = run("custom_pipeline").splitlines()
    assert [line.split(":")[0] for line in lines[::2]] == ["by_steps", "by_hand"]
    assert all("sm_90a: 2 TMA copies" in line for line in lines[1::2])


def test_demo_makes_all_objects_and_checks_all_results():
    lines = [line.split() for line in run("demo").splitlines()]
    for chip in ("sm_80", "sm_90a", "gfx942", "gfx1100"):
        assert sum(chip in line for line in lines) == 4
    # After the objects, two results for each kernel.
    assert sum("200x328" in line for line in lines) == 2
    assert sum("37x2500" in line for line in lines) == 2


def test_hang_is_explained_and_fixed(tmp_path):
    broken, fixed = run("debug_a_hang", tmp_path).split("--- with releases ---")
    assert "verifier: refuted" in broken
    assert "is waited for and never released" in broken
    assert "op never returns" in broken
    assert "verifier: found nothing wrong" in fixed
    assert "the result is right" in fixed
    for name in ("hang", "fixed"):
        events = json.loads((tmp_path / f"{name}.json").read_text())["traceEvents"]
        assert any(event.get("cat") == "wait" for event in events)
    for name, missing in (("hang", "tile.release"), ("race", "tile.wait")):
        assert missing in (tmp_path / "right.mlir").read_text()
        assert missing not in (tmp_path / f"{name}.mlir").read_text()
