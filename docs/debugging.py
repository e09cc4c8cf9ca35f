"""Writes docs/debugging.md: debugging.md.in with the output of the tools.

A line of the template such as

    {{tilews-opt hang.mlir -o /dev/null | select error|note}}

becomes the command and its output: the lines in which the regular expression is found,
"..." between them. Commands run in a folder with the files that :func:`prepare` writes.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from pipeline import fence

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("debugging.md.in")
NOTE = "<!-- Made from debugging.md.in by `make docs`; edit that. -->"
WIDTH = 92
#: The commands of the package, which a build tree does not install.
MODULES = {"tilews": "tilews", "tilews-sim": "tilews.sim", "python": None}

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
        place = tl.max(acc).to(tl.i32)
    C[0, 0] = acc
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
    right = example["schedule"]()
    (folder / "right.mlir").write_text(right)
    (folder / "hang.mlir").write_text(example["forget_releases"](right))
    race = re.sub(r"^ *tile\.wait .*\n", "", right, flags=re.M)
    (folder / "race.mlir").write_text(race)
    (folder / "lost.py").write_text(LOST)
    (folder / "timeline.py").write_text(TIMELINE)


def run(command: str, folder: Path) -> str:
    """What a command prints on both streams, with paths relative to the folder."""
    program, _, arguments = command.partition(" ")
    if program in MODULES:
        module = MODULES[program]
        program = f"{sys.executable} -m {module}" if module else sys.executable
    build = os.environ.get("TILEWS_BUILD_DIR", ROOT / "build/dev")
    environment = {
        **os.environ,
        "PATH": f"{Path(build).resolve() / 'bin'}:{os.environ['PATH']}",
        "COLUMNS": "88",
    }
    done = subprocess.run(
        f"{program} {arguments}",
        cwd=folder,
        env=environment,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")


def select(output: str, pattern: str) -> list[str]:
    """The lines of an output that match, and "..." for those between them."""
    lines, chosen = output.splitlines(), []
    for line in lines:
        if re.search(pattern, line):
            chosen.append(line.rstrip())
        elif chosen and chosen[-1] != "...":
            chosen.append("...")
    if not any(line != "..." for line in chosen):
        raise ValueError(f"no line matches '{pattern}':\n{output}")
    return chosen[:-1] if chosen[-1] == "..." else chosen


def wrap(line: str) -> list[str]:
    """A line as lines that fit a screen."""
    indent = re.match(r"\s*", line).group() + "    "
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    ) or [""]


def wrap_command(command: str) -> list[str]:
    """A command as lines of a shell."""
    lines = wrap(f"$ {command}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def render() -> str:
    """The text of docs/debugging.md."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)

        def fill(match: re.Match) -> str:
            command, _, pattern = match.group(1).partition(" | select ")
            lines = select(run(command, folder).strip("\n"), pattern or "")
            shown = [part for line in lines for part in wrap(line)]
            return fence("text", [*wrap_command(command), *shown])

        text = re.sub(r"^\{\{(.*)\}\}$", fill, TEMPLATE.read_text(), flags=re.M)
    return f"{NOTE}\n\n{text}"
