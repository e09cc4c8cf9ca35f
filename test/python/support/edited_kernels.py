"""Kernels as a right base and short lists of edits, with the verdict on each.

    BASE two_buffers

    // The consumer reads a slot that it has not waited for.
    CASE missing_wait
      drop `tile.wait`
      WRONG at `tile.release`: role @math releases slot 0 in phase 0, which ...

`BASE name` takes the kernel of `Inputs/name.mlir`, which has to be proved. Each `CASE`
below it starts from that kernel or, with `CASE name FROM other`, from an earlier proved
case of the file. Its function gets the name of the case. A line `//` is a comment. The
edits of a case follow one another:

    drop `place`
    replace `old` with `new`
    replace `old` with `new` at `place`
    move `place` before `place`                    (or after)
    copy `place` before `place`                    (or after)
    insert before `place`                          (or after)
      + %c7 = arith.constant 7 : index
    rewrite `place`
      + tile.barrier

A place is a piece of the text of one line of the kernel, and stands for the operation
on that line with all its regions. `in @role` after it looks in that role only, and `#n`
takes the n-th of several lines. A place that is on no line is an error, and so is one
that is on several lines and has no `#n`, or an edit that changes nothing. `drop`,
`move`, `copy` and `rewrite` take ranges of operations, too: drop `first` to `last`.

The verdict comes after the edits. The text after its colon is the whole message:

    PROVED                      tile-verify-0002, at the function; `PROVED: details`
    WRONG at `place`: text      the error "schedule of @case is wrong: text"
    UNPROVED at `place`: text   tile-verify-0001, "... is not verified: text"
    ERROR at `place`: text      any other error
    NOTE at `place`: text       a note of the verdict before it

The command prints the kernels with `expected-...` comments, as
`tilews-opt --split-input-file --verify-diagnostics` reads them:

    python test/python/support/edited_kernels.py FILE               # all cases
    python test/python/support/edited_kernels.py FILE --emit CASE   # one of them
    python test/python/support/edited_kernels.py FILE --run CASE    # verifies it, too
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]
PASS = "builtin.module(gpu.module(tile-verify-schedule{report}))"
SEPARATOR = "// -----\n"

_MESSAGES = {
    "PROVED": ("remark", "tile-verify-0002: schedule of @{name} is proved{text}"),
    "WRONG": ("error", "schedule of @{name} is wrong: {text}"),
    "UNPROVED": (
        "remark",
        "tile-verify-0001: schedule of @{name} is not verified: {text}",
    ),
    "ERROR": ("error", "{text}"),
    "NOTE": ("note", "{text}"),
}


class EditError(Exception):
    """Says what is wrong with a list of edits, and where."""


@dataclasses.dataclass(frozen=True)
class OperationPlace:
    """A line of a kernel: the one, or the n-th, that has `text` in it."""

    text: str
    role: str | None = None
    number: int | None = None
    #: Where a range of lines that begins here ends.
    last: OperationPlace | None = None

    def __str__(self) -> str:
        return f"`{self.text}`" + (f" in @{self.role}" if self.role else "")


_FUNCTION = OperationPlace("gpu.func @")


@dataclasses.dataclass
class KernelText:
    """The lines of a module with one kernel, and edits of them."""

    lines: list[str]

    def find(self, place: OperationPlace) -> int:
        """Returns the number of the line at `place`."""
        lines = range(len(self.lines))
        if place.role:
            lines = self.operations(OperationPlace(f"tile.role @{place.role} "))
        found = [line for line in lines if place.text in self.lines[line]]
        if len(found) != 1 and place.number is None:
            texts = "".join(f"\n    {self.lines[line].strip()}" for line in found)
            raise EditError(f"{place} is on {len(found)} lines, expected 1{texts}")
        number = 1 if place.number is None else place.number
        if not 0 < number <= len(found):
            raise EditError(f"{place} is on {len(found)} lines, expected #{number}")
        return found[number - 1]

    def operations(self, place: OperationPlace) -> range:
        """Returns the lines of the operations at `place`, with their regions."""
        lines = self._operation(self.find(place))
        if place.last is None:
            return lines
        last = self._operation(self.find(place.last))
        inside = [_indentation(each) for each in self.lines[lines.start : last.stop]]
        if not inside or min(inside) != inside[0] or inside[-1] != inside[0]:
            raise EditError(f"{place.last} does not follow {place} in its block")
        return range(lines.start, last.stop)

    def drop(self, place: OperationPlace) -> list[str]:
        """Removes operations; returns their lines."""
        lines = self.operations(place)
        dropped = self.lines[lines.start : lines.stop]
        del self.lines[lines.start : lines.stop]
        return dropped

    def insert(self, new: list[str], side: str, place: OperationPlace) -> None:
        """Inserts lines before or after an operation, and indents them like it."""
        lines = self.operations(place)
        at = lines.start if side == "before" else lines.stop
        self.lines[at:at] = self._indent(new, lines.start)

    def rewrite(self, new: list[str], place: OperationPlace) -> None:
        lines = self.operations(place)
        self.lines[lines.start : lines.stop] = self._indent(new, lines.start)

    def move(self, place: OperationPlace, side: str, to: OperationPlace) -> None:
        self.insert(self.drop(place), side, to)

    def copy(self, place: OperationPlace, side: str, to: OperationPlace) -> None:
        lines = self.operations(place)
        self.insert(self.lines[lines.start : lines.stop], side, to)

    def replace(self, old: str, new: str, place: OperationPlace) -> None:
        """Replaces a text that is once on the line at `place`."""
        line = self.find(place)
        if (count := self.lines[line].count(old)) != 1:
            raise EditError(f"`{old}` is {count} times on the line, expected once")
        self.lines[line] = self.lines[line].replace(old, new)

    def rename(self, name: str) -> None:
        """Gives the kernel another name."""
        text = "\n".join(self.lines)
        names = re.findall(r"gpu\.func @(\w+)", text)
        if len(names) != 1:
            raise EditError(f"expected a base with one gpu.func, found {len(names)}")
        self.lines = re.sub(rf"@{names[0]}\b", f"@{name}", text).split("\n")

    def _operation(self, first: int) -> range:
        """Returns the lines of the operation on line `first`, with its regions."""
        if not self.lines[first].endswith("{"):
            return range(first, first + 1)
        closing = _indentation(self.lines[first]) + "}"
        last = first + 1
        while not self.lines[last].startswith(closing) or self.lines[last][-1] == "{":
            last += 1
        return range(first, last + 1)

    def _indent(self, new: list[str], like: int) -> list[str]:
        old = len(_indentation(new[0]))
        return [_indentation(self.lines[like]) + line[old:] for line in new]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


@dataclasses.dataclass(frozen=True)
class ExpectedVerdict:
    """What the compiler says of a kernel, and where."""

    kind: str
    text: str
    place: OperationPlace

    def comment(self, name: str) -> str:
        """Returns the comment that makes --verify-diagnostics expect this."""
        severity, form = _MESSAGES[self.kind]
        message = form.format(name=name, text=self.text)
        if self.kind == "PROVED" and not self.text:
            return f"// expected-{severity} @below {{{{{message}}}}}"
        # The whole message: without the anchors a part of it would do.
        whole = f"{{{{^}}}}{message}{{{{$}}}}"
        return f"// expected-{severity}-re @below {{{{{whole}}}}}"


@dataclasses.dataclass
class EditedCase:
    """A kernel with what the compiler says of it."""

    name: str
    where: str
    kernel: KernelText
    is_base: bool = False
    edits: int = 0
    verdicts: list[ExpectedVerdict] = dataclasses.field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        return any(each.kind in ("WRONG", "ERROR") for each in self.verdicts)

    @property
    def is_proved(self) -> bool:
        return [each.kind for each in self.verdicts] == ["PROVED"]

    def add(self, verdict: ExpectedVerdict) -> None:
        if self.is_base:
            raise EditError("a base has no verdict of its own: it has to be proved")
        if (verdict.kind == "NOTE") != bool(self.verdicts):
            raise EditError("a case has one verdict, and notes after it")
        if "{{" in verdict.text or "}}" in verdict.text:
            raise EditError("a message cannot contain {{ or }}")
        self.kernel.find(verdict.place)
        self.verdicts.append(verdict)

    def check(self) -> None:
        """Refuses a case that lacks something."""
        if not self.edits and not self.is_base:
            raise EditError(f"the case {self.name} has no edits")
        if not self.verdicts:
            raise EditError(f"the case {self.name} has no verdict")

    def text(self) -> str:
        """Returns the module, with comments for --verify-diagnostics."""
        expected: dict[int, list[str]] = {}
        for verdict in self.verdicts:
            line = self.kernel.find(verdict.place)
            expected.setdefault(line, []).append(verdict.comment(self.name))
        lines = [f"// {self.where}: {self.name}"]
        for number, line in enumerate(self.kernel.lines):
            lines += [_indentation(line) + each for each in expected.get(number, ())]
            lines.append(line)
        return "\n".join(lines) + "\n"


# --- The edits -------------------------------------------------------------------

_PLACE = r"`(?P<{0}>[^`]+)`(?: in @(?P<{0}_role>\w+))?(?: #(?P<{0}_number>\d+))?"
_AT = _PLACE.format("at")
_TO = _PLACE.format("to")
_ALL = f"{_AT}(?: to {_PLACE.format('last')})?"


def _place(match: re.Match[str], group: str) -> OperationPlace:
    number = match[f"{group}_number"]
    last = (
        _place(match, "last")
        if group == "at" and match.groupdict().get("last")
        else None
    )
    number = int(number) if number else None
    return OperationPlace(match[group], match[f"{group}_role"], number, last)


def _drop(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    kernel.drop(_place(match, "at"))


def _replace(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    at = (
        _place(match, "at")
        if match["at"]
        else OperationPlace(match["old"], match["role"])
    )
    kernel.replace(match["old"], match["new"], at)


def _move(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    kernel.move(_place(match, "at"), match["side"], _place(match, "to"))


def _copy(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    kernel.copy(_place(match, "at"), match["side"], _place(match, "to"))


def _insert(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    kernel.insert(added, match["side"], _place(match, "to"))


def _rewrite(kernel: KernelText, match: re.Match[str], added: list[str]) -> None:
    kernel.rewrite(added, _place(match, "at"))


#: What each edit looks like, and what it does.
_EDITS = {
    re.compile(f"drop {_ALL}"): _drop,
    re.compile(
        rf"replace `(?P<old>[^`]+)` with `(?P<new>[^`]*)`"
        rf"(?: in @(?P<role>\w+)| at {_AT})?"
    ): _replace,
    re.compile(f"move {_ALL} (?P<side>before|after) {_TO}"): _move,
    re.compile(f"copy {_ALL} (?P<side>before|after) {_TO}"): _copy,
    re.compile(f"insert (?P<side>before|after) {_TO}"): _insert,
    re.compile(f"rewrite {_ALL}"): _rewrite,
}
_TAKES_LINES = (_insert, _rewrite)


# --- The files -------------------------------------------------------------------

_BASE = re.compile(r"BASE (?P<name>\w+)")
_CASE = re.compile(r"CASE (?P<name>\w+)(?: FROM (?P<parent>\w+))?")
_PROVED = re.compile(r"PROVED(?P<text>: .+)?")
_VERDICT = re.compile(rf"(?P<kind>WRONG|UNPROVED|ERROR|NOTE) at {_AT}: (?P<text>.+)")


def _statements(text: str) -> list[tuple[int, str, list[str]]]:
    """Returns the number and the text of each line, with its lines of IR."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("+ ") and found:
            found[-1][2].append(line[2:])
        elif line and not line.startswith("//"):
            found.append((number, line, []))
    return found


