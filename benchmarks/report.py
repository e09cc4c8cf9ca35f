"""Results as tables on screen, as Markdown and as JSON."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import importlib.util
import json
import pathlib
import platform
import re
import subprocess
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

import tilews
from tilews.compiler import find_ptxas

from .cases import Case
from .compile_time import GROUPS
from .kernels import is_aligned

PEERS = ("torch", "triton", "tilelang")
UNITS = {
    "gemm": "TFLOP/s",
    "sparse": "TFLOP/s",
    "attention": "TFLOP/s",
    "softmax": "GB/s",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


# --- the environment of the results ---------------------------------------------


def environment() -> dict[str, Any]:
    """The date, the machine and the versions. Missing programs have None."""
    gpu, driver = _gpu()
    packages = ("torch", "triton", "tilelang", "cuda-bindings")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
        "gpu": gpu,
        "driver": driver,
        "python": platform.python_version(),
        "tilews": tilews.__version__,
        "commit": _output("git", "-C", str(pathlib.Path(__file__).parent), "rev-parse",
                          "--short", "HEAD"),
        "ptxas": _ptxas_version(),
        **{package: _version(package) for package in packages},
    }  # fmt: skip


def _output(*command: str) -> str | None:
    """The output of a command, or None if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _gpu() -> tuple[str | None, str | None]:
    """Name and driver of the first GPU."""
    query = "--query-gpu=name,driver_version"
    text = _output("nvidia-smi", query, "--format=csv,noheader")
    if not text:
        return None, None
    name, _, driver = text.splitlines()[0].partition(",")
    return name.strip(), driver.strip()


def _ptxas_version() -> str | None:
    path = find_ptxas()
    text = _output(path, "--version") if path else None
    found = re.search(r"\bV([\d.]+)", text or "")
    return found[1] if found else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def missing_peers() -> list[str]:
    """A line for each peer that is not installed."""
    return [
        f"{peer} is not installed and has no figures"
        for peer in PEERS
        if importlib.util.find_spec(peer) is None
    ]


# --- tables ------------------------------------------------------------------------


def failures(outcome: dict[str, Any]) -> list[str]:
    """A line for each chip and configuration of tilews that failed or was wrong."""
    uncompiled = [
        f"gemm for {result['chip']}: {result['note']}"
        for result in outcome["compile"]
        if "note" in result
    ]
    return uncompiled + [
        _failure(run, entry)
        for run in outcome["runs"]
        if run["implementation"] not in PEERS
        for entry in _tries(run)
        if entry["status"] != "ok"
    ]


def _tries(run: dict[str, Any]) -> list[dict[str, Any]]:
    # The row of a killed worker has no tried configurations.
    return run["tried"] or [run]


def _failure(run: dict[str, Any], entry: dict[str, Any]) -> str:
    text = f"{_case(run).title}, {run['implementation']} {entry['config']}: "
    if "note" in entry:
        return text + f"{entry['status']}, {entry['note']}"
    found = f"error {entry['error']:.1e}, of an element {entry['peak_error']:.1e}"
    return text + f"wrong, {found}, bound {run['bound']:.1e}"


def _case(run: dict[str, Any]) -> Case:
    fields = [field.name for field in dataclasses.fields(Case)]
    return Case.from_json({name: run[name] for name in fields})


def tables(outcome: dict[str, Any]) -> list[Table]:
    """All tables that have rows."""
    made = [
        _resource_table(outcome["runs"]),
        _compile_table(outcome["compile"]),
        *(_group_table(outcome["runs"], group) for group in UNITS),
    ]
    return [table for table in made if table.rows]


def _group_table(runs: list[dict[str, Any]], group: str) -> Table:
    """The cases of a group, with a column for each implementation."""
    unit = UNITS[group]
    by_case: dict[Case, dict[str, dict[str, Any]]] = {}
    for run in runs:
        if run["group"] == group:
            by_case.setdefault(_case(run), {})[run["implementation"]] = run
    rows = []
    for case, found in by_case.items():
        ours = found.get("tilews", {})
        best = max((found.get(peer, {}).get(unit, 0.0) for peer in PEERS), default=0.0)
        ratio = f"{100 * ours[unit] / best:.0f} %" if best and unit in ours else "-"
        rows.append(
            (
                case.title.removeprefix(f"{group} "),
                *(_number(found.get(name, {}), unit) for name in ("tilews", *PEERS)),
                ratio,
                f"{ours['ms']:.4f}" if "ms" in ours else "-",
                f"{ours['error']:.1e}" if "error" in ours else "-",
                f"{ours['bound']:.1e}" if "bound" in ours else "-",
                ours.get("config", "-"),
            )
        )
    columns = ("case", "tilews", *PEERS, "of best peer", "ms", "error", "bound")
    return Table(f"{group}: {unit}", (*columns, "configuration of tilews"), rows)


