"""Proofs that take comparisons of guards for predicates."""

import itertools

import pytest

import tilews
import tilews.language as tl
from benchmarks.verdicts import timed
from support.verifying import check_right_roles, check_wrong_roles
from tilews import passes

KERNEL = """
def kernel(
    A: tl.Tensor["M, K:32", tl.f16],
    mask: tl.Tensor["L", tl.i1],
    C: tl.Tensor["M, 32:32", tl.f32],
    n: tl.index,
    m: tl.index,
    s: tl.index,
):
    t = tl.grid(8)
    As = tl.alloc_shared((32, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range({bounds}, num_stages={stages}):
        if {guard}:
            tl.copy(A[t * 32, k * 32], As)
            acc = acc + tl.load(As).to(tl.f32)
    C[t * 32, 0] = acc
"""
#: From any start by any step: later iterations share predicates with earlier ones.
MANY = {
    "a remainder": "tl.load(mask[k]) and k % 2 == 1 and k < m",
    "not the first": "tl.load(mask[k]) and k != t and k > m",
}
BOUNDS = {"argument": "0, n", "any start": "t, n", "any step": "0, n, s"}
GUARDS = {
    "blocks of four": "(k // 4) % 2 == 0",
    "blocks of three": "(k // 3) % 2 == 1",
    "largest": "tl.maximum(k, m) < s",
    "distance": "tl.maximum(k, t) - tl.minimum(k, t) < m",
    "scaled": "k * t < m",
    "scaled and a bound": "k * m < n",
    "mask and scaled": "tl.load(mask[k]) and k * t < m",
    "mask or not one": "tl.load(mask[k]) or k != 2",
    "several": "k < n - 2 and k > 1 and k % 2 == 0",
}


def count_states(path, chip="sm_80", **parts):
    """The most states of a proof after a pass; fails if there is no proof."""
    path.write_text(KERNEL.format(**parts))
    names = {"tl": tl}
    exec(compile(path.read_text(), path, "exec"), names)
    module = tilews.kernel(threads=128)(names["kernel"]).build(chip)
    counts = []
    for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
        flag = step.partition("{")[0]
        if flag.startswith("convert-tile-to-"):
            break
        if flag == "tile-verify-schedule":
            verdict, states = timed.judge(module)
            assert verdict == "proved"
            counts.append(states)
        else:
            passes.run(module, step)
    return max(counts)


@pytest.mark.parametrize(
    "bounds, guard",
    list(itertools.product(BOUNDS.items(), GUARDS.items())),
    ids=lambda named: named[0],
)
def test_guards_of_any_numbers(bounds, guard, tmp_path):
    for stages in (3, 5):
        parts = {"bounds": bounds[1], "guard": guard[1], "stages": stages}
        assert count_states(tmp_path / f"{stages}.py", **parts) < 9000


@pytest.mark.parametrize("guard", ["blocks of four", "largest", "scaled"])
def test_guards_of_many_stages(guard, tmp_path):
    # As numbers these take 70 to 120 thousand states, or more than the budget.
    parts = {"bounds": BOUNDS["any step"], "guard": GUARDS[guard], "stages": 8}
    assert count_states(tmp_path / "kernel.py", **parts) < 15000


@pytest.mark.parametrize("guard", MANY.values(), ids=MANY)
def test_guards_from_any_start_by_any_step(guard, tmp_path):
    # The first took 18849 states, the second was given up after 60 million steps.
    parts = {"bounds": "t, n, s", "guard": guard, "stages": 8}
    assert count_states(tmp_path / "kernel.py", **parts) < 6000


EACH = """
for k in tl.range(0, n, m):
    if {}:
        STEP
"""
AHEAD = """
if 0 < n and {}:
    STEP
for k in tl.range(0, n, m):
    if k + m < n and {}:
        STEP
"""


def ahead(guard):
    """Loops that are one iteration ahead."""
    return AHEAD.format(guard.format(k="0"), guard.format(k="(k + m)"))


BLOCKS = "({k} // 4) % 2 == 0"
CHOSEN = "tl.maximum({k}, first) * first < 4"
RIGHT = {
    "blocks": ("assert m > 0", EACH.format(BLOCKS.format(k="k")), ahead(BLOCKS)),
    "scaled": ("assert m > 0", EACH.format(CHOSEN.format(k="k")), ahead(CHOSEN)),
    "in parts": (
        "assert m > 0",
        EACH.format("k * first < 9 and tl.load(mask[k])"),
        EACH.format("tl.load(mask[k]) and first * k < 9"),
    ),
}
WRONG = {
    "other blocks": (
        "assert m > 0",
        EACH.format(BLOCKS.format(k="k")),
        ahead(BLOCKS.replace("== 0", "== 1")),
    ),
    "another limit": (
        "assert m > 0",
        EACH.format(CHOSEN.format(k="k")),
        ahead(CHOSEN.replace("< 4", "< 5")),
    ),
    "of the iteration before": (
        "assert m > 0",
        EACH.format(BLOCKS.format(k="k")),
        ahead(BLOCKS).replace("(k + m) //", "k //"),
    ),
    "one part": (
        "assert m > 0",
        EACH.format("k * first < 9 and tl.load(mask[k])"),
        EACH.format("tl.load(mask[k])"),
    ),
}


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_right_roles(parts, tmp_path):
    check_right_roles(tmp_path / "kernel.py", parts)


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_wrong_roles(parts, tmp_path):
    check_wrong_roles(tmp_path / "kernel.py", parts)
