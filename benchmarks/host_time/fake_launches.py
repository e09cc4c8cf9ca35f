"""How long a call keeps the host busy, on a GPU that is not there.

Tensors have no memory and the driver does nothing, so this is the time of tilews alone:
see fake_device.py. It needs a C++ compiler, and no GPU and no torch. `torch.empty` is a
function of Python here, whose time is a part of that of calls with a new result.

    python -m benchmarks.host_time.fake_launches
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import click

from . import fake_device
from .fake_device import ExchangedTensor

_BATCH = 1000


def _halves(count: int, *shape: int) -> list[ExchangedTensor]:
    return [ExchangedTensor(shape, "float16") for _ in range(count)]


def make_calls() -> dict[str, Callable[[], Any]]:
    """The calls, by name."""
    from tilews import kernels

    from .programs.tilews_add import add
    from .programs.tilews_add_five import add_five

    vectors = [ExchangedTensor((1024,)) for _ in range(6)]
    rows, weight, out = (*_halves(1, 8, 128), *_halves(1, 128), *_halves(1, 8, 128))
    a, b, c = _halves(3, 128, 128)
    others = itertools.cycle(_halves(3, 128, 128) for _ in range(16))
    return {
        "a kernel with three tensors": lambda: add(*vectors[:3]),
        "a kernel with six tensors": lambda: add_five(*vectors),
        "the same with a name": lambda: add_five(*vectors, BLOCK=256),
        "rms_norm into a tensor": lambda: kernels.rms_norm(rows, weight, out=out),
        "rms_norm": lambda: kernels.rms_norm(rows, weight),
        "torch.empty": lambda: fake_device.empty(out.shape, out.dtype, out.device),
        "matmul into a tensor": lambda: kernels.matmul(a, b, transpose_b=True, out=c),
        "the same with other tensors": lambda: _matmul(kernels, *next(others)),
    }


def _matmul(kernels: Any, a: Any, b: Any, c: Any) -> None:
    kernels.matmul(a, b, transpose_b=True, out=c)


def measure(rounds: int) -> dict[str, list[float]]:
    """The microseconds of a call, in each round, by the name of the call.

    Raises:
        RuntimeError: Python launches, which these times are not about.
    """
    with fake_device.installed() as driver:
        calls = make_calls()
        for call in calls.values():
            for _ in range(40):
                call()
        launched = len(driver.launches)
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                for _ in range(_BATCH):
                    call()
                times[name].append(1e6 * (time.perf_counter() - start) / _BATCH)
        if len(driver.launches) != launched:
            raise RuntimeError("a call was launched by Python")
    return times


@click.command(help=__doc__)
@click.option("--rounds", default=50, show_default=True)
def main(rounds: int) -> None:
    click.echo("| call | median us | fastest us |")
    click.echo("| --- | --: | --: |")
    for name, found in measure(rounds).items():
        click.echo(f"| {name} | {statistics.median(found):.2f} | {min(found):.2f} |")


if __name__ == "__main__":
    main()
