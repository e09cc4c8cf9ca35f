"""Compiles and measures kernels with irregular accesses."""

from __future__ import annotations

import argparse
import datetime
import json
import pickle
import runpy
import subprocess
from pathlib import Path
from typing import Any

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def compile_kernels(path: Path, target: str) -> None:
    """Writes manifests and PTX of all kernels for a chip to a file."""
    import sys

    import tilews

    from .irregular_kernels import compile_all

    sys.path.insert(0, str(_EXAMPLES))
    examples = {
        name: runpy.run_path(str(_EXAMPLES / f"{name}.py"))[name]
        for name in ("histogram", "topk", "prefix_sum")
    }
    found = {
        key: (kernel.manifest, kernel.ptx.encode())
        for key, kernel in compile_all(target, examples).items()
    }
    git = ["git", "-C", str(_EXAMPLES), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    path.write_bytes(pickle.dumps((tilews.__version__, commit, found)))


def measure_kernels(path: Path, folder: Path) -> None:
    """Measures the kernels of a file. Writes a table and JSON to a folder."""
    import torch

    from tilews.runtime import LoadedKernel

    from ..timing import Timer
    from . import measured

    version, commit, found = pickle.loads(path.read_bytes())
    kernels = {key: LoadedKernel(*pair) for key, pair in found.items()}
    torch.manual_seed(0)
    smi = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    outcome: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "driver": subprocess.run(smi, capture_output=True, text=True).stdout.strip(),
        "torch": torch.__version__,
        "tilews": f"{version}, {commit}",
        "rows": [],
    }
    timer = Timer()
    for measure in (
        measured.measure_attention,
        measured.measure_experts,
        measured.measure_rows,
        measured.measure_scan,
    ):
        for row in measure(kernels, timer):
            print(row, flush=True)
            outcome["rows"].append(row)
    folder.mkdir(parents=True, exist_ok=True)
    gpu = outcome["gpu"].split()[-1].lower()
    name = folder / f"{outcome['date']}-{gpu}-irregular"
    name.with_suffix(".json").write_text(json.dumps(outcome, indent=1) + "\n")
    name.with_suffix(".md").write_text(describe(outcome))


def describe(outcome: dict[str, Any]) -> str:
    """The table of a run. Of times, the ratio is that of the speeds."""
    facts = [f"{key} {outcome[key]}" for key in ("driver", "torch", "tilews")]
    lines = [
        f"# Irregular kernels on {outcome['gpu']}, {outcome['date']}",
        "",
        f"{', '.join(facts)}. Random data, a cold L2 cache, medians. The error is the",
        "largest one relative to the largest element of a reference in float64; for",
        "sequences of equal lengths, of the other kernel.",
        "",
        "| kernel | case | tilews | other | | against | ratio | error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in outcome["rows"]:
        cells = [row["kernel"], row["case"], "", "", "", "", "", f"{row['error']:.1e}"]
        if "ours" in row:
            ratio = row["ours"] / row["other"]
            ratio = 1 / ratio if row["unit"] == "ms" else ratio
            speeds = [f"{row[side]:.4g}" for side in ("ours", "other")]
            cells[2:7] = [*speeds, row["unit"], row["against"], f"{ratio:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.irregular", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("compile", help="write the kernels for a chip")
    builder.add_argument("--target", default="sm_90a", help="the chip (%(default)s)")
    runner = commands.add_parser("measure", help="measure them on the GPU here")
    runner.add_argument(
        "--results",
        type=Path,
        default=Path("benchmarks/results"),
        help="folder of the table (%(default)s)",
    )
    for each in (builder, runner):
        each.add_argument("file", type=Path, help="the file of the kernels")
    args = parser.parse_args()
    if args.command == "compile":
        compile_kernels(args.file, args.target)
    else:
        measure_kernels(args.file, args.results)


if __name__ == "__main__":
    main()
