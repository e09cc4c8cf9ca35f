"""Runs cases in worker processes, and kills processes that hang."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from .cases import Case
from .worker import GPU_LOST

WORKER = (sys.executable, "-m", "benchmarks.worker")
#: Seconds until a worker has imported torch and reached the GPU.
START_TIMEOUT = 180.0
#: After so many hanging workers, the remaining cases are given up.
MAX_KILLED = 3


class WorkerError(Exception):
    """No worker could be started; the text says why."""


class Worker:
    """A process that measures cases, and its messages."""

    def __init__(self, command: Sequence[str], cases: list[Case]) -> None:
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        ).start()
        try:
            json.dump([case.to_json() for case in cases], self._process.stdin)
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # The process ended at once; its messages end, too.

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """The next message; None when there are no more.

        Raises:
            TimeoutError: none came within `timeout` seconds.
        """
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer for {timeout:g} s") from None
        return None if line is None else json.loads(line)

    def close(self, patience: float) -> tuple[int, str]:
        """Ends the process; returns its exit code and the end of its output.

        Args:
            patience: seconds to wait for its end before it is killed.
        """
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace").strip()
        self._errors.close()
        return code, "\n".join(text.splitlines()[-12:])


class Session:
    """Measures cases in workers, one after the other.

    If a worker hangs or crashes, its case gets a row that says so, and a new worker
    measures the next cases.

    Attributes:
        rows: results, each with the fields of its case.
        versions: versions of the libraries that the workers use.
    """

    def __init__(
        self,
        timeout: float,
        report: Callable[[str], None],
        command: Sequence[str] = WORKER,
    ) -> None:
        """Starts no worker yet.

        Args:
            timeout: seconds for a step: to compile, check and time a configuration.
            report: receives lines on the progress.
            command: starts a worker.
        """
        self.rows: list[dict[str, Any]] = []
        self.versions: dict[str, Any] = {}
        self._timeout = timeout
        self._report = report
        self._command = command
        self._step: list[str] | None = None
        self._done = 0

    def run(self, cases: Sequence[Case]) -> None:
        """Measures cases.

        Raises:
            WorkerError: a worker could not start.
        """
        remaining, killed = list(cases), 0
        while remaining and killed < MAX_KILLED:
            note = self._run_worker(remaining)
            killed += note.startswith("killed")
            if note:
                self._fail(remaining[self._done], *self._step, note)
            # An unfinished case is not tried again.
            remaining = remaining[self._done + 1 :]
        for case in remaining:
            self._fail(case, "all", "", f"not run: {killed} workers were killed")

    def _run_worker(self, cases: list[Case]) -> str:
        """Runs one worker. Returns the reason if it did not finish a case that has no
        row about this yet, else an empty string."""
        worker = Worker(self._command, cases)
        self._step, self._done, note = None, 0, ""
        try:
            while message := worker.receive(
                START_TIMEOUT if self._step is None else self._timeout
            ):
                self._handle(message, cases)
        except TimeoutError as error:
            note = f"killed: {error}"
        code, text = worker.close(patience=0 if note else 20)
        if self._done == len(cases) or code == GPU_LOST:
            return ""
        note = note or f"the worker ended with code {code}"
        if text:
            note += f"\n{text}"
        if self._step is None:
            raise WorkerError(f"cannot measure on a GPU: {note}")
        return note

    def _handle(self, message: dict[str, Any], cases: list[Case]) -> None:
        if "ready" in message:
            self.versions.update(message["ready"])
            self._step = ["reference", ""]
            self._report(cases[0].title)
        elif "step" in message:
            self._step = message["step"]
        elif "row" in message:
            self._add(cases[self._done], message["row"])
        elif "done" in message:
            self._done += 1
            if self._done < len(cases):
                self._report(cases[self._done].title)

    def _fail(self, case: Case, implementation: str, config: str, note: str) -> None:
        """Adds a row for a case that did not finish."""
        row = {"implementation": implementation, "config": config, "note": note}
        self._add(case, {**row, "status": "failed", "tried": []})

    def _add(self, case: Case, row: dict[str, Any]) -> None:
        new = {**case.to_json(), **row}
        if row.get("in_turns"):
            known = (*case.to_json(), "implementation")
            for i, old in enumerate(self.rows):
                if all(old[key] == new[key] for key in known):
                    self.rows[i] = new
        else:
            self.rows.append(new)
        self._report(f"  {_summary(row)}")


def _summary(row: dict[str, Any]) -> str:
    """A row in a line."""
    text = f"{row['implementation']} {row['config']}: {row['status']}"
    if "ms" in row:
        text += f", {row['ms']:.4f} ms"
    if "error" in row:
        text += f", error {row['error']:.1e}"
    if "note" in row:
        text += f", {row['note'].splitlines()[0]}"
    return text
