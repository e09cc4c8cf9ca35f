"""Checks the operations of tilews.kernels on a GPU, and times them against torch.

Each result is compared with float64 before it is timed, with a cold L2 cache. Random
shapes are drawn anew in each run, so that nothing is tuned to a list. The process that
measures is killed if a step takes too long, and another one goes on.
"""

from __future__ import annotations

import datetime
import json
import pathlib
import random
import statistics
import sys
from typing import Any

import click

from .. import report, runner
from ..cases import Case
from .library_worker import unit_of

RESULTS = pathlib.Path(__file__).parents[1] / "results"
WORKER = (sys.executable, "-m", "benchmarks.library.library_worker")

#: Shapes and variants of each operation: rows and columns; tokens, heads and elements;
#: M, N and K; batches, queries and keys, heads of both, elements.
LISTED: dict[str, list[tuple[tuple[int, ...], str, str]]] = {
    "softmax": [
        ((8192, 8192), "bf16", ""),
        ((32768, 1024), "bf16", ""),
        ((2048, 131072), "bf16", ""),
    ],
    "rms_norm": [
        ((8192, 8192), "bf16", ""),
        ((32768, 1024), "bf16", ""),
        ((16384, 5120), "bf16", ""),
        ((8192, 8192), "bf16", "residual"),
        ((8192, 8192), "bf16", "fp8"),
    ],
    "layer_norm": [
        ((8192, 8192), "bf16", ""),
        ((16384, 5120), "bf16", ""),
        ((8192, 8192), "bf16", "residual"),
    ],
    "silu_and_mul": [((8192, 14336), "bf16", ""), ((16384, 3000), "bf16", "")],
    "gelu_and_mul": [((8192, 14336), "bf16", "")],
    "rope": [
        ((16384, 32, 128), "bf16", "half"),
        ((16384, 32, 128), "bf16", "interleaved"),
    ],
    "cast_to_fp8": [((16384, 8192), "bf16", ""), ((16384, 8192), "bf16", "128")],
    "cross_entropy": [((8192, 128256), "bf16", ""), ((16384, 32000), "bf16", "")],
    "argmax": [((4096, 128256), "f32", ""), ((16384, 32000), "bf16", "")],
    "top_k": [((4096, 32768), "f32", "64"), ((16384, 256), "f32", "8")],
    "cumsum": [((8192, 8192), "f32", ""), ((512, 131072), "f32", "")],
    "dropout": [((8192, 8192), "bf16", "")],
    "matmul": [
        ((8192, 8192, 8192), "bf16", "NT"),
        ((4096, 4096, 4096), "bf16", "NT"),
        ((4096, 4096, 4096), "f16", "NN"),
        ((2048, 2048, 2048), "bf16", "NT"),
        ((1024, 1024, 1024), "bf16", "NT"),
        ((1500, 1500, 1500), "bf16", "NT"),
        ((1000, 1031, 517), "f16", "NN"),
        ((512, 512, 16384), "bf16", "NT"),
        *(((m, 4096, 4096), "bf16", "NT") for m in (1, 16, 64, 128, 256, 512)),
        ((4096, 4096, 4096), "e4m3", "NT"),
        ((8192, 8192, 8192), "e4m3", "NT"),
        ((4096, 4096, 4096), "f32", "NT"),
    ],
    "grouped_matmul": [
        ((8192, 4096, 4096, 8), "bf16", "rows"),
        ((8192, 4096, 4096, 8), "bf16", "gather"),
        ((16384, 2048, 4096, 64), "bf16", "gather"),
        ((512, 2048, 4096, 64), "bf16", "gather"),
    ],
    "scaled_matmul": [
        ((4096, 4096, 7168), "e4m3", "blocks"),
        ((8192, 8192, 8192), "e4m3", "blocks"),
        ((64, 7168, 2048), "e4m3", "blocks"),
        ((4096, 4096, 4096), "e4m3", "rows"),
        ((4096, 4096, 4096), "e4m3", "tensor"),
    ],
    "moe": [
        ((4096, 4096, 14336, 8, 2), "bf16", ""),
        ((8192, 2048, 1024, 64, 8), "bf16", ""),
        ((64, 2048, 1024, 64, 8), "bf16", ""),
    ],
    "attention": [
        ((8, 4096, 32, 32, 128), "bf16", "full"),
        ((8, 4096, 32, 32, 128), "bf16", "causal"),
        ((1, 16384, 16, 16, 128), "bf16", "causal"),
        ((8, 4096, 32, 32, 64), "bf16", "full"),
        ((4, 4096, 16, 16, 256), "bf16", "full"),
        ((2, 8192, 64, 8, 128), "bf16", "causal"),
        ((16, 1000, 32, 8, 128), "bf16", "full"),
    ],
    "decode_attention": [
        ((1, 32768, 32, 8, 128), "bf16", "whole"),
        ((8, 8192, 32, 8, 128), "bf16", "whole"),
        ((64, 4096, 32, 8, 128), "bf16", "16"),
        ((64, 4096, 64, 8, 128), "bf16", "64"),
        ((32, 4096, 32, 32, 128), "bf16", "1"),
        ((32, 8192, 64, 8, 64), "f16", "16"),
    ],
    "mla_decode": [
        ((64, 4096, 128, 512, 64), "bf16", "64"),
        ((128, 8192, 16, 512, 64), "bf16", "64"),
        ((2, 32768, 128, 512, 64), "bf16", "64"),
        ((64, 8192, 128, 512, 64), "bf16", "sparse"),
    ],
}


