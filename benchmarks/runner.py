"""Runs cases in worker processes and kills those that hang."""

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
            pass  # It ended at once; the messages end, too.

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
        """Ends the process; returns its exit code and the end of what it printed.

        Args:
            patience: seconds that it has to end by itself.
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


def run_cases(
    cases: Sequence[Case],
    timeout: float,
    report: Callable[[str], None],
    command: Sequence[str] = WORKER,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Measures cases.

    A case whose worker hangs or crashes gets a row that says so; the others go on in
    a new worker.

    Args:
        cases: what to measure.
        timeout: seconds that a step may take: a compilation, a check and a timing.
        report: is told what goes on.
        command: starts a worker.

    Returns:
        The rows, each with the fields of its case, and the versions in use.

    Raises:
        WorkerError: a worker could not start.
    """
    remaining, rows, versions = list(cases), [], {}
    while remaining:
        done, failure = _run_worker(remaining, timeout, report, command, rows, versions)
        if failure is not None:
            rows.append({**remaining[done].to_json(), **failure})
            report(f"  {failure['implementation']}: {failure['note']}")
        # A case that was not finished is not tried again.
        remaining = remaining[done + 1 :]
    return rows, versions


def _run_worker(
    cases: list[Case],
    timeout: float,
    report: Callable[[str], None],
    command: Sequence[str],
    rows: list[dict[str, Any]],
    versions: dict[str, Any],
) -> tuple[int, dict[str, Any] | None]:
    """Runs one worker; returns how many cases it finished, and a row for the case
    that it did not."""
    worker = Worker(command, cases)
    step: list[str] | None = None
    done, note = 0, ""
    try:
        while message := worker.receive(START_TIMEOUT if step is None else timeout):
            if "ready" in message:
                versions.update(message["ready"])
                step = ["reference", ""]
                report(cases[0].title)
            elif "step" in message:
                step = message["step"]
            elif "row" in message:
                rows.append({**cases[done].to_json(), **message["row"]})
                report(f"  {_summary(message['row'])}")
            elif "done" in message:
                done += 1
                if done < len(cases):
                    report(cases[done].title)
    except TimeoutError as error:
        note = f"killed: {error}"
    code, text = worker.close(patience=0 if note else 20)
    if done == len(cases) or code == GPU_LOST:
        return done, None
    note = note or f"the worker ended with code {code}"
    if text:
        note += f"\n{text}"
    if step is None:
        raise WorkerError(f"cannot measure on a GPU: {note}")
    failure = {
        "implementation": step[0],
        "config": step[1],
        "status": "failed",
        "note": note,
        "tried": [],
    }
    return done, failure


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
