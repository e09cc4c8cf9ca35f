"""Proofs of roles of which one has iterations that the other does not take part in."""

import pytest

import tilews
import tilews.language as tl
from support.verifying import check_right_roles, check_wrong_roles
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
    check_right_roles(tmp_path / "kernel.py", parts)


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_wrong_schedules_are_errors(parts, tmp_path):
    check_wrong_roles(tmp_path / "kernel.py", parts)


@tilews.kernel
def circular(
    A: tl.Tensor["K", tl.f32],
    C: tl.Tensor["16", tl.f32],
    n: tl.index,
    GUARD: tl.constexpr,
    REST: tl.constexpr,
):
    """Alone, the second channel is right if n iterations of @load go with n of @math,
    and the first one if 2 * n do."""
    tl.grid(1)
    assert n >= 1
    As = tl.alloc_shared((16,), tl.f32, versions=2)
    Bs = tl.alloc_shared((16,), tl.f32, versions=2)
    cha = tl.channel(As)
    chb = tl.channel(Bs)
    with tl.specialize():
        with tl.role("math", warps=4):
            acc = tl.zeros((16,), tl.f32)
            q = cha.cursor()
            p = chb.cursor()
            chb.acquire(p)
            tl.store(acc, tl.slot(Bs, p))
            chb.commit(p)
            p = chb.advance(p)
            for _ in tl.range(n):
                for _ in tl.static_range(2):
                    cha.wait(q)
                    acc = acc + tl.load(tl.slot(As, q))
                    cha.release(q)
                    q = cha.advance(q)
                chb.acquire(p)
                tl.store(acc, tl.slot(Bs, p))
                chb.commit(p)
                p = chb.advance(p)
            for _ in tl.range(n - 1 if REST else 0):
                chb.acquire(p)
                tl.store(acc, tl.slot(Bs, p))
                chb.commit(p)
                p = chb.advance(p)
            C[0] = acc
        with tl.role("load", warps=4):
            pa = cha.cursor()
            qb = chb.cursor()
            x = tl.zeros((16,), tl.f32)
            for k in tl.range(2 * n):
                if GUARD(k, n):
                    chb.wait(qb)
                    x = x + tl.load(tl.slot(Bs, qb))
                    chb.release(qb)
                    qb = chb.advance(qb)
                cha.acquire(pa)
                tl.store(x, tl.slot(As, pa))
                cha.commit(pa)
                pa = cha.advance(pa)


@pytest.mark.parametrize(
    ("guard", "rest"), [(lambda k, n: k <= n, False), (lambda k, n: k >= 0, True)]
)
def test_channels_are_proved_for_one_order_of_iterations(guard, rest):
    """Iteration 1 of @load waits for @math's iteration 0, which waits for it."""
    module = circular.build("sm_90a", GUARD=guard, REST=rest)
    with pytest.raises(tilews.errors.CompileError, match="waits forever"):
        passes.verify_schedule(module, report=True)
