"""Runs the commands that pages show, and lays out what they print.

A line of a template such as

    {{tilews-opt hang.mlir -o /dev/null | select error|note}}

becomes the command and its output: the lines in which the regular expression is found,
"..." between them. A command that prints nothing is shown alone.
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from pipeline import fence

ROOT = Path(__file__).parents[1]
WIDTH = 92
#: The commands of the package, which a build tree does not install.
MODULES = {"tilews": "tilews", "tilews-sim": "tilews.sim", "python": None}


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
        # The command runs in another folder.
        "PYTHONPATH": ":".join(map(os.path.abspath, sys.path[1:])),
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


def fill(template: str, folder: Path) -> str:
    """The text of a template, with the output of its commands.

    Args:
        template: the text.
        folder: where the commands run; it has the files that they read.
    """

    def show(match: re.Match) -> str:
        command, _, pattern = match.group(1).partition(" | select ")
        output = run(command, folder).strip("\n")
        lines = select(output, pattern or "") if output or pattern else []
        shown = [part for line in lines for part in wrap(line)]
        return fence("text", [*wrap_command(command), *shown])

    return re.sub(r"^\{\{(.*)\}\}$", show, template, flags=re.M)