def _number(run: dict[str, Any], unit: str) -> str:
    if unit in run:
        return f"{run[unit]:.0f}" if run[unit] >= 100 else f"{run[unit]:.1f}"
    return run.get("status", "-")


def _resource_table(runs: list[dict[str, Any]]) -> Table:
    """The figures of the compiler for each kernel; runs of one kernel share a row."""
    rows: dict[tuple[str, ...], None] = {}
    for run in runs:
        for entry in run["tried"]:
            figures = entry.get("resources")
            if run["implementation"] != "tilews" or figures is None:
                continue
            kind = (run["group"], run["dtype"], run["layout"])
            aligned = run["group"] != "gemm" or is_aligned(run["shape"])
            ragged = "" if aligned else "ragged"
            kernel = " ".join(filter(None, (*kind, ragged)))
            spills = figures["spill_stores"] + figures["spill_loads"]
            marks = [f"SPILLS {spills}"] if spills else []
            marks += [f"PTXAS: {text}" for text in figures["warnings"]]
            row = kernel, entry["config"], str(figures["registers"]), "; ".join(marks)
            rows[row] = None
    columns = ("kernel", "configuration", "registers", "spills and warnings")
    return Table("Resources", columns, list(rows))


def _compile_table(results: list[dict[str, Any]]) -> Table:
    names = (*GROUPS, "all passes", "total")
    rows = [
        (
            result["chip"],
            *(f"{result['groups'][name]:.1f}" for name in names),
            f"{result['first']:.1f}",
            str(result["bytes"]),
        )
        for result in results
        if "note" not in result
    ]
    columns = ("chip", *names, "first", "bytes")
    return Table("Compiling the f16 gemm: medians in ms", columns, rows)


def show(outcome: dict[str, Any], console: Console) -> None:
    """Prints the tables and the failures."""
    for table in tables(outcome):
        rich = RichTable(title=table.title)
        for index, column in enumerate(table.columns):
            rich.add_column(column, justify="right" if index else "left")
        for row in table.rows:
            marked = any(cell.startswith(("SPILLS", "PTXAS")) for cell in row)
            rich.add_row(*row, style="red" if marked else None)
        console.print(rich)
    for line in failures(outcome):
        console.print(line, style="red", markup=False)


# --- files -------------------------------------------------------------------------


def file_name(date: datetime.date, gpu: str | None, parts: list[str]) -> str:
    """The name of the results, without a suffix: ``2026-01-31-h200-gemm-softmax``."""
    text = (gpu or "no gpu").lower().removeprefix("nvidia ")
    slug = re.sub(r"[^a-z0-9]+", "-", text).strip("-")
    return "-".join([date.isoformat(), slug, *parts])


def markdown(outcome: dict[str, Any]) -> str:
    """The tables as Markdown."""
    facts = outcome["environment"]
    lines = ["# " + (facts["gpu"] or "No GPU"), ""]
    lines += [", ".join(f"{key} {value}" for key, value in facts.items() if value), ""]
    for table in tables(outcome):
        lines += [f"## {table.title}", "", _line(table.columns)]
        lines.append(_line(("---", *("--:" for _ in table.columns[1:]))))
        lines += [*map(_line, table.rows), ""]
    if failed := failures(outcome):
        lines += ["## Failures", ""]
        lines += [f"* {' '.join(line.split())}" for line in failed] + [""]
    return "\n".join(lines)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def save(outcome: dict[str, Any], path: pathlib.Path) -> list[pathlib.Path]:
    """Writes the results as JSON and a summary as Markdown.

    Args:
        outcome: the environment and all rows.
        path: the path of both files, without a suffix.

    Returns:
        The paths written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    files = {".json": json.dumps(outcome, indent=1) + "\n", ".md": markdown(outcome)}
    written = []
    for suffix, text in files.items():
        file = path.with_name(path.name + suffix)
        file.write_text(text)
        written.append(file)
    return written
