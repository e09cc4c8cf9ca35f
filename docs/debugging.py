"""Writes docs/debugging.md: debugging.md.in with the output of the tools.

Its commands (shell.py) run in a folder with the files that :func:`prepare` writes.
"""

import runpy
import shutil
import tempfile
from pathlib import Path

import shell

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("debugging.md.in")
NOTE = "<!-- Made from debugging.md.in by `make docs`; edit that. -->"

#: A loop whose copies depend on what it computes.
LOST = """\
import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def total(A: tl.Tensor["64, K:8", tl.f16], C: tl.Tensor["64, 64", tl.f32]):
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    place = 0
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[0, place], As)
        acc = acc + tl.load(As).to(tl.f32)
        place = tl.max(acc).to(tl.i32) * 64
    C[0, 0] = acc
"""

#: A kernel with an inlined function.
LINES = """\
import tilews
import tilews.language as tl


@tilews.func
def half(x):
    return 0.5 * x


@tilews.kernel(threads=128)
def mean(A: tl.Tensor["128", tl.f32], C: tl.Tensor["128", tl.f32]):
    tl.grid(1)
    C[0] = half(tl.load(A) + tl.load(C))
"""

TIMELINE = """\
import numpy as np
from tilews import ir, sim

arrays = [np.ones(shape, np.float16) for shape in ((64, 512), (512, 64))]
with ir.Context():
    module = ir.Module.parseFile("right.mlir")
    trace = sim.trace(module, "gemm", [*arrays, np.zeros((64, 64), np.float32)])
print(trace.summary())
"""


def prepare(folder: Path) -> None:
    """Writes the files that the commands of the page read."""
    shutil.copy(ROOT / "examples/gemm.mlir", folder)
    example = runpy.run_path(str(ROOT / "examples/debug_a_hang.py"))
    example["write_schedules"](folder)
    (folder / "lost.py").write_text(LOST)
    (folder / "lines.py").write_text(LINES)
    (folder / "timeline.py").write_text(TIMELINE)


def render() -> str:
    """The text of docs/debugging.md."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        return f"{NOTE}\n\n{shell.fill(TEMPLATE.read_text(), Path(name))}"
