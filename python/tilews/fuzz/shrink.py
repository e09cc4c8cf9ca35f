"""Shrinks a kernel that shows a fault, statement by statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from .check import FuzzFinding, Options
from .processes import check_apart
from .random_program import RandomProgram


def shrink(
    program: RandomProgram, finding: FuzzFinding, options: Options
) -> RandomProgram:
    """The smallest kernel found that shows the same fault.

    Args:
        program: the kernel.
        finding: the fault of `program`. Other faults of smaller kernels do not count.
        options: the options with which the fault was found. Only the chip of the
            finding is used.
    """
    chip = finding.step.rpartition(" ")[2]
    chips = (chip,) if chip else options.chips
    # Faults of device code and of the reference need checks that are not always run.
    options = dataclasses.replace(
        options,
        chips=chips,
        rotates=False,
        emit_every=1 if finding.kind in ("emit", "crash", "hang") else 0,
        reference_every=1 if finding.kind == "reference" else 0,
    )

    def is_wrong(candidate: RandomProgram) -> bool:
        try:
            candidate.function()
        except SyntaxError:
            return False
        return any(
            (one.kind, one.step) == (finding.kind, finding.step)
            for one in check_apart(candidate, options)
        )

    changed = True
    while changed:
        changed = False
        for source in _smaller(program.source):
            candidate = dataclasses.replace(program, source=source)
            if is_wrong(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(source: str) -> Iterator[str]:
    """Sources without one of the statements, the largest statement first."""
    lines = source.splitlines()
    body = next(i for i, line in enumerate(lines) if line == "):") + 1
    ends = {i: _end(lines, i) for i in range(body, len(lines))}
    for first in sorted(ends, key=lambda i: i - ends[i]):
        last = ends[first]
        indent = " " * _indentation(lines[first])
        # Without the statement; a block must not end up empty.
        for less in ([], [f"{indent}pass"]):
            if lines[first:last] != less:
                yield _join(lines[:first] + less + lines[last:])
        if last - first > 1:
            inside = [line[4:] for line in lines[first + 1 : last]]
            yield _join(lines[:first] + inside + lines[last:])


def _end(lines: list[str], first: int) -> int:
    """The number of the line after a statement and its body."""
    depth = _indentation(lines[first])
    last = first + 1
    while last < len(lines) and _indentation(lines[last]) > depth:
        last += 1
    return last


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _join(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
