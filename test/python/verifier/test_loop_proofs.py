"""Proofs of loops with bounds, steps and guards that users write."""

import itertools
import re

import pytest

import tilews
import tilews.language as tl
from support.verifying import verify_steps

BOUNDS = {
    "argument": "0, n",
    "from a tile on": "t, n",
    "of a tile": "0, tl.load(rows[t])",
    "compressed": "tl.load(rows[t]), tl.load(rows[t + 1])",
    "causal": "0, tl.minimum(n, t + 1)",
    "steps": "1, n, 3",
    "4 iterations": "0, 4",
    "40 iterations": "0, 40",
    "1000 iterations": "7, 1007",
    "constant steps": "-5, 1000, 64",
}
GUARDS = {
    "none": "True",
    "mask": "tl.load(mask[k])",
    "mask of tiles": "tl.load(table[t, k])",
    "rows of a mask": "tl.load(mask[t * 64 + k])",
    "rows of any length": "tl.load(mask[t * n + k])",
    "columns of a mask": "tl.load(mask[k * 8 + t])",
    "columns of any number": "tl.load(mask[k * n + t])",
    "index": "tl.load(rows[k]) >= 0",
    "first": "k > 0",
    "last": "k < n - 1",
    "all but one": "k != 500",
    "diagonal": "k <= t",
    "remainder": "k % 4 != 3",
    "either": "tl.load(mask[k]) or k == t",
    "both": "tl.load(table[t, k]) and k % 2 == 1",
}
#: Guards on the first loop of BOUNDS that are of interest there only.
FURTHER_GUARDS = {
    "odd from the end": "(n - 1 - k) % 2 == 1",
    "thirds from the end": "(n - 1 - k) % 3 != 0",
    "mask from the end": "tl.load(mask[n - 1 - k])",
    "halves": "k // 2 != 3",
    "last thirds": "(n - 1 - k) % 3 == 0",
    "halves from the end": "(n - 1 - k) // 2 > 0",
    "a quarter from the end": "(n - 1 - k) // 4 != 1",
    "halves from the end and tile": "(n - k) // 2 > t",
    "mask of halves from the end": "tl.load(mask[(n - 1 - k) // 2])",
    "strided": "(k - t) % 4 == 0",
    "checkerboard": "(k + t) % 2 == 0",
    "band": "k >= t - 2 and k <= t + 2",
    "band of tiles": "k * 32 >= t * 64 - 64 and k * 32 < t * 64 + 64",
}
#: A loop in the body of a kernel, or of a loop over tiles.
KERNEL = """
def kernel(
    A: tl.Tensor["M, K:32", tl.f16],
    mask: tl.Tensor["L", tl.i1],
    table: tl.Tensor["T, L", tl.i1],
    rows: tl.Tensor["R", tl.i32],
    C: tl.Tensor["M, 32:32", tl.f32],
    n: tl.index,
    s: tl.index,
):
    {tiles}
        As = tl.alloc_shared((32, 32), tl.f16)
        acc = tl.zeros((32, 32), tl.f32)
        for k in tl.range({bounds}, num_stages={stages}):
            if {guard}:
                tl.copy(A[t * 32, k * 32], As)
                acc = acc + tl.load(As).to(tl.f32)
        C[t * 32, 0] = acc
"""
TILES = {
    "block": "t = tl.grid(8)\n    if True:",
    "tiles": "tl.grid(4)\n    for t in tl.persistent(n):",
}


def build(path, target, **parts):
    """Builds the kernel of these parts, whose source is written to `path`."""
    path.write_text(KERNEL.format(**parts))
    names = {"tl": tl}
    exec(compile(path.read_text(), path, "exec"), names)
    return tilews.kernel(threads=128)(names["kernel"]).build(target)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "bounds, guard",
    [
        *itertools.product(BOUNDS.items(), GUARDS.items()),
        *itertools.product([("argument", "0, n")], FURTHER_GUARDS.items()),
        (("any step", "0, n, s"), ("none", "True")),
        (("any start and step", "t, n, s"), ("mask", "tl.load(mask[k])")),
        # A convolution, whose proof takes tenths of a second.
        (("taps", "9"), ("inside", "t + k // 3 > 0 and t + k // 3 - 1 < n")),
    ],
    ids=lambda named: named[0],
)
def test_loops(target, bounds, guard, tmp_path):
    for (kind, tiles), stages in itertools.product(TILES.items(), (2, 4)):
        module = build(
            tmp_path / f"{kind}{stages}.py",
            target,
            bounds=bounds[1],
            guard=guard[1],
            tiles=tiles,
            stages=stages,
        )
        pipeline = f"tilews-to-nvvm{{chip={target}}}"
        verify_steps(module, pipeline)
        # The kernel had a pipeline to prove.
        assert re.search(r"tile\.(mbarrier|copy_group_wait)\b", str(module))
