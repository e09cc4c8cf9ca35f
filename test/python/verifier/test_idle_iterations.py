"""Proofs of roles of which one has iterations that the other does not take part in."""

import pytest

import tilews
from support.verifying import FIRST, build_roles, verify_steps
from tilews import passes

NATURAL = "assert n >= 0 and m >= 0"


def loop(bounds, *body):
    """A loop over k; STEP is a transaction."""
    return f"for k in tl.range({bounds}):\n    " + "\n    ".join(body or ("STEP",))


def guarded(bounds, guard):
    return loop(bounds, f"if {guard}:", "    STEP")


def rows(*inner):
    """A loop over i around statements."""
    return "for i in tl.range(m):\n    " + "\n    ".join(inner)


#: The premise, the consumer's loops, and the producer's.
RIGHT = {
    "until the least": (NATURAL, loop("tl.minimum(n, m)"), guarded("m", "k < n")),
    "from a lower bound": (NATURAL, loop("m, n"), guarded("n", "k >= m")),
    "a lower bound of the consumer": (NATURAL, guarded("n", "k > m"), loop("m + 1, n")),
    "as many as from a lower bound": (NATURAL, loop("n - m"), guarded("n", "k >= m")),
    "causal": (NATURAL, loop("tl.minimum(n, t + 1)"), guarded("n", "k <= t")),
    "a window": (
        NATURAL,
        loop("tl.maximum(t - m, 0), tl.minimum(t + 1, n)"),
        guarded("n", "k >= t - m and k <= t"),
    ),
    "not the last": (NATURAL, guarded("n", "k < n - 1"), loop("n - 1")),
    "the last alone": (
        "assert n >= 1",
        loop("n"),
        "STEP\n" + loop("n - 1"),
    ),
    "three more": (
        f"{NATURAL} and n - m == 3",
        loop("n"),
        loop("m") + "\nSTEP\nSTEP\nSTEP",
    ),
    "a triangle": (
        NATURAL,
        rows("for k in tl.range(i + 1):", "    STEP"),
        rows("for k in tl.range(0, i):", "    STEP", "STEP"),
    ),
    "both skip the first": (
        "pass",
        loop(
            "0, n, 2",
            "if k >= m:",
            "    STEP",
            "if k + 1 < n and k + 1 >= m:",
            "    STEP",
        ),
        guarded("n", "k >= m"),
    ),
}
WRONG = {
    "until the least": (NATURAL, loop("tl.minimum(n, m)"), guarded("m", "k <= n")),
    "from a lower bound": (NATURAL, loop("m, n"), guarded("n", "k > m")),
    "a lower bound of the consumer": (NATURAL, guarded("n", "k > m"), loop("m, n")),
    "as many as from a lower bound": (NATURAL, loop("n - m"), guarded("n", "k >= 0")),
    "causal": (NATURAL, loop("tl.minimum(n, t)"), guarded("n", "k <= t")),
    "a window": (
        NATURAL,
        loop("tl.maximum(t - m, 0), tl.minimum(t + 1, n)"),
        guarded("n", "k > t - m and k <= t"),
    ),
    "not the last": (NATURAL, guarded("n", "k < n - 1"), loop("n - 2")),
    "the last alone": (
        NATURAL,
        loop("n"),
        "STEP\n" + loop("n - 1"),
    ),
    "three more": (
        f"{NATURAL} and n - m == 2",
        loop("n"),
        loop("m") + "\nSTEP\nSTEP\nSTEP",
    ),
    "a triangle": (
        NATURAL,
        rows("for k in tl.range(i + 1):", "    STEP"),
        rows("for k in tl.range(0, i):", "    STEP"),
    ),
    "both skip the first": (
        "pass",
        loop(
            "0, n, 2",
            "if k >= m:",
            "    STEP",
            "if k + 1 < n and k >= m:",
            "    STEP",
        ),
        guarded("n", "k >= m"),
    ),
}


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_right_schedules_are_proved(parts, tmp_path):
    module = build_roles(tmp_path / "kernel.py", *parts)
    remarks = passes.verify_schedule(module, report=True)
    assert any("tile-verify-0002" in remark for remark in remarks), remarks
    assert verify_steps(module, "tilews-to-nvvm{chip=sm_90a}", FIRST) >= 10


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_wrong_schedules_are_errors(parts, tmp_path):
    module = build_roles(tmp_path / "kernel.py", *parts)
    with pytest.raises(tilews.errors.CompileError, match="is wrong"):
        passes.verify_schedule(module, report=True)
