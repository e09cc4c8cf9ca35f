"""Streams, modules, errors, threads and references of calls that C++ does by a plan."""

import gc
import sys
import threading
import weakref

import pytest

from benchmarks.host_time import fake_device
from benchmarks.host_time.fake_device import ExchangedTensor
from runtime.hot_kernels import make, tensors
from runtime.recorded_launches import recorded
from tilews.runtime import BackendError, LaunchError, modules


@pytest.fixture
def driver():
    with recorded() as driver:
        yield driver


# --- streams, capture, unloading -----------------------------------------------


def test_streams(driver):
    kernel = make()
    x, y = tensors()
    kernel(x, y, None, 1.5, 8)
    native = fake_device.native
    native.set_stream(5)
    try:
        kernel(x, y, None, 1.5, 8)
    finally:
        native.set_stream(0)
    assert driver.native[-1].stream == 5

    class NamedStream:
        cuda_stream = 9

    for stream, handle in ((NamedStream(), 9), (2**40, 2**40), (None, 0)):
        for _ in range(2):
            kernel(x, y, None, 1.5, 8, stream=stream)
        assert driver.native[-1].stream == handle
    count = len(driver.launches)
    with pytest.raises(LaunchError, match="expected a stream"):
        kernel(x, y, None, 1.5, 8, stream="x")
    assert len(driver.launches) == count


def test_a_captured_kernel_stays_loaded(driver):
    kernel = make()
    x, y = tensors()
    for _ in range(2):
        kernel(x, y, None, 1.5, 8, stream=6)
    assert len(driver.native) == 1
    driver.capturing.add(6)
    kernel(x, y, None, 1.5, 8, stream=6)
    assert len(driver.native) == 1 and len(driver.launches) == 3
    del kernel
    gc.collect()
    assert not modules.waiting()


def test_a_plan_goes_with_its_kernel(driver):
    kernel = make()
    dropped = weakref.ref(kernel)
    for _ in range(3):
        kernel(*tensors(), None, 1.5, 8)
    del kernel
    gc.collect()
    assert dropped() is None
    assert len(modules.waiting()) == 1
    other = make()
    for _ in range(2):  # Loads a module, which unloads the other one.
        other(*tensors(), None, 1.5, 8)
    assert not modules.waiting()
    modules.waiting().append(Unloaded())
    native = len(driver.native)
    other(*tensors(), None, 1.5, 8)
    assert not modules.waiting() and len(driver.native) == native
    other(*tensors(), None, 1.5, 8)
    assert len(driver.native) == native + 1


class Unloaded:
    """A module that waits to be unloaded."""

    def unload(self):
        pass


def test_a_context_is_made_current(driver):
    kernel = make()
    for _ in range(2):
        kernel(*tensors(device=1), None, 1.5, 8)
    assert driver.current == 2
    driver.current = 77
    kernel(*tensors(device=1), None, 1.5, 8)
    assert driver.current == 2


# --- errors --------------------------------------------------------------------


def test_errors_are_those_of_python(driver):
    kernel = make()
    x, y = tensors()
    kernel(x, y, None, 1.5, 8)
    wrong = [
        (x, ExchangedTensor((8, 64), address=x.address + 64), None, 1.5, 8),
        (ExchangedTensor((8, 64), address=(1 << 40) + 4), y, None, 1.5, 8),
        (x, y, None, 1e300, 8),
        (x, y, None, 1.5, 2**40),
        (x, y, None, 1.5, 2**100),
        (x, y, None, "1", 8),
        (x, y, None, 1.5, 8.0),
        (x, y, None, 1.5),
        (x, y, None, 1.5, 8, 64, 1),
        (x, ExchangedTensor((8, 48)), None, 1.5, 8),
        (3, y, None, 1.5, 8),
    ]
    for arguments in wrong:
        texts = []
        for call in (kernel, kernel, kernel._call_anew):
            with pytest.raises((LaunchError, TypeError)) as caught:
                call(*arguments)
            texts.append(str(caught.value))
        assert len({*texts}) == 1, texts
    assert len(driver.launches) == 1


def test_errors_of_the_driver(driver):
    kernel = make()
    x, y = tensors()
    kernel(x, y, None, 1.5, 8)
    driver.statuses["launch"] = 719
    with pytest.raises(BackendError, match="the launch failed: CUDA_ERROR_719 in"):
        kernel(x, y, None, 1.5, 8)
    driver.statuses.update(launch=0, context=201)
    with pytest.raises(BackendError, match="CUDA_ERROR_201"):
        kernel(x, y, None, 1.5, 8)
    driver.statuses["context"] = 0
    kernel(x, y, None, 1.5, 8)
    assert len(driver.native) == 1


def test_a_tensor_that_cannot_be_read_takes_the_general_way(driver):
    kernel = make()
    x, y = tensors()
    for _ in range(2):
        kernel(x, y, None, 1.5, 8)
    x.fails = 1
    kernel(x, y, None, 1.5, 8)
    assert len(driver.native) == 1 and len(driver.launches) == 3


def test_only_types_of_torch_are_read(driver):
    class Derived(ExchangedTensor):
        """Of another module: what it means is not known."""

    kernel = make()
    reads = fake_device.native.num_reads()
    for _ in range(2):
        with pytest.raises(LaunchError, match="expected an array"):
            kernel(Derived((8, 64)), ExchangedTensor((8, 64)), None, 1.5, 8)
    assert fake_device.native.num_reads() == reads


# --- threads and references ----------------------------------------------------


def test_threads_share_plans_and_the_driver_runs_without_the_lock(driver):
    kernel = make()
    for rows in (8, 9, 10):
        kernel(*tensors(shape=(rows, 64)), None, 1.5, 8)
    errors, together = [], threading.Barrier(4, timeout=60)
    driver.on_launch = together.wait  # All are in the driver at once.

    def work():
        try:
            for n in range(100):
                x, y = tensors(shape=(8 + n % 3, 64))
                kernel(x, y, None, 1.5, 8)
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    assert len(driver.native) == 400


def test_calls_keep_no_references():
    with fake_device.installed():
        kernel = make()
        x, y, factor, text = *tensors(), 1.5, "sm_90a"
        kernel(x, y, None, factor, 8)
        objects = (x, y, factor, text, None, kernel, kernel._watch)
        kernel(x, y, None, factor, 8, target=text)

        def wrong():
            with pytest.raises(LaunchError):
                kernel(x, x, None, factor, 8)

        wrong()
        before = [sys.getrefcount(each) for each in objects]
        blocks = sys.getallocatedblocks()
        for _ in range(100_000):
            kernel(x, y, None, factor, 8)
            kernel(x, y, None, factor, 8, target=text)
        for _ in range(100):
            wrong()
        after = [sys.getrefcount(each) for each in objects]
        assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))
        assert sys.getallocatedblocks() - blocks < 500


def test_a_cycle_through_a_constant_is_collected(driver):
    def cycle():
        kernel = make()

        class Constant:
            """Refers to the kernel whose plans it is a part of."""

            owner = kernel

        kernel(*tensors(), None, 1.5, 8, threads=None, B=64)
        name = ExchangedTensor((8, 64))
        kernel(name, *tensors(1), None, 1.5, 8)
        kernel.constant = Constant
        return weakref.ref(kernel)

    found = cycle()
    gc.collect()
    assert found() is None
