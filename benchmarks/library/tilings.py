"""Compares the tiles that `tilews.kernels.matmul` chooses with the best ones, on a GPU.

Each shape is multiplied with every candidate, and with each number of parts that the
depth may be split into. Shapes are drawn anew in each run. The costs of the model
(python/tilews/kernels/matmuls/tiling.py) were fitted to such runs.

    python -m benchmarks.library.tilings --shapes 60
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import pathlib
import random
import statistics
from typing import Any
from unittest import mock

import click

from .. import report

RESULTS = pathlib.Path(__file__).parents[1] / "results"
#: Timed runs of each tiling.
_ITERATIONS = 9


def draw_shape(draw: random.Random) -> tuple[int, int, int]:
    """M, N and K, whose logarithms are uniform."""

    def size(low: int, high: int, step: int) -> int:
        return round(low * (high / low) ** draw.random() / step) * step

    while True:
        shape = size(1, 8192, 1), size(256, 16384, 16), size(256, 16384, 16)
        if math.prod(shape) < 3e11:
            return shape


def tilings_of(shape: tuple[int, int, int], itemsize: int) -> list[Any]:
    """Every tiling of the model for a shape, and the one it chooses, first."""
    from tilews.kernels.matmuls import tiling

    found = []
    each: Any
    for each in tiling.candidates("sm_90a", itemsize, True):
        for splits in tiling.possible_splits(each, (1, *shape)):
            found.append(dataclasses.replace(each, splits=splits))
    chosen = tiling.choose((1, *shape), itemsize, "sm_90a", False, True)
    return [chosen, *(each for each in found if each != chosen)]


def run(arrays: tuple[Any, Any, Any], tiling: Any) -> None:
    """Multiplies with a tiling."""
    from tilews import kernels
    from tilews.kernels.matmuls import dense

    a, b, c = arrays
    with mock.patch.object(dense, "choose", lambda *_: tiling):
        kernels.matmul(a, b, transpose_b=True, out=c)


def measure(shape: tuple[int, int, int], dtype: str, timer: Any) -> dict[str, Any]:
    """The times of torch and of all tilings in microseconds, with a cold L2 cache.

    Raises:
        ValueError: a result is wrong.
    """
    import torch

    m, n, k = shape
    kind = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}[dtype]
    a, b = (torch.randn(rows, k, device="cuda").to(kind) for rows in (m, n))
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    one = torch.ones((), device="cuda")

    def peer() -> None:
        if dtype == "bf16":
            torch.matmul(a, b.t())
        else:
            torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)

    def median(call: Any) -> float:
        return 1e3 * statistics.median(timer.sample(call, _ITERATIONS, 1))

    expected = a.float() @ b.float().t()
    bound = (2**-7 + (k * 2**-19 if dtype == "e4m3" else 0)) * expected.abs().max()
    times = []
    before = median(peer)
    tilings = tilings_of(shape, a.element_size())
    for tiling in tilings:
        c.fill_(math.nan)
        times.append(median(lambda tiling=tiling: run((a, b, c), tiling)))
        if not (c.float() - expected).abs().max() < bound:
            raise ValueError(f"{shape} {dtype}: {tiling} gives a wrong result")
    peers = min(before, median(peer))
    return {
        "shape": shape,
        "dtype": dtype,
        "torch": peers,
        "tilings": [dataclasses.astuple(tiling) for tiling in tilings],
        "times": times,
    }


def describe(environment: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    facts = ", ".join(f"{key} {value}" for key, value in environment.items() if value)
    lines = [
        f"# Tiles of matmuls on {environment['gpu']}",
        "",
        facts,
        "",
        "The time of the chosen tiles relative to that of the best ones, and torch's",
        "time relative to both.",
        "",
        "| M x N x K | type | chosen us | best us | chosen / best | torch us "
        "| torch / chosen | torch / best |",
        "| --- | --- | --: | --: | --: | --: | --: | --: |",
    ]
    ratios = []
    for row in rows:
        chosen, best, torch = row["times"][0], min(row["times"]), row["torch"]
        ratios.append((chosen / best, torch / chosen, torch / best))
        cells = [
            "x".join(map(str, row["shape"])),
            row["dtype"],
            *(f"{time:.1f}" for time in (chosen, best)),
            f"{chosen / best:.2f}",
            f"{torch:.1f}",
            *(f"{ratio:.2f}" for ratio in ratios[-1][1:]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    regrets, ours, bests = zip(*ratios, strict=True)
    lines += [
        "",
        f"{len(rows)} shapes. Chosen / best: median {statistics.median(regrets):.3f}, "
        f"largest {max(regrets):.2f}. torch / chosen: median "
        f"{statistics.median(ours):.2f}, smallest {min(ours):.2f}. torch / best: "
        f"median {statistics.median(bests):.2f}, smallest {min(bests):.2f}.",
    ]
    return "\n".join(lines) + "\n"


@click.command(help=__doc__)
@click.option("--shapes", "count", default=60, help="Shapes to draw.")
@click.option("--seed", type=int, help="By default another one in each run.")
@click.option("--results", type=click.Path(path_type=pathlib.Path), default=RESULTS)
def main(count: int, seed: int | None, results: pathlib.Path) -> None:
    from ..timing import FLUSH_BYTES, Timer

    seed = random.randrange(10**6) if seed is None else seed
    draw = random.Random(seed)
    environment = {**report.environment(), "seed": seed}
    timer, rows = Timer(3 * FLUSH_BYTES), []
    for _ in range(count):
        rows.append(measure(draw_shape(draw), draw.choice(["bf16", "e4m3"]), timer))
        chosen, best = rows[-1]["times"][0], min(rows[-1]["times"])
        click.echo(f"{rows[-1]['shape']}: chosen {chosen:.1f} us, best {best:.1f} us")
    name = report.file_name(datetime.date.today(), environment["gpu"], ["tilings"])
    results.mkdir(parents=True, exist_ok=True)
    outcome = {"environment": environment, "runs": rows}
    (results / f"{name}.json").write_text(json.dumps(outcome, indent=1) + "\n")
    text = describe(environment, rows)
    (results / f"{name}.md").write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
