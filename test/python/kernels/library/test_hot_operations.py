"""Operations that C++ does again start and return what Python's own way does."""

import gc
import itertools
import sys
import weakref

import pytest

from benchmarks.host_time import fake_device
from benchmarks.host_time.fake_device import ExchangedTensor as T
from runtime.recorded_launches import recorded
from tilews import kernels
from tilews.kernels import rows
from tilews.runtime import BackendError, LaunchError


@pytest.fixture
def driver():
    with recorded() as driver:
        yield driver


FP8 = fake_device.DTYPES["float8_e4m3fn"]


def half(*shape, **options):
    return T(shape, "float16", **options)


def tokens(*shape):
    return T(shape, "int32")


def make_calls():
    """Calls of each operation: functions that make the arguments."""

    def q():
        return half(1, 64, 2, 64)

    return {
        "rms_norm": (kernels.rms_norm, lambda: ((half(6, 128), half(128)), {})),
        "rms_norm residual": (
            kernels.rms_norm,
            lambda: (
                (half(2, 3, 128),),
                {"residual": half(2, 3, 128), "update_residual": True, "eps": 1e-5},
            ),
        ),
        "rms_norm fp8": (
            kernels.rms_norm,
            lambda: ((half(6, 128),), {"out_dtype": FP8}),
        ),
        "rms_norm out": (
            kernels.rms_norm,
            lambda: ((half(6, 128),), {"out": half(6, 128)}),
        ),
        "layer_norm": (
            kernels.layer_norm,
            lambda: ((half(6, 128), half(128), half(128)), {}),
        ),
        "softmax": (kernels.softmax, lambda: ((half(6, 128),), {"scale": 0.5})),
        "cumsum": (kernels.cumsum, lambda: ((half(6, 128),), {})),
        "argmax": (kernels.argmax, lambda: ((half(6, 128),), {})),
        "top_k": (kernels.top_k, lambda: ((half(6, 128), 4), {})),
        "gated": (kernels.gated, lambda: ((half(6, 128),), {"activation": "gelu"})),
        "silu_and_mul": (kernels.silu_and_mul, lambda: ((half(6, 128),), {})),
        "cross_entropy": (
            kernels.cross_entropy,
            lambda: ((half(6, 128), tokens(6)), {}),
        ),
        "cast_to_fp8": (kernels.cast_to_fp8, lambda: ((half(6, 128),), {})),
        "attention": (
            kernels.attention,
            lambda: ((q(), q(), q()), {"causal": True, "return_sums": True}),
        ),
        "matmul": (
            kernels.matmul,
            lambda: (
                (half(2, 256, 64), half(64, 64)),
                {"transpose_b": True, "bias": half(64), "activation": "relu"},
            ),
        ),
        "matmul split": (
            kernels.matmul,
            lambda: (
                (half(64, 8192), half(64, 8192)),
                {"transpose_b": True, "residual": half(64, 64), "scale": 0.25},
            ),
        ),
    }


CALLS = make_calls()


def properties(result):
    parts = result if isinstance(result, tuple) else (result,)
    assert all(type(part) is T for part in parts)
    return [(x.address, x.shape, x.stride(), x.dtype, x.device) for x in parts]


def both_ways(driver, monkeypatch, operation, args, options):
    """A call by a plan and one in Python's way: what they start and return."""
    found = []
    for call in (operation, operation._call_anew):
        # Results get the same addresses in both.
        addresses = itertools.count(1 << 50, 1 << 26)
        monkeypatch.setattr(fake_device, "_addresses", addresses)
        start, native = len(driver.launches), len(driver.native)
        result = call(*args, **options)
        launches = driver.launches[start:]
        is_native = len(driver.native) - native == len(launches)
        if call is operation:
            assert is_native, "Python launched"
        else:
            assert not is_native
            result, _ = result
        found.append((launches, properties(result)))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_an_operation_is_done_again(driver, monkeypatch, name):
    operation, make = CALLS[name]
    args, options = make()
    operation(*args, **options)
    assert driver.launches and not driver.native
    assert operation._num_plans
    for _ in range(3):
        args, options = make()
        ours, theirs = both_ways(driver, monkeypatch, operation, args, options)
        assert ours == theirs
    assert len(ours[0]) == 1
    out = options.get("out")
    assert out is None or operation(*args, **options) is out


