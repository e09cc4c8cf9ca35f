"""How long a call keeps the host busy: microseconds from one call to the next.

The kernel adds two vectors of 1024 elements into a third. Calls are timed in batches
that the GPU can queue. Batches of different calls alternate, so that a slow phase of
the machine hits all of them.

    python -m benchmarks.host_time.launches
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click

_BATCH = 200


def _tilews(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    from .programs.tilews_add import add

    return lambda: add(x, y, z)


def _rms_norm(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    from tilews import kernels

    rows, weight, out = x.view(8, 128), y[:128], z.view(8, 128)
    return lambda: kernels.rms_norm(rows, weight, out=out)


def _matmul(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    import torch

    from tilews import kernels

    a, b = (torch.rand(128, 128, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: kernels.matmul(a, b, transpose_b=True, out=out)


def _torch(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    import torch

    return lambda: torch.add(x, y, out=z)


def _torch_matmul(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    import torch

    a, b = (torch.rand(128, 128, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=out)


def _triton(x: Any, y: Any, z: Any) -> Callable[[], Any]:
    from .programs.triton_add import add

    return lambda: add[(4,)](x, y, z, 1024, BLOCK=256)


CALLS: dict[str, Callable[[Any, Any, Any], Callable[[], Any]]] = {
    "tilews add": _tilews,
    "torch.add": _torch,
    "Triton add": _triton,
    "tilews.kernels.rms_norm": _rms_norm,
    "tilews.kernels.matmul": _matmul,
    "torch.matmul": _torch_matmul,
}


def measure(rounds: int) -> dict[str, list[float]]:
    """The microseconds of a call, in each round, by the name of the call."""
    import torch

    tensors = x, y, z = [torch.rand(1024, device="cuda") for _ in range(3)]
    names = [
        name
        for name in CALLS
        if name != "Triton add" or importlib.util.find_spec("triton")
    ]
    calls = {name: CALLS[name](*tensors) for name in names}
    for name, call in calls.items():
        z.zero_()
        for _ in range(10):
            call()
        assert torch.equal(x + y, z) == name.endswith("add"), name
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(_BATCH):
                call()
            times[name].append(1e6 * (time.perf_counter() - start) / _BATCH)
    torch.cuda.synchronize()
    return times


@click.command(help=__doc__)
@click.option("--rounds", default=50, show_default=True)
@click.option("--results", type=click.Path(path_type=pathlib.Path), help="A JSON file.")
def main(rounds: int, results: pathlib.Path | None) -> None:
    times = measure(rounds)
    click.echo("| call | median us | fastest us |")
    click.echo("| --- | --: | --: |")
    for name, found in times.items():
        click.echo(f"| {name} | {statistics.median(found):.1f} | {min(found):.1f} |")
    if results:
        results.write_text(json.dumps(times, indent=1) + "\n")


if __name__ == "__main__":
    main()
