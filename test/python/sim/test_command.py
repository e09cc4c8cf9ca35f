"""The command tilews-sim, and the comparison of a kernel before and after passes."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from support import simulating
from tilews import sim
from tilews.sim import _differential
from tilews.sim.__main__ import main

PIPELINE = "tilews-to-nvvm{chip=sm_90a}"
GEMM = ["--dim", "M=64", "--dim", "N=40", "--arg", "first=0", "--arg", "last=5"]


@pytest.fixture
def gemm(tmp_path):
    case = simulating.find_case("gemm-s3")
    path = tmp_path / "gemm.mlir"
    path.write_text(str(simulating.lower(case, "sm_90a")))
    return path


@pytest.fixture
def scheduled(tmp_path):
    case = simulating.find_case("gemm-s3")
    path = tmp_path / "scheduled.mlir"
    path.write_text(
        str(simulating.lower(case, "sm_90a", simulating.PHASES["scheduled"]))
    )
    return path


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_all_policies(scheduled):
    result = invoke(scheduled, *GEMM, "--policy", "all")
    assert result.exit_code == 0, result.output
    assert "latest: ran" in result.output and "random seed 4: ran" in result.output
    assert "C: float32[64, 40]" in result.output


def test_arrays_are_read_and_written(scheduled, tmp_path):
    random = np.random.default_rng(1)
    a = random.integers(-3, 4, (64, 128)).astype("f2")
    b = random.integers(-3, 4, (128, 40)).astype("f2")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    files = [f"--arg=A={tmp_path}/a.npy", f"--arg=B={tmp_path}/b.npy"]
    sizes = ["--dim", "M=64", "--dim", "N=40", "--arg", "first=0", "--arg", "last=8"]
    out = tmp_path / "c.npy"
    trace = tmp_path / "trace.json"
    result = invoke(
        scheduled, *files, *sizes, "--seeds", 2, "--out", f"C={out}", "--trace", trace
    )
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(out), a.astype("f4") @ b.astype("f4"))
    events = json.loads(trace.read_text())
    assert {event["op"] for event in events} >= {"tile.copy", "tile.wait", "tile.gemm"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arg", "first=0"], "argument 'last' of type index needs a value"),
        (["--arg", "x=0", *GEMM], "the kernel has no argument 'x'"),
        (["--arg", "A=nowhere.npy", *GEMM], "expected a .npy file"),
        (["--arg", "first", *GEMM], "expected NAME=VALUE, found 'first'"),
        (["--grid", "a", *GEMM], "expected numbers as in 4,4"),
        (["--kernel", "other", *GEMM], "expected one kernel 'other'"),
        (["--out", "D=d.npy", *GEMM], "there is no array 'D'"),
        (["--schedule", "1", *GEMM], "expected a schedule such as"),
    ],
)
def test_mistakes(gemm, arguments, message):
    result = invoke(gemm, *arguments)
    assert result.exit_code != 0
    assert message in result.output


def test_a_kernel_that_fails(scheduled):
    text = scheduled.read_text()
    lines = [line for line in text.split("\n") if "tile.release" not in line]
    scheduled.write_text("\n".join(lines))
    result = invoke(scheduled, *GEMM)
    assert result.exit_code == 1
    assert "never returns" in result.output
    assert "scheduled.mlir" in result.output


def test_no_pass_changes_what_is_computed(gemm):
    result = invoke(gemm, *GEMM, "--differential", PIPELINE)
    assert result.exit_code == 0, result.output
    assert "no difference after any pass" in result.output


def test_the_first_pass_that_differs_is_named(gemm, monkeypatch, tmp_path):
    run_pass = _differential._run_pass

    def break_schedule(operation, name, pipeline):
        run_pass(operation, name, pipeline)
        if name.startswith("tile-specialize-warps"):
            for op in list(_walk(operation)):
                if op.name == "tile.release":
                    op.erase()

    monkeypatch.setattr(_differential, "_run_pass", break_schedule)
    result = invoke(
        gemm, *GEMM, "--differential", PIPELINE, "--folder", tmp_path / "ir"
    )
    assert result.exit_code == 1
    assert "tile-specialize-warps" in result.output
    assert "never returns" in result.output
    before, after = sorted((tmp_path / "ir").glob("*.mlir"), reverse=True)
    assert "tile.specialize" not in before.read_text()
    assert "tile.specialize" in after.read_text()


def _walk(operation):
    for region in operation.regions:
        for block in region:
            for op in block:
                yield op.operation
                yield from _walk(op.operation)


def test_the_first_element_that_differs_is_named(monkeypatch):
    case = simulating.find_case("gemm-s3")
    module = simulating.lower(case, "sm_90a")
    arguments = case.arguments(np.random.default_rng(0))
    run = _differential.run

    def change_result(module, name, args, grid, **timing):
        run(module, name, args, grid, **timing)
        if timing.get("policy") == "latest" and "tile.channel" in str(module):
            args[2][3, 5] += 1

    monkeypatch.setattr(_differential, "run", change_result)
    found = sim.differential(module, None, arguments, PIPELINE)
    assert found.pass_name == "tile-multi-version"
    assert found.timing["policy"] == "latest"
    assert found.message.startswith("element (3, 5) of argument 2 is ")
    assert found.message.endswith("1 of 2560 elements differ")
    assert "tile.channel" in found.after and "tile.channel" not in found.before
    assert sim.differential(module, None, arguments, PIPELINE, tolerance=1.0) is None


def test_pipelines_are_taken_apart():
    passes = sim.list_passes("gpu.module(canonicalize{max-iterations=3},cse),cse")
    assert [name.partition("{")[0] for name, _ in passes] == [
        "canonicalize",
        "cse",
        "cse",
    ]
    assert passes[1][1] == "builtin.module(gpu.module(cse))"
    assert passes[2][1] == "builtin.module(cse)"
    with pytest.raises(ValueError):
        sim.list_passes("no-such-pass")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "-1"], "-1 is not in the range"),
        (["--seed", "-1", "--policy", "random"], "-1 is not in the range"),
        (["--data-seed", "-1"], "-1 is not in the range"),
        (["--runs", "0", "--policy", "worst"], "0 is not in the range"),
        (["--max-steps", "-1"], "-1 is not in the range"),
        (["--tolerance", "-1", "--differential", "cse"], "-1.0 is not in the range"),
        (["--trace", "/nowhere/x.json"], "there is no folder '/nowhere'"),
        (["--trace", "/"], "'/' is a folder, expected a file"),
        (["--out", "C=/nowhere/x.npy"], "there is no folder '/nowhere'"),
        (["--out", "D=d.npy"], "there is no array 'D', only: A, B, C"),
        (["--dim", "Q=3"], "no random array has an extent 'Q', only: M, A.0"),
        (["--dim", "K=abc"], "extent 'K' a number from 0 on, found 'abc'"),
        (["--dim", "K=-5"], "extent 'K' a number from 0 on, found '-5'"),
        (["--dim", "M=64"], "'M' is given twice"),
        (["--arg", "A=."], "expected a .npy file for memref"),
        (["--arg", f"A={__file__}"], "with other contents"),
        (["--grid", "1,2,3,4"], "one to three and none negative, found '1,2,3,4'"),
        (["--grid=-1"], "none negative, found '-1'"),
        (["--kernel", "other"], "expected one kernel 'other'"),
        (["--differential", "nothing"], "'nothing' does not refer to"),
        (["--schedule", "9,9,9:1"], "(9, 9, 9) is not in the grid, which has the"),
        (["--schedule", "0,0,0:4294967296"], "numbers below 2**32, found '4294967296'"),
        (["--schedule", f"0,{2**63},0:1"], f"numbers below 2**63, found '{2**63}'"),
        (["--schedule", f"0,0,0:{'9' * 5000}"], "numbers below 2**32, found '99999"),
        (["--block", "0,0,0"], "--block is the block that --trace is about"),
        (["--runs", "3"], "--runs goes with --policy worst or exhaustive"),
        (["--seed", "3"], "--seed goes with --policy random or --seeds only"),
        (["--folder", "."], "--folder goes with --differential only"),
        (["--policy", "latest", "--seeds", "2"], "--policy is 'random' with --seeds"),
        (["--schedule", "0,0,0:1", "--seeds", "2"], "--seeds does not go with --sch"),
        (["--differential", "cse", "--runs", "2"], "--runs goes with --policy worst"),
        (["--differential", "cse", "--max-steps", "2"], "--max-steps does not go with"),
        (["--replay", __file__], "--arg does not go with --replay"),
    ],
)
def test_wrong_usage(scheduled, arguments, message):
    result = invoke(scheduled, *GEMM, *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert isinstance(result.exception, SystemExit)


def test_wrong_numbers_of_arguments(scheduled):
    result = invoke(scheduled, "--arg", "first=x", "--arg", "last=1")
    assert result.exit_code == 2
    assert "argument 'first' of type index: expected an integer" in result.output


def test_a_block_of_a_trace_is_in_the_grid(scheduled, tmp_path):
    trace = tmp_path / "trace.json"
    result = invoke(scheduled, *GEMM, "--trace", trace, "--block", "9,9,9")
    assert result.exit_code == 2
    assert "block (9, 9, 9) is not in the grid" in result.output
    result = invoke(scheduled, *GEMM, "--trace", trace, "--block", "0,0,0")
    assert result.exit_code == 0
    assert json.loads(trace.read_text())


def test_files_that_are_no_counterexamples(scheduled):
    result = invoke(scheduled, "--replay", __file__)
    assert result.exit_code == 2
    assert "is no counterexample" in result.output
