"""The parts of the benchmark runner that need no GPU."""

import datetime
import importlib
import json
import sys
import types

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import (
    attention_kernels,
    cases,
    compile_time,
    kernels,
    report,
    runner,
    sparse_kernels,
)
from benchmarks.cases import Case
from kernels import sparse as data
from tilews import compiler

CASES = [Case("gemm", (64, 64, 64), "f16", layout) for layout in ("NN", "NT", "TN")]

# Speaks the worker's protocol; the layout of a case chooses what it does.
WORKER = """
import json, os, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
cases = json.load(sys.stdin)
send(ready={"torch CUDA": "13.0"})
for case in cases:
    send(step=["tilews", "fast"])
    if case["layout"] == "NT":
        time.sleep(600)
    if case["layout"] == "TT":
        sys.exit("out of memory")
    send(row={"implementation": "tilews", "config": "fast", "status": "ok"})
    if case["layout"] == "TN":
        os._exit(3)
    send(done=True)
"""


def run(chosen, worker=WORKER, timeout=1.0):
    command = [sys.executable, "-c", worker]
    session = runner.Session(timeout, lambda line: None, command)
    session.run(chosen)
    return session.rows, session.versions


def test_hanging_worker_is_killed_and_the_others_go_on():
    rows, versions = run(CASES)
    assert versions == {"torch CUDA": "13.0"}
    assert [(row["layout"], row["status"]) for row in rows] == [
        ("NN", "ok"),
        ("NT", "failed"),
        ("TN", "ok"),
    ]
    assert rows[1]["note"].startswith("killed: no answer for 1 s")
    assert (rows[1]["implementation"], rows[1]["config"]) == ("tilews", "fast")


def test_crashed_worker_is_reported_with_its_last_words():
    rows, _ = run([Case("gemm", (8, 8, 8), "f16", "TT"), CASES[0]])
    assert [row["status"] for row in rows] == ["failed", "ok"]
    assert rows[0]["note"] == "the worker ended with code 1\nout of memory"


IN_TURNS = """
import json, sys
def send(**message):
    print(json.dumps(message), flush=True)
json.load(sys.stdin)
send(ready={})
torch = {"implementation": "torch", "config": "", "status": "ok", "ms": 2.0}
send(row=torch)
send(row={**torch, "implementation": "tilews", "ms": 3.0})
send(row={**torch, "ms": 2.5, "in_turns": True})
send(done=True)
"""


def test_times_taken_in_turns_replace_the_first():
    rows, _ = run(CASES[:1], IN_TURNS)
    assert [(row["implementation"], row["ms"]) for row in rows] == [
        ("torch", 2.5),
        ("tilews", 3.0),
    ]


def test_hanging_kernels_do_not_take_all_the_time():
    rows, _ = run([CASES[1]] * 5, timeout=0.5)
    notes = [row["note"].splitlines()[0] for row in rows]
    assert (
        notes
        == ["killed: no answer for 0.5 s"] * 3 + ["not run: 3 workers were killed"] * 2
    )


def test_worker_that_cannot_start_stops_everything():
    with pytest.raises(runner.WorkerError, match="no such thing"):
        run(CASES, "import sys; sys.exit('no such thing')", timeout=10.0)


# --- reports -----------------------------------------------------------------------


def fake_run(name, ms, error=1e-4, **changes):
    resources = {
        "registers": 168,
        "spill_stores": 4,
        "spill_loads": 8,
        "warnings": ["wgmma serialized (C7510)"],
    }
    tried = {
        "config": "a",
        "status": "ok",
        "ms": ms,
        "error": error,
        "peak_error": 1e-5,
    }
    tried.update(changes, resources=resources if name == "tilews" else None)
    row = {**CASES[0].to_json(), "implementation": name, "bound": 5e-4, **tried}
    return {**row, "tried": [tried], "TFLOP/s": 100 / ms}


def outcome(*runs):
    facts = {"gpu": "NVIDIA H200", "driver": "580.1", "triton": None}
    groups = dict.fromkeys((*compile_time.GROUPS, "all passes", "total"), 1.5)
    compiled = {"chip": "sm_90a", "groups": groups, "first": 9.5, "bytes": 99}
    return {"environment": facts, "compile": [compiled], "runs": list(runs)}


def test_tables_compare_with_the_best_peer(tmp_path):
    results = outcome(
        fake_run("torch", 0.2), fake_run("triton", 0.25), fake_run("tilews", 0.4)
    )
    json_path, markdown_path = report.save(results, tmp_path / "new" / "name")
    assert json.loads(json_path.read_text()) == json.loads(json.dumps(results))
    text = markdown_path.read_text()
    assert "| 64x64x64 f16 NN | 250 | 500 | 400 | - | 50 % | 0.4000 |" in text
    assert "| gemm f16 NN | a | 168 | SPILLS 12; PTXAS: wgmma serialized" in text
    assert "| sm_90a | 1.5 |" in text
    assert "triton None" not in text
    assert "Failures" not in text
    assert report.failures(results) == []


