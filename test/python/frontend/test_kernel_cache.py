"""The caches of a kernel: bounded, and safe to use from several threads."""

import threading

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import dispatch
from tilews._support.make_cache import MakeCache


def in_threads(count, function):
    """Calls a function in several threads at the same time; gives its results."""
    barrier, results = threading.Barrier(count), [None] * count

    def work(number):
        barrier.wait()
        try:
            results[number] = function()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_the_least_recently_used_value_is_dropped():
    cache = MakeCache(2)
    assert cache.get_or_make("a", lambda: 1) == 1
    assert cache.get_or_make("b", lambda: 2) == 2
    assert cache.get_or_make("a", lambda: 10) == 1
    assert cache.get_or_make("c", lambda: 3) == 3
    assert cache.values() == [1, 3]
    assert cache.get_or_make("b", lambda: 20) == 20
    assert len(cache) == 2


def test_threads_make_a_value_once():
    cache, made = MakeCache(4), []
    started = threading.Event()

    def make():
        made.append(threading.get_ident())
        started.wait(0.2)  # so that the others arrive meanwhile
        return object()

    results = in_threads(8, lambda: cache.get_or_make("key", make))
    assert len(made) == 1
    assert len(set(map(id, results))) == 1


def test_values_of_different_keys_are_made_at_the_same_time():
    cache, both = MakeCache(4), threading.Barrier(2, timeout=30)
    names = iter("ab")

    def work():
        return cache.get_or_make(next(names), lambda: both.wait() is not None)

    assert in_threads(2, work) == [True, True]


def test_an_error_reaches_all_that_wait_and_is_not_kept():
    cache, started = MakeCache(4), threading.Event()

    def fail():
        started.wait(0.2)
        raise ValueError("no")

    results = in_threads(3, lambda: cache.get_or_make("key", fail))
    assert [str(error) for error in results] == ["no"] * 3
    assert cache.get_or_make("key", lambda: 5) == 5


def test_a_value_that_depends_on_itself_is_an_error():
    cache = MakeCache(4)
    with pytest.raises(RuntimeError, match="depends on itself"):
        cache.get_or_make("key", lambda: cache.get_or_make("key", lambda: 1))
    assert cache.get_or_make("key", lambda: 1) == 1


@tilews.kernel
def double(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["N", tl.f32], B: tl.constexpr = 16):
    i = tl.grid(tl.cdiv(X.shape[0], B))
    Y[i * B] = tl.load(X[i * B], (B,)) * 2.0


def test_threads_that_call_a_kernel_compile_it_once(monkeypatch):
    kernel = tilews.kernel(double.python)
    built = []
    build = dispatch.Kernel._build
    monkeypatch.setattr(
        dispatch.Kernel, "_build", lambda *args: built.append(args) or build(*args)
    )

    def call():
        x = np.arange(100, dtype=np.float32)
        y = np.zeros_like(x)
        kernel(x, y)
        return np.array_equal(y, 2 * x)

    assert in_threads(6, call) == [True] * 6
    assert len(built) == 1


def test_kernels_that_were_dropped_are_compiled_again(monkeypatch):
    monkeypatch.setattr(dispatch, "MAX_COMPILED", 2)
    kernel = tilews.kernel(double.python)
    compiled = [kernel.compile("cpu", B=block) for block in (4, 8, 16)]
    assert kernel._compiled.values() == compiled[1:]
    again = kernel.compile("cpu", B=4)
    assert again is not compiled[0]
    assert kernel.compile("cpu", B=4) is again