class _Reader:
    """Reads the cases of a file."""

    def __init__(self, path: pathlib.Path):
        self.cases: dict[str, EditedCase] = {}
        self._path = path
        self._base: str | None = None
        self._where = path.name
        for number, line, added in _statements(path.read_text()):
            self._where = f"{path.name}:{number}"
            self._guarded(self._read, line, added)
        self._guarded(lambda: self._case().check())

    def _guarded(self, step, *arguments) -> None:
        try:
            step(*arguments)
        except EditError as error:
            raise EditError(f"{self._where}: {error}") from None

    def _read(self, line: str, added: list[str]) -> None:
        for pattern, edit in _EDITS.items():
            if match := pattern.fullmatch(line):
                self._edit(edit, match, added)
                return
        if added:
            raise EditError("only `insert` and `rewrite` take lines of IR")
        if match := _BASE.fullmatch(line):
            self._begin_base(match["name"])
        elif match := _CASE.fullmatch(line):
            self._begin_case(match["name"], match["parent"] or self._base)
        elif match := _PROVED.fullmatch(line):
            self._case().add(ExpectedVerdict("PROVED", match["text"] or "", _FUNCTION))
        elif match := _VERDICT.fullmatch(line):
            verdict = ExpectedVerdict(match["kind"], match["text"], _place(match, "at"))
            self._case().add(verdict)
        else:
            raise EditError(f"expected BASE, CASE, an edit or a verdict, found: {line}")

    def _edit(self, edit, match: re.Match[str], added: list[str]) -> None:
        case = self._case()
        if case.is_base or case.verdicts:
            raise EditError("an edit comes after CASE and before its verdict")
        if (edit in _TAKES_LINES) != bool(added):
            need = "needs" if edit in _TAKES_LINES else "takes no"
            raise EditError(f"this edit {need} lines of IR that begin with `+ `")
        before = list(case.kernel.lines)
        edit(case.kernel, match, added)
        if case.kernel.lines == before:
            raise EditError("the edit changes nothing")
        case.edits += 1

    def _begin_base(self, name: str) -> None:
        folders = list(self._path.resolve().parents)[:2]
        paths = [each / "Inputs" / f"{name}.mlir" for each in folders]
        path = next((each for each in paths if each.exists()), None)
        if path is None:
            raise EditError(
                f"there is no base Inputs/{name}.mlir here or one folder up"
            )
        lines = path.read_text().rstrip().split("\n")
        kernel = KernelText(
            [each for each in lines if not each.lstrip().startswith("//")]
        )
        base = EditedCase(name, self._where, kernel)
        self._enter(base)
        base.add(ExpectedVerdict("PROVED", "", _FUNCTION))
        base.is_base = True
        self._base = name

    def _begin_case(self, name: str, parent: str | None) -> None:
        if parent not in self.cases:
            raise EditError(f"there is no base or case {parent} before")
        if not self.cases[parent].is_proved:
            raise EditError(f"the case {parent} is not proved")
        lines = self.cases[parent].kernel.lines
        self._enter(EditedCase(name, self._where, KernelText(list(lines))))

    def _enter(self, case: EditedCase) -> None:
        if self.cases:
            self._case().check()
        if case.name in self.cases:
            raise EditError(f"there are two cases {case.name}")
        case.kernel.rename(case.name)
        self.cases[case.name] = case

    def _case(self) -> EditedCase:
        if not self.cases:
            raise EditError("a BASE has to come first")
        return list(self.cases.values())[-1]


def read(path: pathlib.Path) -> dict[str, EditedCase]:
    """Returns the cases of a file by their names, bases included."""
    return _Reader(path).cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--emit", metavar="CASE", help="print one case only")
    chosen.add_argument("--run", metavar="CASE", help="print what is said of a case")
    arguments = parser.parse_args()
    try:
        cases = read(arguments.file)
    except EditError as error:
        sys.exit(f"error: {error}")
    name = arguments.emit or arguments.run
    if name is None:
        print(SEPARATOR.join(each.text() for each in cases.values()), end="")
        return
    if name not in cases:
        sys.exit(f"error: no case {name}, only: {' '.join(cases)}")
    if arguments.emit:
        print(cases[name].text(), end="")
        return
    build = pathlib.Path(os.environ.get("TILEWS_BUILD_DIR", ROOT / "build/dev"))
    command = [build / "bin/tilews-opt", "-", f"--pass-pipeline={PASS}"]
    command += ["-o", os.devnull, "--mlir-print-op-on-diagnostic=false"]
    module = "\n".join(cases[name].kernel.lines)
    sys.exit(subprocess.run(command, input=module, text=True).returncode)


if __name__ == "__main__":
    main()
