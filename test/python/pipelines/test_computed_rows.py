"""Loops whose copies take rows at computed indices, with TMA copies beside or without.

Each form of a loop has the interpreter's results in all phases and timings, is proved,
and is pipelined unless the indices need what the loop computes otherwise.
"""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.simulating import PHASES, TIMINGS, run_passes
from support.verifying import verify
from tilews import sim

RNG = np.random.default_rng(3)
X = RNG.integers(-5, 6, (40, 32)).astype(np.float16)
W = RNG.integers(-4, 5, (40, 64)).astype(np.float16)
TABLE = RNG.integers(0, 30, 160).astype(np.int32)


@tilews.func
def guarded(X, S, Ids, t, b, seen):
    if t % 2 == 0:
        tl.copy(X[tl.arange(16) * 2 + t, 0:32], S)
        seen += tl.load(S).to(tl.f32)
    return seen


@tilews.func
def looked_up(X, S, Ids, t, b, seen):
    tl.copy(X[tl.load(b) + tl.arange(16), 0:32], S)
    return tl.load(S).to(tl.f32)


@tilews.func
def in_parts(X, S, Ids, t, b, seen):
    tl.store(tl.arange(8) + t, Ids[0:8])
    tl.store(tl.arange(8) * 3 + t, Ids[8:16])
    tl.copy(X[Ids, 0:32], S)
    return tl.load(S).to(tl.f32)


@tilews.func
def kept(X, S, Ids, t, b, seen):
    if t == 0:
        tl.store(tl.arange(16), Ids)
    tl.copy(X[Ids, 0:32], S)
    return tl.load(S).to(tl.f32)


@tilews.func
def read_by_others(X, S, Ids, t, b, seen):
    tl.store(tl.arange(16) * 2 + t, Ids)
    tl.copy(X[Ids, 0:32], S)
    return tl.load(S).to(tl.f32) + tl.load(Ids).to(tl.f32)[:, None]


@tilews.func
def updated(X, S, Ids, t, b, seen):
    if t == 0:
        tl.store(tl.arange(16), Ids)
    tl.copy(X[Ids, 0:32], S)
    x = tl.load(S).to(tl.f32)
    tl.store(tl.load(Ids) + 1, Ids)
    return x


@tilews.func
def dependent(X, S, Ids, t, b, seen):
    ids = tl.max(seen, axis=1).to(tl.i32) % 7
    tl.copy(X[ids, 0:32], S)
    return tl.load(S).to(tl.f32)


@tilews.kernel(threads=128)
def loop(
    X: tl.Tensor["R, 32", tl.f16],
    W: tl.Tensor["40, 64", tl.f16],
    Table: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["N, 32", tl.f32],
    STEP: tl.constexpr,
    TMA: tl.constexpr,
):
    m = tl.grid(2)
    S = tl.alloc_shared((16, 32), tl.f16)
    Ws = tl.alloc_shared((16, 64), tl.f16)
    Ids = tl.alloc_shared((16,), tl.i32)
    seen = tl.zeros((16, 32), tl.f32)
    for t in tl.range(tl.cdiv(Table.shape[0], 32), num_stages=3):
        b = (t * 2 + m) * 16
        seen = STEP(X, S, Ids, t, Table[b], seen)
        y = seen
        if TMA:
            tl.copy(W[t * 2, 0], Ws)
            y += tl.load(Ws[:, 0:32]).to(tl.f32)
        Y[b, 0] = y


@pytest.mark.parametrize("tma", [False, True])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "step",
    [guarded, looked_up, in_parts, kept, read_by_others, updated, dependent],
    ids=lambda step: step.__name__,
)
def test_forms_of_loops(step, target, tma):
    constants = {"STEP": step, "TMA": tma}
    expected = np.zeros((160, 32), np.float32)
    loop(X, W, TABLE, expected, **constants)
    for form, passes in PHASES.items():
        module = run_passes(loop.build(target, **constants), passes)
        verify(module, form)
        for timing in TIMINGS:
            y = np.zeros_like(expected)
            sim.run(module, None, [X, W, TABLE, y], **timing)
            np.testing.assert_array_equal(y, expected)
    compiled = loop.compile(target, **constants)
    declined = any("tile-pipe-0003" in text for text in compiled.messages)
    assert declined == (step in (read_by_others, updated, dependent))
    in_roles = tma and target == "sm_90a"
    assert ("tile.role @load" in compiled.mlir("barriers")) == in_roles
