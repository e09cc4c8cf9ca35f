"""Exports the model of a kernel, and lets Spin explore it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from ..errors import CompileError

#: What a search may take by default.
SECONDS = 60
MEGABYTES = 2000
#: The longest run, and the size of a state. Both are far more than models need.
_STEPS = 1_000_000
_STATE_BYTES = 65536
#: How a search is compiled, and the most time for it. Most searches take less time
#: than a compiler needs to optimize one; tcc is the fastest to compile.
_COMPILERS = ("cc", "gcc", "clang", "clang-22")
_LEVELS = ((("tcc", *_COMPILERS), "-O0", 5), (_COMPILERS, "-O2", None))
#: Searches of up to this many seconds are not optimized, which takes half of that.
_SHORT = 10
#: Bounds of the inputs, where a search of all that the model has takes too long.
_SMALLER = (1, 2, 3)
#: How the reasons of such a verdict begin.
_LIMITS = ("out of memory", "more than")


class MissingSpin(Exception):
    """Spin or a C compiler is not installed."""


@dataclasses.dataclass(frozen=True)
class SpinVerdict:
    """What Spin found of a model.

    Attributes:
        outcome: ``"right"``: no run breaks a rule or deadlocks. ``"wrong"``: a run
            does. ``"unknown"``: the search was not complete. ``"declined"``: the kernel
            has no model.
        reason: The rule that is broken, or what else the outcome is due to.
        place: The operation of the kernel at that rule; for a deadlock, those at which
            processes wait.
        states: How many states were explored.
        bound: The bound that inputs were chosen within, if it is not that of the model.
    """

    outcome: str
    reason: str = ""
    place: str = ""
    states: int = 0
    bound: int | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether the search took all of its time or memory."""
        return self.reason.startswith(_LIMITS)

    def __str__(self) -> str:
        text = f"{self.outcome}: {self.reason}" if self.reason else self.outcome
        if self.place:
            text += f"\n  {self.place}"
        if self.bound is not None:
            text += f" (bound {self.bound})"
        return f"{text} ({self.states} states)" if self.states else text


def _find(*tools: str) -> str:
    for name in tools:
        if path := shutil.which(name):
            return path
    raise MissingSpin(
        f"{' or '.join(tools)} is not installed; on Debian: apt-get install spin gcc"
    )


def _translate_path() -> pathlib.Path:
    return pathlib.Path(__file__).parents[1] / "bin" / "tilews-translate"


def export_model(
    text: str,
    *,
    bound: int | None = None,
    values: Mapping[str, int | Sequence[int]] | None = None,
    kernel: str | None = None,
) -> str:
    """The model of a kernel in Promela.

    Args:
        text: The module that has the kernel.
        bound: The largest number that is chosen for an input.
        values: Inputs that are not chosen, by name: numbers, or the elements of memory.
        kernel: Its name, if there are several.

    Raises:
        CompileError: the kernel has no model.
    """
    command = [str(_translate_path()), "--to=promela", "-"]
    if bound is not None:
        command.append(f"--bound={bound}")
    if kernel is not None:
        command.append(f"--kernel={kernel}")
    for name, value in (values or {}).items():
        numbers = [value] if isinstance(value, int) else value
        command.append(f"--value={name}={':'.join(map(str, numbers))}")
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    if run.returncode:
        raise CompileError(run.stderr.strip())
    return run.stdout


def _run(command: Sequence[str], folder: pathlib.Path, seconds: int) -> str | None:
    """The output of a command; None if it takes more CPU time."""
    run = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    return run.stdout + run.stderr


def _comment_before(lines: Sequence[str], number: int) -> str:
    """The operation of the kernel that line `number` of a model belongs to."""
    for line in reversed(lines[:number]):
        if match := re.search(r"/\* (\d+: .*) \*/$", line):
            return match[1]
    return ""


def _find_places(model: str, trail: str) -> str:
    """Where the run of a trail ends: at a rule, or where processes wait."""
    lines = model.splitlines()
    if match := re.search(r"spin: model\.pml:(\d+), Error: assertion", trail):
        return _comment_before(lines, int(match[1]))
    waiting = re.findall(r"proc +\d+ \((\w+):\d+\) model\.pml:(\d+) ", trail)
    places = [
        f"{name} waits at {comment}"
        for name, line in waiting
        if name not in ("init", "kernel")
        and not lines[int(line) - 1].lstrip().startswith(("do", "::", "end"))
        and (comment := _comment_before(lines, int(line)))
    ]
    return "\n  ".join(dict.fromkeys(places))


