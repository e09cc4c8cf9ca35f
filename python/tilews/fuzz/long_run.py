"""A run of a fuzzer that may be interrupted, and goes on where it was."""

from __future__ import annotations

import collections
import json
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from .._support import files

Result = TypeVar("Result")

#: Seconds between two writes of the state.
_PAUSE = 5.0


class LongRun:
    """What was found so far of numbered inputs, in a file.

    Attributes:
        first: the first input of all runs.
        next: the first input that is not done; the next run starts with it.
        ahead: inputs after it that are done.
        outcomes: how often each outcome was found.
        findings: what should not have happened, by input.
        seconds: how long all runs took.
        inputs: distinguishes sets of inputs.
    """

    def __init__(
        self,
        path: pathlib.Path | None,
        first: int = 0,
        *,
        end: int | None = None,
        inputs: str = "",
    ) -> None:
        """Reads the state of a file, if there is one, else starts with `first`.

        Args:
            path: the file.
            first: the first input.
            end: the number after the last input, if they have an end. A run after a
                complete one starts anew.
            inputs: distinguishes sets of inputs. A file about others is not read.
        """
        self._path = path
        self._end = end
        read = json.loads(path.read_text()) if path and path.exists() else {}
        is_done = end is not None and read.get("next", first) >= end
        if is_done or read.get("inputs", "") != inputs:
            read = {}
        self.inputs = inputs
        self.first: int = read.get("first", first)
        self.next: int = read.get("next", first)
        self.ahead: set[int] = set(read.get("ahead", []))
        self.outcomes = collections.Counter[str](read.get("outcomes", {}))
        self.findings: dict[str, str] = read.get("findings", {})
        self.seconds: float = read.get("seconds", 0.0)

    def save(self) -> None:
        """Writes the file. An interruption leaves the old one or the new one."""
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            state = {k: v for k, v in vars(self).items() if not k.startswith("_")}
            state["ahead"] = sorted(self.ahead)
            files.write(self._path, json.dumps(state, indent=1) + "\n")

    def run(
        self,
        count: int,
        start: Callable[[Sequence[int]], Iterable[tuple[int, Result]]],
    ) -> Iterator[tuple[int, Result]]:
        """Runs the next inputs.

        Args:
            count: how many there are.
            start: gets the inputs; yields each with its result, in any order.

        Yields:
            What `start` yields. The caller adds it to `outcomes` and `findings`.
        """
        end = self.next + count
        left = range(self.next, end if self._end is None else min(end, self._end))
        numbers = [number for number in left if number not in self.ahead]
        saved = begin = time.monotonic()
        before = self.seconds
        try:
            for number, result in start(numbers):
                yield number, result
                self.ahead.add(number)
                while self.next in self.ahead:
                    self.ahead.discard(self.next)
                    self.next += 1
                self.seconds = before + time.monotonic() - begin
                if time.monotonic() - saved > _PAUSE:
                    self.save()
                    saved = time.monotonic()
        finally:
            self.save()

    @property
    def count(self) -> int:
        """How many inputs are done, those of earlier runs included."""
        return self.next - self.first + len(self.ahead)

    def describe(self, what: str) -> str:
        """One line: how much was done, in which time, with which outcomes."""
        outcomes = ", ".join(f"{n} {name}" for name, n in self.outcomes.most_common())
        return (
            f"{self.count} {what} in {self.seconds:.0f} s; "
            f"{len(self.findings)} findings; {outcomes}"
        )
