"""Measures cases in a separate process, which the runner may kill.

Reads cases as JSON from stdin and writes messages to stdout, one JSON object a line:

* ``{"ready": {...}}``: versions, after the imports;
* ``{"step": [implementation, configuration]}``: before a step that may hang;
* ``{"row": {...}}``: the result of an implementation;
* ``{"done": true}``: the case has no more rows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from .cases import Case

#: The exit code after a row whose candidate left the GPU unusable.
GPU_LOST = 3

#: Makes the data of a case and its candidates, see benchmarks/measure.py.
Prepare = Callable[[Case], tuple[Any, list[Any]]]


def main() -> None:
    """Measures the cases on stdin."""
    serve(_groups)


def _groups() -> dict[str, Prepare]:
    from . import attention, gemm, softmax, sparse

    return {
        "gemm": gemm.prepare,
        "sparse": sparse.prepare,
        "attention": attention.prepare,
        "softmax": softmax.prepare,
    }


def serve(load: Callable[[], dict[str, Prepare]]) -> None:
    """Measures the cases on stdin.

    Args:
        load: imports what makes the data and the candidates of a case, by group.
    """
    # Output of libraries goes to stderr.
    messages = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cases = [Case.from_json(fields) for fields in json.load(sys.stdin)]

    from tilews.runtime import device_target

    if not device_target().startswith("sm_"):
        sys.exit("no NVIDIA GPU here, or the package cuda-bindings is missing")
    import torch

    from .measure import GpuLost, measure
    from .timing import Timer

    groups = load()
    send(messages, ready={"torch CUDA": torch.version.cuda})
    timer = Timer()
    for index, case in enumerate(cases):
        torch.manual_seed(index)
        send(messages, step=["reference", ""])
        problem, candidates = groups[case.group](case)

        def announce(name: str, config: str) -> None:
            send(messages, step=[name, config])

        try:
            for row in measure(problem, candidates, timer, announce):
                send(messages, row=row)
        except GpuLost as error:
            send(messages, row=error.args[0])
            os._exit(GPU_LOST)
        send(messages, done=True)
        del problem, candidates
        torch.cuda.empty_cache()


def send(stream: TextIO, **message: Any) -> None:
    """Writes a message."""
    print(json.dumps(message), file=stream, flush=True)


if __name__ == "__main__":
    main()