def _read_verdict(output: str) -> SpinVerdict:
    """The verdict in the output of a search."""
    match = re.search(r"^ *(\d+) states, stored", output, re.MULTILINE)
    states = int(match[1]) if match else 0
    if match := re.search(r"^pan:\d+: (.*?) \(at depth", output, re.MULTILINE):
        reason = match[1]
        if reason.startswith("assertion violated"):
            rule = re.sub(r"^\((.*)\|\|infeasible\)$", r"\1", reason[19:].strip())
            if re.search(r"q_full|nfull", rule):
                return SpinVerdict("unknown", "a queue of the model is too short")
            return SpinVerdict("wrong", f"broken rule: {rule}", states=states)
        if reason.startswith("invalid end state"):
            return SpinVerdict("wrong", "deadlock", states=states)
        return SpinVerdict("unknown", reason, states=states)
    for sign, reason in (
        ("max search depth too small", "a run is too long"),
        ("reached -DMEMLIM", _LIMITS[0]),
        ("Search not completed", "the search was not completed"),
    ):
        if sign in output:
            return SpinVerdict("unknown", reason, states=states)
    if "errors: 0" not in output:
        return SpinVerdict("unknown", output.strip()[-300:])
    return SpinVerdict("right", states=states)


def explore(
    model: str, *, seconds: int = SECONDS, megabytes: int = MEGABYTES
) -> SpinVerdict:
    """Explores all runs of a model.

    Args:
        model: Its text.
        seconds: The most CPU time for the search.
        megabytes: The most memory for it.

    Raises:
        MissingSpin: Spin or a C compiler is not installed.
    """
    spin = _find("spin")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.pml").write_text(model)
        made = _run([spin, "-a", "model.pml"], folder, 60) or ""
        if not (folder / "pan.c").exists() or "Error" in made:
            return SpinVerdict("unknown", f"spin: {made.strip()[:300]}")
        flags = ["-w", "-DSAFETY", "-DCOLLAPSE", f"-DVECTORSZ={_STATE_BYTES}"]
        flags += [f"-DMEMLIM={megabytes}", "-o", "pan", "pan.c"]
        output = None
        for compilers, level, limit in _LEVELS:
            compiler = _find(*compilers)
            built = _run([compiler, level, *flags], folder, 120)
            if not (folder / "pan").exists():
                return SpinVerdict("unknown", f"{compiler}: {(built or '')[:300]}")
            limit = seconds if seconds <= _SHORT else min(limit or seconds, seconds)
            output = _run(["./pan", f"-m{_STEPS}", "-w20"], folder, limit)
            if output is not None or limit == seconds:
                break
        if output is None:
            return SpinVerdict("unknown", f"{_LIMITS[1]} {seconds} seconds")
        verdict = _read_verdict(output)
        if verdict.outcome != "wrong":
            return verdict
        trail = _run([spin, "-t", "model.pml"], folder, 60) or ""
        return dataclasses.replace(verdict, place=_find_places(model, trail))


def check(
    text: str,
    *,
    bound: int | None = None,
    values: Mapping[str, int | Sequence[int]] | None = None,
    kernel: str | None = None,
    seconds: int = SECONDS,
    megabytes: int = MEGABYTES,
) -> SpinVerdict:
    """Explores all runs of the kernel in a module.

    The arguments are those of :func:`export_model` and :func:`explore`. Without
    `bound`, a search that is too long is followed by searches with bounds that grow, up
    to the first that is too long, too. The verdict is that of the largest one that came
    to its end.

    Raises:
        MissingSpin: Spin or a C compiler is not installed.
    """
    verdict = SpinVerdict("unknown")
    for tried in (None, *_SMALLER) if bound is None else (bound,):
        try:
            model = export_model(text, bound=tried, values=values, kernel=kernel)
        except CompileError as error:
            return SpinVerdict("declined", str(error))
        found = explore(model, seconds=seconds, megabytes=megabytes)
        if found.is_exhausted and verdict.outcome == "right":
            break
        verdict = dataclasses.replace(found, bound=tried)
        may_go_on = found.is_exhausted if tried is None else found.outcome == "right"
        if not may_go_on:
            break
    return verdict