def test_other_arguments_have_their_own_plan(driver, monkeypatch):
    calls = [
        ((half(6, 128),), {}),
        ((half(7, 128),), {}),
        ((half(6, 256),), {}),
        ((T((6, 128)),), {}),
        ((half(6, 128, device=1),), {}),
        ((half(6, 128), half(128)), {}),
        ((half(6, 128),), {"eps": 1e-3}),
        ((half(6, 128),), {"out": half(6, 128)}),
        ((half(6, 128),), {"target": "sm_80"}),
    ]
    for args, options in calls:
        native = len(driver.native)
        kernels.rms_norm(*args, **options)
        kernels.rms_norm(*args, **options)
        assert len(driver.native) == native + 1
    for args, options in calls:
        ours, theirs = both_ways(driver, monkeypatch, kernels.rms_norm, args, options)
        assert ours == theirs
    wrong = half(6, 128, strides=(256, 1))
    for _ in range(2):
        with pytest.raises(LaunchError, match="row-major"):
            kernels.rms_norm(wrong)


def test_a_stream_is_taken_from_the_call(driver):
    x = half(6, 128)
    for stream in (3, 5, 7):
        kernels.rms_norm(x, stream=stream)
        assert driver.launches[-1].stream == stream
    assert len(driver.native) >= 2


def test_parts_of_a_matmul_are_counted_by_stream(driver, monkeypatch):
    """What counts the parts belongs to one stream: others go Python's way."""
    operation, make = CALLS["matmul split"]
    args, options = make()
    for _ in range(3):
        operation(*args, **options)
    assert len(driver.native) == 2
    fake_device.native.set_stream(5)
    try:
        operation(*args, **options)
    finally:
        fake_device.native.set_stream(0)
    assert len(driver.native) == 2 and len(driver.launches) == 4
    operation(*args, **options)
    assert len(driver.native) == 3


def test_arguments_that_are_one_array(driver, monkeypatch):
    operation = kernels.rms_norm
    for _ in range(2):
        x = half(9, 128)
        operation(x, residual=x)
    assert len(driver.native) == 1
    x, y = half(9, 128), half(9, 128)
    operation(x, residual=y)
    assert len(driver.native) == 1
    for other in (y, x, y):  # The second plan holds for both.
        options = {"residual": other}
        ours, theirs = both_ways(driver, monkeypatch, operation, (x,), options)
        assert ours == theirs


def test_seeds_leave_no_plans(driver):
    x = half(6, 128)
    for seed in range(5):
        kernels.dropout(x, 0.5, seed)
    assert kernels.dropout._num_plans == 0
    assert len(driver.launches) == 5


def test_nothing_is_started_twice_where_a_launch_is_unusual(driver):
    operation, make = CALLS["matmul split"]
    args, options = make()
    for _ in range(2):
        operation(*args, **options)
    native = len(driver.native)
    args[1].address += 8  # TMA refuses it; so does Python.
    with pytest.raises(LaunchError, match="aligned"):
        operation(*args, **options)
    assert len(driver.native) == native
    args[1].address -= 8
    driver.statuses["launch"] = 700
    with pytest.raises(BackendError, match="CUDA_ERROR_700"):
        operation(*args, **options)


def test_errors_of_the_allocation_are_raised(driver, monkeypatch):
    x = half(6, 384)
    torch = sys.modules["torch"]

    class Full(Exception):
        """The device has no memory left."""

    def empty(shape, dtype, device):
        if torch.is_full:
            raise Full
        return fake_device.empty(shape, dtype, device)

    torch.is_full, torch.empty = False, empty
    for _ in range(2):
        kernels.softmax(x)
    torch.is_full = True
    with pytest.raises(Full):
        kernels.softmax(x)
    torch.is_full = False
    count = len(driver.native)
    kernels.softmax(x)
    assert len(driver.native) == count + 1


def test_results_are_not_kept(driver):
    x = half(6, 640)
    for _ in range(3):
        y = kernels.softmax(x)
    seen = weakref.ref(y)
    del y
    gc.collect()
    assert seen() is None
    before = sys.getrefcount(x)
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        driver.launches.clear()
        driver.native.clear()
        kernels.softmax(x)
    assert abs(sys.getrefcount(x) - before) < 10
    assert sys.getallocatedblocks() - blocks < 500


def test_operations_on_host_arrays_have_no_plans():
    import numpy as np

    count = rows.softmax.softmax._num_plans
    x = np.ones((2, 8), np.float32)
    for _ in range(2):
        assert np.allclose(kernels.softmax(x), 1 / 8)
    assert rows.softmax.softmax._num_plans == count
