"""A signal ends a run of the simulator soon, wherever its threads are."""

import contextlib
import signal
import time

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import ir, sim

MOST = 2**31 - 1


class Ended(Exception):
    """What the handler of the signal raises, as that of Ctrl-C does."""


@tilews.kernel
def spin(Y: tl.Tensor["N", tl.i32], n: tl.i32):
    i = tl.grid(Y.shape[0])
    c = 0
    for k in tl.range(n):
        c = c + k
    Y[i] = c


@tilews.kernel
def spin_in_roles(Y: tl.Tensor["2", tl.i32], n: tl.i32):
    tl.grid(1)
    with tl.specialize():
        with tl.role("first", warps=1):
            c = 0
            for k in tl.range(n):
                c = c + k
            Y[0] = c
        with tl.role("second", warps=1):
            Y[1] = n


@tilews.kernel
def spin_before_others(F: tl.Tensor["1", tl.i32], n: tl.i32):
    """Blocks may wait for each other, so that each has a thread."""
    i = tl.grid(2)
    c = 0
    for k in tl.range(n):
        c = c + k
    while tl.atomic_load(F[0], order="acquire") < i.to(tl.i32):
        pass
    tl.atomic_add(c, F[0], order="release")


@contextlib.contextmanager
def alarm():
    def end(number, frame):
        raise Ended

    old = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@pytest.mark.parametrize(
    "kernel, count",
    [(spin, 1), (spin, 64), (spin_in_roles, 2), (spin_before_others, 1)],
    ids=["one block", "many blocks", "roles", "waiting blocks"],
)
def test_runs_end_at_signals(kernel, count, monkeypatch):
    monkeypatch.setenv("TILEWS_MAX_STEPS", str(2**62))
    array = np.zeros(count, np.int32)
    for _ in range(2):
        kernel(array, 3)  # The first call builds the kernel.
        assert array[0] in (3, 6)
        array[:] = 0
        start = time.monotonic()
        with alarm(), pytest.raises(Ended):
            kernel(array, MOST)
        # The interpreter asks every 50 ms; the machine may be busy.
        assert time.monotonic() - start < 5


#: Two roles whose steps have very many orders.
ORDERS = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%out: memref<1xi32>) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c60 = arith.constant 60 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %b = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    tile.specialize {
      tile.role @first warps(1) {
        scf.for %k = %c0 to %c60 step %c1 {
          tile.mbarrier_arrive %b[%i0] {by = #tile.agents<thread>} : !tile.mbarrier<2>
          memref.atomic_rmw addi %i0, %out[%c0] : (i32, memref<1xi32>) -> i32
        }
      }
      tile.role @second warps(1) {
        scf.for %k = %c0 to %c60 step %c1 {
          tile.mbarrier_arrive %b[%i1] {by = #tile.agents<thread>} : !tile.mbarrier<2>
          memref.atomic_rmw addi %i0, %out[%c0] : (i32, memref<1xi32>) -> i32
        }
      }
    }
    gpu.return
  }
}
"""


@pytest.mark.parametrize(
    "search", [{"policy": "worst"}, {"policy": "exhaustive", "reduces": False}], ids=str
)
def test_searches_end_at_signals(search):
    out = np.zeros(1, np.int32)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(ORDERS)
        sim.run(module, None, [out], 1)
        start = time.monotonic()
        with alarm(), pytest.raises(Ended):
            sim.run(module, None, [out], 1, runs=100_000, **search)
        assert time.monotonic() - start < 5
