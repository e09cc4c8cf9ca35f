"""Python's control flow in kernels, run by the interpreter against Python itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilews
import tilews.language as tl
import tilews.sim


def run(kernel, *args, n_out=1, dtype=np.int64, **options):
    """Runs a kernel; returns the contents of its first argument."""
    out = np.full(n_out, -1, dtype)
    kernel(out, *args, **options)
    return out.tolist() if n_out > 1 else out[0]


@tilews.kernel
def collatz(out: tl.Tensor["R", tl.i64], n: tl.i64):
    x, steps = n, 0
    while x != 1 and steps < 50:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    out[0] = steps


def collatz_python(x):
    steps = 0
    while x != 1 and steps < 50:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 1000))
def test_while_with_a_conditional(n):
    assert run(collatz, n) == collatz_python(n)


@tilews.kernel
def divide(out: tl.Tensor["R", tl.i64], a: tl.i64, b: tl.i64):
    out[0] = a // b
    out[1] = a % b
    out[2] = tl.cdiv(a, b)
    out[3] = -a
    out[4] = ~a
    out[5] = (a & b) | (a ^ 5)
    out[6] = a >> 2
    out[7] = a << 2


@settings(max_examples=20, deadline=None)
@given(st.integers(-99, 99), st.integers(-9, 9).filter(bool))
def test_integer_operators_are_pythons(a, b):
    expected = [a // b, a % b, -(-a // b), -a, ~a, (a & b) | (a ^ 5), a >> 2, a << 2]
    assert run(divide, a, b, n_out=8) == expected


@tilews.kernel
def triangle(out: tl.Tensor["R", tl.i64], n: tl.i32, m: tl.i32):
    total, last = 0, -1
    for i in range(n):
        for j in tl.range(i, m, 2):
            if j == 7:
                total += 100
            total += j
            last = i
    out[0] = total
    out[1] = last


def triangle_python(n, m):
    total, last = 0, -1
    for i in range(n):
        for j in range(i, m, 2):
            total += 100 * (j == 7) + j
            last = i
    return [total, last]


@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0), (3, 9), (9, 8), (1, 1)])
def test_nested_loops_carry_through_both_levels(n, m):
    assert run(triangle, n, m, n_out=2) == triangle_python(n, m)


@tilews.kernel
def early(out: tl.Tensor["R", tl.i64], n: tl.i32):
    if n < 0:
        out[0] = 1
        return
    if n == 0:
        if out.shape[0] > 1:
            out[0] = 2
            return
        out[0] = 3
    else:
        out[0] = 4
        if n > 10:
            return
        out[0] = 5
    out[0] = tl.load(out[0]) * 10


@pytest.mark.parametrize(("n", "expected"), [(-1, 1), (0, 30), (5, 50), (11, 4)])
def test_early_returns(n, expected):
    assert run(early, n) == expected


@tilews.func
def classify(x, small=1):
    if x < 10:
        return small
    elif x < 100:
        return small * 2
    return small * 3


@tilews.kernel
def use_returns(out: tl.Tensor["R", tl.i64], n: tl.i64):
    out[0] = classify(n)
    out[1] = classify(n, small=n)


@pytest.mark.parametrize("n", [3, 50, 500])
def test_returned_values_are_merged(n):
    rank = 1 if n < 10 else 2 if n < 100 else 3
    assert run(use_returns, n, n_out=2) == [rank, n * rank]


@tilews.kernel
def short_circuit(out: tl.Tensor["R", tl.i64], n: tl.i32, d: tl.i64):
    # The division must not run where d is zero.
    if d != 0 and 100 // d > 5:
        out[0] = 1
    else:
        out[0] = 0
    out[1] = 100 // d if d != 0 else -7
    out[2] = 1 if d == 0 or 100 % d == 0 else 0
    out[3] = 1 if not (n > 2) else 2
    out[4] = 1 if 0 <= n < 5 else 2


@pytest.mark.parametrize("n", [-1, 0, 3, 5])
@pytest.mark.parametrize("d", [0, 10, 30])
def test_conditions_compute_what_they_need(n, d):
    expected = [
        int(d != 0 and 100 // d > 5),
        100 // d if d else -7,
        int(d == 0 or 100 % d == 0),
        2 if n > 2 else 1,
        1 if 0 <= n < 5 else 2,
    ]
    assert run(short_circuit, n, d, n_out=5) == expected


@tilews.kernel
def swap(out: tl.Tensor["R", tl.i64], n: tl.i32):
    a, b = (0, 1), 1
    for _ in range(n):
        a, b = (a[1], b), b + a[0]
    out[0] = a[0]
    out[1] = a[1]
    out[2] = b


def test_tuples_are_carried():
    a, b = (0, 1), 1
    for _ in range(7):
        a, b = (a[1], b), b + a[0]
    assert run(swap, 7, n_out=3) == [*a, b]


@tilews.kernel
def adapts(out: tl.Tensor["R", tl.f64], x: tl.f64, n: tl.i32):
    best, first = 0, True
    for i in range(n):
        y = x * i.to(tl.f64)
        if first or y > best:
            best = y
        first = i < 0
    out[0] = best


@tilews.kernel
def adapts_in_branches(out: tl.Tensor["R", tl.f64], x: tl.f64, n: tl.i32):
    best = 0
    for i in range(n):
        y = x * i.to(tl.f64) if i != 2 else best
        if y > best and i < 9:
            best = y
    out[0] = best


def test_a_number_in_one_branch_takes_the_type_of_the_other():
    assert run(adapts_in_branches, 1.5, 3, dtype=np.float64) == 1.5


def test_a_number_takes_the_type_the_body_gives_it():
    assert run(adapts, 1.5, 4, dtype=np.float64) == 4.5
    text = adapts.mlir()
    assert "-> (f64, i1)" in text


@tilews.kernel
def unrolled(out: tl.Tensor["R", tl.i64], n: tl.i64, K: tl.constexpr = 4):
    total = 0
    for i in tl.static_range(K):
        if i == 1:
            continue
        if i == 3:
            break
        total += i * n
    for name, weight in (("a", 1), ("b", 10)):
        total = total + weight if name == "b" else total
    out[0] = total + sum([c * n for c in range(3) if c != 1])


def test_unrolled_loops_break_and_continue():
    assert run(unrolled, 7) == 2 * 7 + 10 + 2 * 7
    assert "scf" not in unrolled.mlir()
    assert run(unrolled, 7, K=1) == 10 + 2 * 7


OFFSET = 5


def plain_helper(x, scale):
    def shifted(y):
        return y + OFFSET

    return shifted(x) * scale


@tilews.kernel
def closures(out: tl.Tensor["R", tl.i64], n: tl.i64):
    twice = lambda v: v * 2  # noqa: E731
    extra = 3

    def add(v):
        return v + extra

    extra = 4
    out[0] = plain_helper(n, 2)
    out[1] = add(twice(n))
    out[2] = max(n, 3, 8) - min(n, 1) + abs(-n)


def test_helpers_and_closures_are_inlined():
    assert run(closures, 6, n_out=3) == [22, 16, 8 - 1 + 6]


def test_a_changed_global_builds_the_kernel_again(monkeypatch):
    assert run(closures, 6, n_out=3)[0] == 22
    monkeypatch.setattr(f"{__name__}.OFFSET", 6)
    assert run(closures, 6, n_out=3)[0] == 24


@tilews.kernel
def tiles(out: tl.Tensor["P, Q", tl.i32], nx: tl.i32, ny: tl.i32):
    tl.grid(3)
    count = 0
    for x, y in tl.persistent(nx, ny):
        count += 1
        out[y, x] = (tl.block_id() * 10 + count).to(tl.i32)


def test_persistent_loops_share_the_tiles_and_carry():
    out = np.zeros((2, 4), np.int32)
    tiles(out, 4, 2)
    assert out.tolist() == [[1, 11, 21, 2], [12, 22, 3, 13]]


@tilews.kernel
def where_it_stops(out: tl.Tensor["R", tl.i64], n: tl.i64):
    assert n < 5, "n is small"
    out[0] = n


def test_assertions_run_in_the_kernel():
    assert run(where_it_stops, 4) == 4
    with pytest.raises(tilews.sim.SimulationError, match="n is small"):
        run(where_it_stops, 5)


def test_starred_targets():
    @tilews.kernel
    def kernel(X: tl.Tensor["2, 3, 4", tl.f32], Y: tl.Tensor["6", tl.i32]):
        *outer, last = X.shape
        first, *inner = X.shape
        a, *none, b, c = X.shape
        (d, *_), *rest = [(7, 8, 9), 10]
        assert none == [] and (a, b, c) == (2, 3, 4)
        for place, number in enumerate([*outer, last, first, *inner, d, *rest][:6]):
            tl.store(tl.i32(number), Y[place])
        assert (d, rest) == (7, [10])

    y = np.zeros(6, np.int32)
    kernel(np.zeros((2, 3, 4), np.float32), y)
    assert y.tolist() == [2, 3, 4, 2, 3, 4]


def test_starred_targets_that_do_not_fit():
    @tilews.kernel
    def kernel(X: tl.Tensor["2, 3", tl.f32]):
        a, b, *c, d = X.shape
        return a + b + c + d

    with pytest.raises(tilews.KernelError, match="cannot unpack 2 values into 4 names"):
        kernel.build()
