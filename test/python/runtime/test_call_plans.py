"""Calls like earlier ones launch the same; others what their arguments ask for."""

import sys
import threading
import types

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import runtime
from tilews.call_plans import CallPlans
from tilews.errors import CompileError
from tilews.runtime import LaunchError

STEP = 2.0


class FakeTensor:
    """A tensor of torch, as far as launches look at it."""

    next_address = 1 << 20

    def __init__(self, shape, dtype="float32", address=None, strides=None, device=0):
        if address is None:
            address = FakeTensor.next_address
            FakeTensor.next_address += 1 << 24
        self.shape = tuple(shape)
        self.dtype = DTYPES[dtype]
        self.device = DEVICES[device]
        self._address, self._strides = address, strides

    def stride(self):
        if self._strides is not None:
            return self._strides
        return tuple(np.cumprod([1, *self.shape[:0:-1]])[::-1].tolist())

    def data_ptr(self):
        return self._address


FakeTensor.__module__ = "torch"


class Named:
    """A type of elements."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


DTYPES = {name: Named(name) for name in ("float16", "float32")}


class FakeDevice:
    """A device of torch."""

    type = "cuda"

    def __init__(self, index):
        self.index = index


DEVICES = [FakeDevice(0), FakeDevice(1)]


class Backend:
    """A driver that writes down what it starts."""

    def __init__(self):
        self.launches = []
        self.loaded = []

    def device_targets(self):
        return ["sm_90a"]

    def load_function(self, manifest, image, device):
        self.loaded.append((manifest["kernel"], device))
        return types.SimpleNamespace(
            launch=lambda plan, stream: self.launches.append(
                (plan.grid, list(plan.values), stream)
            )
        )


@pytest.fixture
def backend(monkeypatch):
    current = types.SimpleNamespace(cuda_stream=7)
    torch = types.SimpleNamespace(
        version=types.SimpleNamespace(hip=None),
        cuda=types.SimpleNamespace(current_stream=lambda device: current),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = Backend()
    monkeypatch.setattr(runtime, "_backend", lambda vendor: found)
    return found


@pytest.fixture
def replayed(monkeypatch):
    """Whether each call was launched by an earlier plan."""
    found = []
    launch = CallPlans.launch

    def count(self, kind, stream):
        family = launch(self, kind, stream)
        found.append(family is not None)
        return family

    monkeypatch.setattr(CallPlans, "launch", count)
    return found


def make():
    """A new kernel, of which nothing was called."""

    @tilews.kernel
    def scale(
        X: tl.Tensor["M, N", "T"],
        Y: tl.Tensor["M, N", "T"],
        Bias: tl.Tensor["N", "T"] | None,
        factor: tl.f32,
        rows: tl.i32,
        B: tl.constexpr = 64,
    ):
        i = tl.grid(rows)
        x = tl.load(X[i, 0], (B,)).to(tl.f32) * factor * STEP
        if Bias is not None:
            x += tl.load(Bias[0], (B,)).to(tl.f32)
        Y[i, 0] = x.to(Y.dtype)

    return scale


def test_a_like_call_launches_with_its_own_addresses_and_numbers(backend, replayed):
    kernel = make()
    for factor in (1.5, 2.5, 3):
        x, y = FakeTensor((8, 64)), FakeTensor((8, 64))
        kernel(x, y, None, factor, 8)
        grid, values, stream = backend.launches[-1]
        assert (grid, stream) == ((8, 1, 1), 7)
        assert {x.data_ptr(), y.data_ptr()} <= set(values)
        assert int(np.float32(factor).view(np.uint32)) in values
    assert replayed == [False, True, False]  # 3 is an int.
    assert backend.loaded == [("scale", 0)]
    kernel(y, x, None, factor=2.5, rows=8, B=64, stream=11)
    assert replayed[-1]
    assert backend.launches[-1][2] == 11


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (8, 80)},
        {"shape": (9, 64)},
        {"dtype": "float16"},
        {"strides": (128, 1), "wrong": "strides"},
        {"device": 1},
        {"bias": True},
        {"B": 32},
        {"rows": 7},
        {"threads": 64},
        {"target": "sm_80"},
        {"grid": (3,)},
        {"N": 64},
    ],
    ids=str,
)
def test_another_call_goes_its_own_way(backend, replayed, change):
    kernel = make()

    def call(change):
        tensor = {
            key: change[key] for key in ("dtype", "strides", "device") if key in change
        }
        shape = change.get("shape", (8, 64))
        x, y = (FakeTensor(shape, **tensor) for _ in range(2))
        bias = FakeTensor(shape[1:]) if change.get("bias") else None
        options = {
            key: change[key]
            for key in ("B", "threads", "target", "grid", "N")
            if key in change
        }
        kernel(x, y, bias, 1.5, change.get("rows", 8), **options)
        return backend.launches[-1]

    first = call({})
    if "wrong" in change:
        with pytest.raises(LaunchError, match=change["wrong"]):
            call(change)
        assert len(backend.launches) == 1
    else:
        other = call(change)
        assert len(backend.launches) == 2
        if "rows" in change or "grid" in change:
            assert other[0] != first[0]
        call(change)
    assert not any(replayed[:2])
    call({})
    assert replayed[-1]
    assert backend.launches[-1][0] == first[0]


def test_globals_are_a_part_of_a_call(backend, replayed, monkeypatch):
    kernel = make()
    x, y = FakeTensor((8, 64)), FakeTensor((8, 64))
    kernel(x, y, None, 1.5, 8)
    monkeypatch.setitem(globals(), "STEP", 3.0)
    kernel(x, y, None, 1.5, 8)
    assert replayed == [False, False]
    assert len(backend.loaded) == 2


def test_a_like_call_is_checked(backend, replayed):
    kernel = make()
    x, y = FakeTensor((8, 64)), FakeTensor((8, 64))
    kernel(x, y, None, 1.5, 8)
    wrong = {
        "overlap": (x, FakeTensor((8, 64), address=x.data_ptr() + 64), None, 1.5, 8),
        "aligned": (FakeTensor((8, 64), address=(1 << 40) + 4), y, None, 1.5, 8),
        "'rows'": (x, y, None, 1.5, 2**40),
    }
    for message, arguments in wrong.items():
        with pytest.raises(LaunchError, match=message):
            kernel(*arguments)
    for arguments in ((x, y, None, 1.5), (x, y, None, 1.5, 8, 64, 1)):
        with pytest.raises(TypeError, match="scale: "):
            kernel(*arguments)
    with pytest.raises(CompileError, match="hashable"):
        kernel(x, y, None, 1.5, 8, B=[64])
    assert len(backend.launches) == 1
    kernel(x, y, None, 1.5, 8)
    assert replayed[-1]


def test_lists_and_other_arrays_have_no_plans(backend, replayed):
    @tilews.kernel
    def total(Xs: list[tl.Tensor["64", tl.f32]], Y: tl.Tensor["64", tl.f32]):
        y = tl.load(Y)
        for X in Xs:
            y += tl.load(X)
        Y[0] = y

    y = FakeTensor((64,))
    for count in (2, 3, 3):
        total([FakeTensor((64,)) for _ in range(count)], y, grid=None)
    assert len(backend.launches) == 3
    assert replayed == []
    host = np.ones((8, 64), np.float32)
    make()(host, np.ones_like(host), None, 1.5, 8)
    assert replayed == []


def test_threads_share_plans(backend, replayed):
    kernel = make()
    errors = []

    def work():
        try:
            for _ in range(200):
                x, y = FakeTensor((8, 64)), FakeTensor((8, 64))
                kernel(x, y, None, 1.5, 8)
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    assert len(backend.launches) == 800
    assert backend.loaded == [("scale", 0)]


def test_plans_are_bounded(backend, replayed, monkeypatch):
    monkeypatch.setattr("tilews.call_plans._MOST", 4)
    kernel = make()
    for _ in range(2):
        for rows in range(1, 8):
            shape = (rows, 64)
            kernel(FakeTensor(shape), FakeTensor(shape), None, 1.5, rows)
        assert len(kernel._plans._families) <= 4
    assert len(backend.launches) == 14
