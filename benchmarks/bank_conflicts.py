"""Bank conflicts of matmuls, counted by the GPU.

``python -m benchmarks.bank_conflicts`` runs matmuls under Nsight Compute (``ncu``) and
writes how often the GPU repeated an access to shared memory because of a bank conflict.
The analysis in ``lib/Layout`` proves that operands have no conflicts, and tiles of the
result do not pass through shared memory. So the hardware counters must be zero.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import pathlib
import shutil
import subprocess
import sys

import click

from . import kernels, report

RESULTS = pathlib.Path(__file__).parent / "results"
SHAPE = (512, 512, 512)
#: Wavefronts that a conflict adds, by kind of access to shared memory (Nsight Compute,
#: "Metrics Structure"): loads with ldmatrix; stores; cp.async.
METRICS = {
    "loads": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "stores": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "cp.async": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
}
CASES = [
    (chip, dtype, layout)
    for chip in ("sm_80", "sm_90a")
    for dtype in ("f16", "bf16")
    for layout in ("NT", "NN", "TN", "TT")
] + [("sm_90a", "e4m3", "NT")]


def run(chip: str, dtype: str, layout: str) -> None:
    """Launches one matmul of random matrices, once."""
    import torch

    from tilews import runtime

    depth = 128 if dtype == "e4m3" else 64
    config = kernels.GemmConfig(128, 128, depth, 256, 3)
    compiled = kernels.compile_gemm(chip, SHAPE, dtype, layout, config)
    if chip != runtime.device_target():
        # Machine code runs on its own family only. The driver compiles PTX.
        compiled = runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())
    types = {
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "e4m3": torch.float8_e4m3fn,
    }
    m, n, k = SHAPE
    a = torch.randn((k, m) if layout[0] == "T" else (m, k), device="cuda")
    b = torch.randn((n, k) if layout[1] == "T" else (k, n), device="cuda")
    c = torch.empty((m, n), dtype=types[kernels.OUTPUTS[dtype]], device="cuda")
    compiled(a.to(types[dtype]), b.to(types[dtype]), c)
    torch.cuda.synchronize()


def count(ncu: str, case: tuple[str, str, str]) -> dict[str, int]:
    """The hardware counters of the matmul, by the names in :data:`METRICS`.

    Raises:
        click.ClickException: if ncu fails or prints no metrics.
    """
    command = [
        *(ncu, "--clock-control", "none", "--csv", "--page", "raw"),
        *("--kernel-name", "gemm", "--metrics", ",".join(METRICS.values())),
        *(sys.executable, "-m", "benchmarks.bank_conflicts", "--run", ",".join(case)),
    ]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False
    )
    start = result.stdout.find('"ID"')
    if result.returncode or start < 0:
        output = (result.stdout + result.stderr)[-2000:]
        raise click.ClickException(f"ncu failed for {' '.join(case)}:\n{output}")
    rows = list(csv.DictReader(io.StringIO(result.stdout[start:])))
    # The first row has the units.
    return {
        name: sum(int(float(row[metric].replace(",", ""))) for row in rows[1:])
        for name, metric in METRICS.items()
    }


def write(rows: list[dict[str, object]], folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes the hardware counters as JSON and Markdown; returns the files."""
    environment = report.environment()
    date = datetime.date.today()
    name = report.file_name(date, environment["gpu"], ["bank-conflicts"])
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{name}.json"
    data.write_text(json.dumps({"environment": environment, "rows": rows}, indent=1))
    lines = [
        f"# Bank conflicts of matmuls {'x'.join(map(str, SHAPE))} ({date})",
        "",
        f"{environment['gpu']}, counted by Nsight Compute: wavefronts that conflicts",
        "added, by kind of access to shared memory.",
        "",
        f"| case | {' | '.join(METRICS)} |",
        f"| --- |{' --: |' * len(METRICS)}",
        *(
            f"| {row['case']} | {' | '.join(str(row[name]) for name in METRICS)} |"
            for row in rows
        ),
    ]
    page = folder / f"{name}.md"
    page.write_text("\n".join(lines) + "\n")
    return [data, page]


@click.command()
@click.option("--run", "case", help="Only launch this case: chip,dtype,layout.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    default=RESULTS,
    help="Folder for the JSON and Markdown files.  [default: benchmarks/results]",
)
def main(case: str | None, results: pathlib.Path) -> None:
    """Counts bank conflicts; the exit code is 1 if there are any."""
    if case:
        run(*case.split(","))
        return
    ncu = shutil.which("ncu")
    if ncu is None:
        raise click.ClickException("needs Nsight Compute: ncu is not on the PATH")
    rows: list[dict[str, object]] = []
    for chosen in CASES:
        rows.append({"case": " ".join(chosen), **count(ncu, chosen)})
        click.echo(rows[-1])
    for path in write(rows, results):
        click.echo(f"written: {path}")
    if any(row[name] for row in rows for name in METRICS):
        sys.exit(1)


if __name__ == "__main__":
    main()
