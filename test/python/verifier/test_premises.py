"""Proofs that use what the signature of a kernel and its assertions say."""

import pytest

import tilews
import tilews.language as tl
from tilews import passes

#: Two roles with loops of their own.
KERNEL = """
def kernel(
    A: tl.Tensor["{a}", tl.f32],
    B: tl.Tensor["{b}", tl.f32],
    C: tl.Tensor["16", tl.f32],
    n: tl.index,
    m: tl.index,
):
    tl.grid(1)
    {premise}
    As = tl.alloc_shared((16,), tl.f32, versions=2)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            acc = tl.zeros((16,), tl.f32)
            q = ch.cursor()
            for _k in tl.range({math}):
                ch.wait(q)
                acc = acc + tl.load(tl.slot(As, q))
                ch.release(q)
                q = ch.advance(q)
            C[0] = acc
        with tl.role("load", warps=1):
            p = ch.cursor()
            for k in tl.range({load}):
                ch.acquire(p)
                tl.copy(A[k * 16], tl.slot(As, p))
                ch.commit(p)
                p = ch.advance(p)
"""
TILES = {"math": "tl.cdiv(A.shape[0], 16)", "load": "tl.cdiv(B.shape[0], 16)"}
BOUNDS = {"math": "n", "load": "m"}
RIGHT = {
    "one extent": {"a": "K", "b": "K", **TILES},
    "equal arguments": {"premise": "assert n == m", **BOUNDS},
    "equal extents": {"premise": "assert A.shape[0] == B.shape[0]", **TILES},
    "whole tiles": {"a": "K:16", "math": TILES["math"], "load": "A.shape[0] // 16"},
    "asserted tiles": {
        "premise": "assert n % 16 == 0",
        "math": "tl.cdiv(n, 16)",
        "load": "n // 16",
    },
    "rounded up": {"math": "tl.cdiv(n, 16)", "load": "(n + 15) // 16"},
    "not negative": {"math": "n", "load": "tl.maximum(n, 0)"},
    "steps of a tile": {"math": "tl.cdiv(n, 16)", "load": "0, n, 16"},
}
WRONG = {
    "two extents": {"a": "K", "b": "L", **TILES},
    "no premise": BOUNDS,
    "another order": {"premise": "assert n <= m", **BOUNDS},
    "parts of tiles": {"a": "K:8", "math": TILES["math"], "load": "A.shape[0] // 16"},
    "another remainder": {
        "premise": "assert n % 16 == 1",
        "math": "tl.cdiv(n, 16)",
        "load": "n // 16",
    },
    "rounded down": {"math": "tl.cdiv(n, 16)", "load": "n // 16"},
    "at least one": {"math": "n", "load": "tl.maximum(n, 1)"},
}


def build(path, parts):
    text = KERNEL.format(**{"a": "K", "b": "L", "premise": "pass", **parts})
    path.write_text(text)
    names = {"tl": tl}
    exec(compile(text, path, "exec"), names)
    return tilews.kernel(names["kernel"]).build("sm_90a")


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_right_schedules_are_proved(parts, tmp_path):
    module = build(tmp_path / "kernel.py", parts)
    (remark,) = passes.verify_schedule(module, report=True)
    assert "tile-verify-0002" in remark
    # Nor is there a counterexample after any pass.
    passes.run(module, "tilews-to-nvvm{chip=sm_90a}")


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_wrong_schedules_are_errors(parts, tmp_path):
    module = build(tmp_path / "kernel.py", parts)
    with pytest.raises(tilews.errors.CompileError, match="is wrong"):
        passes.verify_schedule(module, report=True)