def listed_cases(names: list[str]) -> list[Case]:
    """The cases of some operations that every run has."""
    return [Case(name, *each) for name in names for each in LISTED[name]]


def random_shape(name: str, layout: str, draw: random.Random) -> tuple[int, ...]:
    """A random shape of a case of an operation."""

    def size(low: int, high: int, step: int) -> int:
        """A multiple of `step`; its logarithm is uniform."""
        return max(step, round(low * (high / low) ** draw.random() / step) * step)

    def heads(*shared_by: int) -> tuple[int, int, int]:
        """Heads of queries, heads of keys, and elements of a head."""
        groups, depth = draw.choice([1, 2, 4, 8]), draw.choice([64, 128, 256])
        return groups * draw.choice(shared_by), groups, depth

    if name == "matmul":
        return size(1, 8192, 1), size(256, 8192, 16), size(256, 8192, 16)
    if name == "scaled_matmul":  # torch takes whole blocks of columns and depth.
        return size(16, 8192, 16), size(256, 8192, 128), size(256, 8192, 128)
    if name == "grouped_matmul":
        experts = draw.choice([1, 4, 8, 64, 128])
        return size(16, 16384, 4), size(256, 8192, 16), size(256, 8192, 16), experts
    if name == "attention":
        return size(1, 8, 1), size(64, 8192, 1), *heads(1, 2, 4)
    if name == "decode_attention":
        return size(1, 128, 1), size(256, 16384, 64), *heads(1, 4, 8)
    if name == "mla_decode":
        heads_of_all = draw.choice([16, 32, 64, 128])
        return size(1, 128, 1), size(2048, 16384, 64), heads_of_all, 512, 64
    if name == "moe":
        experts, choices = draw.choice([8, 64, 128]), draw.choice([2, 4, 8])
        tokens, depth, inner = (
            size(1, 8192, 1),
            size(512, 4096, 16),
            size(256, 4096, 16),
        )
        return tokens, depth, inner, experts, choices
    if name == "rope":
        return size(64, 32768, 1), size(1, 64, 1), draw.choice([64, 128, 256])
    columns = size(256, 16384, int(layout) if layout == "128" else 8)
    return size(1, 2**26 // columns, 1), columns


def random_cases(names: list[str], count: int, seed: int) -> list[Case]:
    """Cases with random shapes, `count` of each operation."""
    draw = random.Random(seed)
    found = []
    for name in names:
        for _ in range(count):
            _, dtype, layout = draw.choice(LISTED[name])
            shape = random_shape(name, layout, draw)
            if name == "matmul":
                # The stored rows of A (K, M) and of B begin at multiples of 16 bytes.
                dtype, layout = draw.choice(["bf16", "e4m3"]), "NT"
            found.append(Case(name, shape, dtype, layout))
    return found


def by_case(runs: list[dict[str, Any]]) -> dict[Case, dict[str, dict[str, Any]]]:
    """The rows of each case, by implementation."""
    found: dict[Case, dict[str, dict[str, Any]]] = {}
    for run in runs:
        fields = {key: run[key] for key in ("group", "shape", "dtype", "layout")}
        found.setdefault(Case.from_json(fields), {})[run["implementation"]] = run
    return found


def describe(outcome: dict[str, Any]) -> str:
    """The results as Markdown."""
    facts = ", ".join(f"{k} {v}" for k, v in outcome["environment"].items() if v)
    lines = [f"# tilews.kernels on {outcome['environment']['gpu']}", "", facts, ""]
    ratios: dict[str, list[float]] = {}
    table = [
        "| case | tilews | torch | | of torch | ms | error | bound | torch is |",
        "| --- | --: | --: | --- | --: | --: | --: | --: | --- |",
    ]
    failed = []
    for case, rows in by_case(outcome["runs"]).items():
        unit, ours = unit_of(case.group), rows.get("tilews", {})
        theirs = rows.get("torch", {})
        cells = [case.title, *(_figure(row, unit) for row in (ours, theirs)), unit, ""]
        if unit in ours and unit in theirs and ours["status"] == "ok":
            ratio = ours[unit] / theirs[unit]
            ratios.setdefault(case.group, []).append(ratio)
            cells[-1] = f"{100 * ratio:.0f} %"
        cells.append(f"{ours['ms']:.4f}" if "ms" in ours else "-")
        cells += [
            f"{ours[key]:.1e}" if key in ours else "-" for key in ("error", "bound")
        ]
        table.append("| " + " | ".join([*cells, theirs.get("config", "-")]) + " |")
        if ours.get("status") != "ok":
            note = " ".join(str(ours.get("note", "no result")).split())
            failed.append(f"* {case.title}: {ours.get('status', 'failed')}: {note}")
    lines += [
        "| operation | cases | median of torch | worst |",
        "| --- | --: | --: | --: |",
    ]
    for name, each in ratios.items():
        middle, worst = 100 * statistics.median(each), 100 * min(each)
        lines.append(f"| {name} | {len(each)} | {middle:.0f} % | {worst:.0f} % |")
    lines += ["", *table, ""]
    return "\n".join([*lines, *(["## Failures", "", *failed, ""] if failed else [])])


def _figure(row: dict[str, Any], unit: str) -> str:
    """The speed of a row, or what went wrong."""
    if row.get("status") != "ok" or unit not in row:
        return str(row.get("status", "-"))
    return f"{row[unit]:.4g}"


@click.command(help=__doc__)
@click.option("--only", help="Operations, separated by commas.")
@click.option("--random", "count", default=5, help="Random shapes of each operation.")
@click.option(
    "--seed",
    type=int,
    help="Seed of the random shapes; by default another one in each run.",
)
@click.option("--timeout", default=90.0, help="Seconds until a step is killed.")
@click.option("--results", type=click.Path(path_type=pathlib.Path), default=RESULTS)
def main(
    only: str | None,
    count: int,
    seed: int | None,
    timeout: float,
    results: pathlib.Path,
) -> None:
    names = only.split(",") if only else list(LISTED)
    if unknown := set(names) - set(LISTED):
        raise click.BadParameter(f"no operation {', '.join(sorted(unknown))}")
    seed = random.randrange(10**6) if seed is None else seed
    environment = {**report.environment(), "seed": seed}
    session = runner.Session(timeout, lambda line: click.echo(line), WORKER)
    parts = ["library", *(only.split(",") if only else [])]
    path = results / report.file_name(datetime.date.today(), environment["gpu"], parts)
    results.mkdir(parents=True, exist_ok=True)
    outcome: dict[str, Any] = {"environment": environment, "runs": session.rows}
    for name in names:
        # What is measured is kept if the rest is not.
        session.run([*listed_cases([name]), *random_cases([name], count, seed)])
        environment.update(session.versions)
        text = json.dumps(outcome, indent=1) + "\n"
        path.with_name(f"{path.name}.json").write_text(text)
        path.with_name(f"{path.name}.md").write_text(describe(outcome))
    click.echo(describe(outcome))
    ours = [run for run in session.rows if run["implementation"] == "tilews"]
    sys.exit(any(run["status"] != "ok" for run in ours))


if __name__ == "__main__":
    main()
