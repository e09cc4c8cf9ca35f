"""Calls that C++ does by a plan start what Python's own way starts."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from benchmarks.host_time.fake_device import ExchangedTensor
from runtime import hot_kernels
from runtime.hot_kernels import make, make_matmul, same_call, tensors
from runtime.recorded_launches import recorded
from tilews.errors import CompileError
from tilews.runtime import LaunchError


@pytest.fixture
def driver():
    with recorded() as driver:
        yield driver


# --- launches ------------------------------------------------------------------


@pytest.mark.parametrize("has_bias", [False, True])
def test_all_parameters_are_those_of_python(driver, has_bias):
    kernel = make()
    bias = ExchangedTensor((64,)) if has_bias else None
    kernel(*tensors(), bias, 1.5, 8)
    assert not driver.native
    for factor in (-2.5, 0.0, float("inf"), float("-inf"), 1e-45, 3.4e38, 0.1):
        for rows in (1, 2, 7, 1000, 2**29):
            x, y = tensors()
            if has_bias:
                bias.address += 1 << 20
            launch = same_call(driver, kernel, x, y, bias, factor, rows)
            assert launch.grid[0] == -(-rows * 3 // 2) - -(-rows // 2)
            assert x.address.to_bytes(8, "little") in launch.parameters
            assert np.float32(factor).tobytes() in launch.parameters
    assert kernel._num_plans == 1


def test_integers_and_truth_values_as_numbers(driver):
    @tilews.kernel
    def fill(
        X: tl.Tensor["64", tl.f32],
        a: tl.i8,
        b: tl.u8,
        c: tl.i64,
        d: tl.u64,
        e: tl.f64,
        f: tl.i1,
        g: tl.f16,
        h: tl.bf16,
    ):
        tl.grid(1)
        total = a.to(tl.f32) + b.to(tl.f32) + c.to(tl.f32) + d.to(tl.f32)
        total += e.to(tl.f32) + f.to(tl.f32) + g.to(tl.f32) + h.to(tl.f32)
        X[0] = tl.load(X) * total

    x = ExchangedTensor((64,))
    first = (0, 0, 0, 0, 0.0, 0, 0.0, 0.0)
    fill(x, *first)
    fits = [
        (-128, 255, -(2**63), 2**63 - 1, 1e300, 1, 65504.0, 1.0),
        (127, 1, 2**63 - 1, 0, -0.0, 0, 1e-7, -3e38),
    ]
    for numbers in fits:
        same_call(driver, fill, x, *numbers)
    fill(x, True, 1, 1, 1, 7, True, 5, 6)  # Other types have a plan of their own.
    same_call(driver, fill, x, False, 1, 1, 1, 2**60 + 1, False, 2, 3)
    count = len(driver.launches)
    wrong = ((0, 128), (0, -129), (1, 256), (1, -1), (2, 2**63), (3, -1), (3, 2**64))
    for place, number in (*wrong, (5, 2), (5, -1), (6, 1e6), (7, 4e38)):
        numbers = [*first]
        numbers[place] = number
        with pytest.raises(LaunchError, match=f"'{'abcdefgh'[place]}'.*found"):
            fill(x, *numbers)
    assert len(driver.launches) == count
    native = len(driver.native)
    fill(x, 0, 0, 0, 2**64 - 1, 0.0, 0, 0.0, 0.0)  # Python's own way holds it.
    assert len(driver.native) == native
    assert driver.launches[-1].parameters[4] == b"\xff" * 8


def test_tensor_maps_follow_addresses(driver):
    kernel = make_matmul()
    for _ in range(2):
        kernel(*tensors(3, (128, 128), dtype="float16"))
    ((*_, last),) = driver.sizes.values()
    assert last == 128
    seen = [tensors(3, (128, 128), dtype="float16") for _ in range(20)]
    for arrays in (*seen, *seen):
        same_call(driver, kernel, *arrays)
    count = driver.encoded
    same_call(driver, kernel, *seen[-1])
    assert driver.encoded == count
    with pytest.raises(LaunchError, match="aligned"):
        kernel(ExchangedTensor((128, 128), "float16", address=8 + 2**40), *seen[0][1:])
    driver.statuses["encode"] = 1
    native = len(driver.native)
    kernel(*tensors(3, (128, 128), dtype="float16"))
    assert len(driver.native) == native  # Python's driver takes them.


def test_empty_operands_of_tensor_maps(driver):
    kernel = make_matmul()
    a, b = (ExchangedTensor((64, 0), "float16", address=0) for _ in range(2))
    c = ExchangedTensor((64, 64), "float16")
    kernel(a, b, c)
    same_call(driver, kernel, a, b, c)


def test_clusters(driver):
    kernel = make_matmul((2, 1, 1))
    arrays = tensors(3, (128, 128), dtype="float16")
    kernel(*arrays)
    assert same_call(driver, kernel, *arrays).cluster == (2, 1, 1)


def test_nothing_starts_without_blocks(driver):
    kernel = make()
    kernel(*tensors(), None, 1.5, 8)
    kernel(*tensors(), None, 1.5, 0)
    assert len(driver.launches) == 1
    with pytest.raises(LaunchError, match="grid"):
        kernel(*tensors(), None, 1.5, -5)


# --- what a plan depends on ----------------------------------------------------


def test_forms_of_one_call(driver):
    kernel = make()
    x, y = tensors()
    calls = [
        ((x, y, None, 1.5, 8), {}),
        ((x, y, None, 1.5, 8, 64), {}),
        ((x, y, None), {"factor": 1.5, "rows": 8}),
        ((x, y, None), {"rows": 8, "factor": 1.5}),
        ((x,), {"Y": y, "Bias": None, "rows": 8, "factor": 1.5, "B": 64}),
        ((x, y, None, 1.5, 8), {"stream": 77, "threads": None, "target": None}),
    ]
    for args, options in calls:
        kernel(*args, **options)
        launch = same_call(driver, kernel, *args, **options)
        assert launch.stream == options.get("stream", 0)
        assert launch.parameters == driver.launches[0].parameters
    assert kernel._num_plans == len(calls)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (8, 80)},
        {"shape": (9, 64)},
        {"dtype": "float16"},
        {"strides": (128, 1), "wrong": "strides"},
        {"device": 1},
        {"bias": True},
        {"options": {"B": 32}},
        {"options": {"threads": 64}},
        {"options": {"target": "sm_80"}},
        {"options": {"grid": (3,)}, "is_cold": True},
        {"options": {"N": 64}, "is_cold": True},
        {"factor": 2},
    ],
    ids=str,
)
def test_another_call_has_another_plan(driver, change):
    kernel = make()

    def arguments(change):
        kinds = ("shape", "dtype", "strides", "device")
        x, y = tensors(**{key: change[key] for key in kinds if key in change})
        bias = ExchangedTensor(x.shape[1:]) if change.get("bias") else None
        return x, y, bias, change.get("factor", 1.5), 8

    options = change.get("options", {})
    kernel(*arguments({}))
    assert kernel._num_plans == 1
    if "wrong" in change:
        for _ in range(2):
            with pytest.raises(LaunchError, match=change["wrong"]):
                kernel(*arguments(change))
        assert kernel._num_plans == 1
        return
    kernel(*arguments(change), **options)
    assert not driver.native
    kernel(*arguments(change), **options)
    is_cold = change.get("is_cold", False)
    assert len(driver.native) == (not is_cold)
    if is_cold:
        return
    kernel._call_anew(*arguments(change), **options)
    found, expected = driver.launches[-2:]
    assert (found.function, found.grid, found.block) == (
        expected.function,
        expected.grid,
        expected.block,
    )
    kernel(*arguments({}))
    assert driver.launches[-1].function == driver.launches[0].function


def test_captured_numbers_are_a_part_of_a_call(driver, monkeypatch):
    kernel = make()
    for value in (2.0, 3.0, 2.0, 3.0):
        monkeypatch.setattr(hot_kernels, "STEP", value)
        kernel(*tensors(), None, 1.5, 8)
    functions = [launch.function for launch in driver.launches]
    assert functions == functions[:2] * 2 and len({*functions}) == 2
    assert len(driver.native) == 2


def test_constants_are_compared_by_type_and_value(driver):
    @tilews.kernel
    def pick(X: tl.Tensor["64", tl.f32], c: tl.constexpr):
        tl.grid(1)
        X[0] = tl.load(X) * (c[0] if isinstance(c, tuple) else 1)

    x = ExchangedTensor((64,))
    values = [1, 1.0, True, "ab", None, (1, 2), (1, (2.0, "x")), tl.f32, 2**70, -0.0]
    for expected, value in enumerate(values):
        pick(x, value)
        assert len(driver.native) == 0, value
        assert pick._num_plans == expected + (value != 2**70) - (expected > 8)
    for value in ("".join(["a", "b"]), (1, (2.0, "".join("x"))), int("1"), 1.0):
        pick(x, value)
    assert len(driver.native) == 4
    with pytest.raises(CompileError, match="hashable"):
        pick(x, [1])


def test_plans_and_forms_are_bounded(driver):
    kernel = make()
    for rows in range(1, 1030):
        kernel(*tensors(shape=(rows, 64)), None, 1.5, 1)
    assert kernel._num_plans == 1029 - 1024
    names = ["X", "Y", "Bias", "factor", "rows"]
    values = dict(zip(names, (*tensors(), None, 1.5, 8), strict=True))
    for n in range(40):
        order = np.random.default_rng(n).permutation(names)
        kernel(**{name: values[name] for name in order})
    assert len(driver.launches) == 1029 + 40
