"""Pipelined loops as machine code of AMD's chips, against the interpreter.

The main loop of a matmul loads early and stores late.
"""

import pathlib
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import pipelined_zoo
from tilews import compiler
from tilews.sim.amdgcn import POLICIES, launch

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_matches_interpreter(case, chip):
    found = case.arguments(np.random.default_rng(5))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in found]
    case.kernel(*expected, target="cpu", **case.constants)
    compiled = case.kernel.compile_for(*found, target=chip, **case.constants)
    spills = any("tile-pipe-0020" in message for message in compiled.messages)
    piped = case.piped > 0 and not spills
    assert ("tile.wait" in compiled.mlir("laid_out")) == piped
    assert compiled.resources["stack_bytes"] == 0
    assert not [m for m in compiled.messages if "tile-verify" in m]
    # Direct copies write shared memory at any time until they are waited for.
    for policy in POLICIES if chip == "gfx950" else ["random"]:
        arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in found]
        launch(compiled, arrays, policy=policy)
        for ours, wanted in zip(arrays, expected, strict=True):
            if isinstance(wanted, np.ndarray):
                np.testing.assert_allclose(ours, wanted, atol=case.tolerance)


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["N, K:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
):
    M, K = A.shape
    N = B.shape[0]
    bx, by = tl.grid(tl.cdiv(N, 128), tl.cdiv(M, 128))
    As = tl.alloc_shared((128, 64), tl.f16)
    Bs = tl.alloc_shared((128, 64), tl.f16)
    acc = tl.zeros((128, 128), tl.f32)
    for k in tl.range(tl.cdiv(K, 64), num_stages=2):
        tl.copy(A[by * 128, k * 64], As)
        tl.copy(B[bx * 128, k * 64], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
    C[by * 128, bx * 128] = acc


def read_main_loop(assembly):
    """The instructions of the loop with matrix instructions."""
    lines = [line.strip() for line in assembly.splitlines()]
    labels = {}
    for i, line in enumerate(lines):
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = i
        branch = re.match(r"s_cbranch_\w+ (\.LBB\w+)", line)
        if branch and branch[1] in labels:
            between = lines[labels[branch[1]] : i + 1]
            body = [text for text in between if re.match("[a-z]", text)]
            if any("mfma" in text for text in body):
                return body
    raise AssertionError("no loop has matrix instructions")


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_loop_waits_for_loads_after_the_matmuls(chip):
    compiled = gemm.compile(chip)
    body = read_main_loop(compiled.asm)
    places = {
        name: [i for i, text in enumerate(body) if re.match(pattern, text)]
        for name, pattern in {
            "load": "buffer_load",
            "matmul": "v_mfma",
            "wait": r"s_waitcnt .*vmcnt",
            "store": "ds_write",
            "branch": "s_c?branch",
            "scratch": "scratch_|v_accvgpr",
        }.items()
    }
    # No branch but the last one, one load for each 16 bytes, no spills.
    assert places["branch"] == [len(body) - 1]
    assert len(places["load"]) == 2 * 128 * 64 * 2 // (16 * 256)
    # The scheduler moves some loads and matmuls down, past a few matrix instructions.
    matmuls = places["matmul"]
    assert places["load"][0] < matmuls[0]
    assert places["load"][-1] < matmuls[len(matmuls) // 4]
    assert not places["scratch"]
    if chip == "gfx950":
        # Loads write shared memory, and are waited for an iteration later.
        assert len(places["wait"]) == 1 and not places["store"]
        assert places["wait"][0] < places["load"][0]
        return
    late = matmuls[len(matmuls) * 3 // 4 - 1]
    assert all(i > late for i in [*places["wait"], *places["store"]])


def by_loads(text):
    """Writes copies as loads and stores."""
    return re.sub(
        r"tile\.copy (.*) to %(\w+) : (.*) to memref<(\w+), #smem>",
        r"%\2.t = tile.load \1 : \3 -> tensor<\4>\n"
        r"tile.store %\2.t to %\2 : tensor<\4> to memref<\4, #smem>",
        text,
    )


@pytest.mark.parametrize(
    ("rows", "depth", "change"), [(176, 16, str), (176, 32, str), (192, 32, by_loads)]
)
def test_pipelines_are_dropped_if_they_cause_spills(tmp_path, rows, depth, change):
    root = pathlib.Path(__file__).parents[3]
    text = (root / "test/lit/Target/spilling-pipelines.mlir").read_text()
    text = re.sub(r"(?<![fi\d])32", f"{depth}", text.replace("160", f"{rows}"))
    path = tmp_path / "kernels.mlir"
    path.write_text(change(text))
    compiled = compiler.compile_file(path, "gfx1100", kernel="gemm")
    (dropped,) = (m for m in compiled.messages if "tile-pipe-0020: @gemm" in m)
    before = int(re.search(r"needs (\d+) bytes", dropped)[1])
    assert 4 * compiled.resources["stack_bytes"] < 3 * before