def test_only_our_own_failures_count():
    wrong = fake_run("tilews", 0.1, error=0.5, status="wrong")
    killed = {**fake_run("tilews", 1), "tried": [], "status": "failed", "note": "hung"}
    peer = fake_run("torch", 1, status="failed", note="unsupported")
    assert report.failures(outcome(wrong, killed, peer)) == [
        "gemm 64x64x64 f16 NN, tilews a: wrong, error 5.0e-01, of an element 1.0e-05, "
        "bound 5.0e-04",
        "gemm 64x64x64 f16 NN, tilews a: failed, hung",
    ]
    results = outcome(wrong)
    results["compile"].append({"chip": "sm_80", "note": "no back end"})
    text = report.markdown(results)
    assert "* gemm 64x64x64 f16 NN, tilews a: wrong" in text
    assert "* gemm for sm_80: no back end" in text
    assert "| sm_80 |" not in text


def test_file_name():
    date = datetime.date(2026, 1, 31)
    name = report.file_name(date, "NVIDIA H200", ["gemm", "quick"])
    assert name == "2026-01-31-h200-gemm-quick"
    assert report.file_name(date, None, ["compile"]) == "2026-01-31-no-gpu-compile"


# --- measuring ---------------------------------------------------------------------


@pytest.fixture
def measure(monkeypatch):
    """The module, with a stand-in for the parts of torch that it imports."""
    torch = types.ModuleType("torch")
    names = ("float16", "bfloat16", "float8_e4m3fn", "float32", "Tensor")
    vars(torch).update(dict.fromkeys(names, object))
    torch.cuda = types.SimpleNamespace(synchronize=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name in ("benchmarks.measure", "benchmarks.timing"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("benchmarks.measure")
    monkeypatch.setattr(module, "errors", lambda result, reference: (0.0, 0.0))
    yield module
    for name in ("benchmarks.measure", "benchmarks.timing"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_fastest_in_alternation_counts(measure):
    """The three fastest are measured again, alternately; that measurement counts."""
    from benchmarks.timing import Timing

    alone = {"first": 1.0, "second": 1.1, "third": 1.2, "slow": 9.0, "peer": 2.0}
    alternating = {"first": 1.5, "second": 1.05, "third": 1.3, "peer": 2.1}

    class FakeTimer:
        def __call__(self, launch):
            return Timing.of([alone[launch()]])

        def sample(self, launch, iterations, warmup):
            return [alternating[launch()]] * iterations

    def candidate(name, config):
        return measure.Candidate(name, config, lambda: (lambda: config, None))

    def fail():
        raise RuntimeError("out of memory")

    candidates = [candidate("ours", config) for config in alone if config != "peer"]
    candidates += [candidate("theirs", "peer"), measure.Candidate("none", "bad", fail)]
    output = types.SimpleNamespace(fill_=lambda value: None)
    problem = measure.Problem(output, None, 1.0, {"TFLOP/s": 1e-3})
    rows = list(measure.measure(problem, candidates, FakeTimer(), lambda *step: None))
    assert [(row["config"], row["status"]) for row in rows] == [
        ("first", "ok"),
        ("peer", "ok"),
        ("bad", "failed"),
        ("second", "ok"),
        ("peer", "ok"),
    ]
    assert [row.get("in_turns") for row in rows] == [None] * 3 + [True] * 2
    assert rows[3]["ms"] == 1.05 and len(rows[3]["tried"]) == 4


# --- cases and kernels -------------------------------------------------------------


@pytest.mark.parametrize("case", cases.gemm_cases(False), ids=lambda case: case.title)
def test_gemm_configurations_build(case):
    assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case
    kernel = kernels.gemm_kernel(case.layout, kernels.divisors(case.shape))
    # The contiguous extents of A, B and C.
    contiguous = case.layout[0] == "N", case.layout[1] == "T"
    m, n, k = kernels.divisors(case.shape)
    known = (k if contiguous[0] else m, k if contiguous[1] else n, n)
    for config in kernels.gemm_configs(case.shape, case.dtype):
        text = kernel.mlir("sm_90a", **kernels.gemm_bindings(case.dtype, config))
        assert text.count("tile.divisible") == sum(divisor > 1 for divisor in known)


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("dtype", ["f16", "e4m3"])
def test_ping_pong_configurations_compile(dtype):
    """They compile to two verified roles without spills or warnings."""
    shape = (8192, 8192, 8192)
    configs = [c for c in kernels.gemm_configs(shape, dtype) if c.ping_pong]
    assert configs
    for config in configs:
        kernel = kernels.compile_gemm("sm_90a", shape, dtype, "NT", config)
        assert kernel.mlir("barriers").count("tile.role @math") == 2
        # Neighbours share the tiles of one operand; remarks name the other operand's.
        alone = [text for text in kernel.messages if "tile-cluster-" not in text]
        assert alone == []
        assert kernel.resources["warnings"] == []
        assert kernel.resources["spill_stores"] == 0, config.label


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("config", attention_kernels.CONFIGS, ids=lambda c: c.label)
def test_attention_configurations_compile(config, causal):
    """They compile to verified schedules without spills or warnings."""
    kernel = attention_kernels.compile_attention("sm_90a", "bf16", causal, config)
    assert kernel.messages == []
    assert kernel.resources["warnings"] == []
    assert kernel.resources["spill_stores"] == 0


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("case", cases.sparse_cases(False), ids=lambda case: case.title)
def test_sparse_configurations_compile(case):
    """They compile to wgmma without spills or warnings."""
    assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case
    for config in sparse_kernels.configs(case.shape, case.layout):
        kernel = sparse_kernels.compile_sparse(
            "sm_90a", case.layout, case.dtype, config
        )
        sparse = ".sp" if case.layout == "2:4" else ""
        assert f"wgmma.mma_async{sparse}.sync" in kernel.ptx
        assert f"wgmma.wait_group.sync.aligned {int(not sparse)};" in kernel.ptx
        assert kernel.resources["warnings"] == []
        assert kernel.resources["spill_stores"] == 0, config.label


@pytest.mark.parametrize("blocks", [0, 2])
def test_structured_kernel_multiplies(blocks):
    random = np.random.default_rng(0)
    a = random.integers(-2, 3, (192, 128)).astype(np.float16)
    pairs = random.choice(np.array(data.PAIRS), (192, 64))
    b = random.integers(-2, 3, (96, 256)).astype(np.float16)
    c = np.full((192, 96), np.nan, np.float16)
    config = kernels.GemmConfig(64, 64, 128, 128, 2, blocks)
    compiled = sparse_kernels.compile_sparse("cpu", "2:4", "f16", config)
    compiled(a, data.pack(pairs, 16), b, c)
    np.testing.assert_array_equal(c, data.expand(a, pairs) @ b.T)


@pytest.mark.parametrize("tile", [(64, 64), (128, 128)])
def test_block_sparse_kernel_skips_blocks(tile):
    random = np.random.default_rng(0)
    a = random.integers(-2, 3, (256, 96)).astype(np.float16)
    b = random.integers(-2, 3, (96, 256)).astype(np.float16)
    mask = random.integers(0, 2, (2, 2, 3)).astype(bool)
    c = np.full((256, 256), np.nan, np.float16)
    config = kernels.GemmConfig(*tile, 32, 128, 2)
    compiled = sparse_kernels.compile_sparse("cpu", "blocks", "f16", config)
    compiled(a, b, mask, c)
    counts = mask.repeat(128, 0).repeat(128, 1)
    steps = np.stack([a[:, k : k + 32] @ b[k : k + 32] for k in (0, 32, 64)], -1)
    np.testing.assert_array_equal(c, (steps * counts).sum(-1))


def test_compile_time_measures_every_stage():
    result = compile_time.measure("sm_80", repeats=2)
    groups = result["groups"]
    for name in ("trace", "tile passes", "conversion", "LLVM dialect", "LLVM"):
        assert groups[name] > 0, name
    assert result["bytes"] > 0


def test_stages_add_up_to_the_total():
    stages = {
        "tile-infer-layouts": 1.0,
        "convert-tile-to-nvvm": 2.0,
        "tile-expand-math": 3.0,
        "convert-tile-threads-to-llvm": 4.0,
        "cse": 5.0,
        "generate assembly": 6.0,
        "ptxas": 7.0,
    }
    assert compile_time.summarize(40.0, 10.0, stages) == {
        "trace": 10.0,
        "tile passes": 1.0,
        "conversion": 2.0,
        "LLVM dialect": 7.0,
        "clean-up": 5.0,
        "LLVM": 6.0,
        "ptxas / lld": 7.0,
        "other": 2.0,
        "all passes": 15.0,
        "total": 40.0,
    }


def test_unknown_group_is_refused():
    result = CliRunner().invoke(command.main, ["--only", "gemm,sofmax"])
    assert result.exit_code == 2
    assert (
        "'sofmax' is none of compile, gemm, sparse, attention, softmax" in result.output
    )
