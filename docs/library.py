"""Writes docs/kernels.md: the operations of tilews.kernels, from their docstrings."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference import (
    TITLES,
    WIDTH,
    bullet,
    clean,
    entries,
    fence,
    markdown,
    parameter_texts,
    sections,
)

from tilews import kernels

ROOT = Path(__file__).resolve().parents[1]

NOTE = "<!-- Generated from docstrings of python/tilews/kernels by `make docs`. -->"

INTRODUCTION = """\
Each operation is a kernel and a function. The function checks its arguments, allocates
the result, chooses a configuration, and launches the kernel:

```python
from tilews import kernels

y = kernels.rms_norm(x, weight, residual=r)  # arrays of torch, CuPy, JAX or numpy
kernels.rms_norm(x, weight, out=y, stream=stream)
```

* Arrays on a GPU are computed there, and those in host memory by the
  [interpreter](interpreter.md). A result is an array of the library of the first
  argument, on its device; for JAX's arrays in host memory it is one of numpy.
* `stream=`, `target=` and `run=` are passed to the [launch](launch.md#from-python):
  `target="gfx942", run="sim"` executes the machine code for that chip on the CPU.
* Arrays are row-major. An argument that does not fit is a `LaunchError`, which says
  what was found and what was expected. Empty arrays are allowed.
* `kernels.rms_norm.kernel` is the kernel, to be
  [compiled ahead of time](launch.md#from-the-command-line). Tests
  [prove](verifier.md) its schedules for sm_90a and gfx942, and compare its results with
  float64.

The examples run with `import numpy as np`, and on numpy's arrays."""

#: The sections of the page, in order, by the folder of their operations.
TOPICS = {
    "attentions": "Attention",
    "experts": "Mixtures of experts",
    "matmuls": "Matmuls",
    "rows": "Rows",
}


def operations() -> dict[str, list[str]]:
    """The names of the operations of each folder, in the order of the package.

    Raises:
        ValueError: TOPICS lacks a folder.
    """
    found: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for name in kernels.__all__:
        item = getattr(kernels, name)
        if isinstance(item, kernels.Operation):
            folder = item.__module__.split(".")[2]
            if folder not in found:
                raise ValueError(f"docs/library.py has no topic for {folder}")
            found[folder].append(name)
    return found


def source(item: Any) -> str:
    """The kernel of an operation, linked to its file."""
    path = "python/" + item.kernel.python.__module__.replace(".", "/") + ".py"
    if not (ROOT / path).exists():
        raise ValueError(f"{path} does not exist")
    return f"[`{item.kernel.name}`](../{path})"


def call(name: str, item: Any) -> str:
    """A call of an operation. The types of arguments are in their descriptions."""
    parameters = inspect.signature(item).parameters.values()
    plain = [one.replace(annotation=one.empty) for one in parameters]
    text = f"kernels.{name}({', '.join(parameter_texts(plain))})"
    indent = " " * (text.index("(") + 1)
    return textwrap.fill(text, WIDTH, subsequent_indent=indent)


def describe(name: str) -> Iterator[str]:
    """The entry of an operation, in parts."""
    item = getattr(kernels, name)
    parts = sections(item)
    yield f"## kernels.{name}"
    yield fence(call(name, item))
    yield markdown(parts[""])
    yield f"Kernel: {source(item)}"
    for title in ("Args", "Returns", "Raises"):
        text = markdown(parts[title])
        listed = [bullet(*entry) for entry in entries(text)]
        if title == "Returns":
            yield f"**Returns** {text}"
        elif title == "Args":
            listed = [each for each in listed if not each.startswith("* `launch`")]
            yield "\n".join([f"**{TITLES[title]}**\n", *listed])
    yield f"**Example**\n\n{fence(parts['Example'])}"


def summary(name: str) -> str:
    """The first sentence of a docstring."""
    text = " ".join(sections(getattr(kernels, name))[""].partition("\n\n")[0].split())
    return markdown(re.split(r"(?<=\w\.)\s", text)[0])


def render() -> str:
    """The text of the page."""
    text = [NOTE, "# Ready operations", INTRODUCTION]
    entries_of: list[str] = []
    for folder, names in operations().items():
        rows = [f"| {TOPICS[folder]} | |", "|---|---|"]
        for name in names:
            anchor = f"kernels{name}"
            rows.append(f"| [`kernels.{name}`](#{anchor}) | {summary(name)} |")
            entries_of += describe(name)
        text.append("\n".join(rows))
    return clean([*text, *entries_of])
