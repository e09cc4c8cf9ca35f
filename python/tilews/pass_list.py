"""The list of passes and pipelines, with their options.

The compiler is the only source. TableGen writes a page about the passes of each ``.td``
file (``_pass_pages``), and the native module lists the named pipelines from the table
in ``lib/Pipelines/Pipelines.cpp``. :mod:`tilews.passes` makes its functions of this
list, and the fuzzer of IR takes the passes to run from it.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import re
from collections.abc import Iterator

from . import _tilews


@dataclasses.dataclass(frozen=True)
class Pass:
    """A pass or a pipeline.

    Passes run on each ``gpu.module``, pipelines on the module that holds them.

    Attributes:
        flag: such as ``tile-plan-pipeline``.
        summary: one line on what it does.
        description: the text of ``docs/passes.md``; empty for pipelines.
        options: what each option is, by flag.
        is_pipeline: whether it is a named pipeline of passes.
    """

    flag: str
    summary: str
    description: str = ""
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    is_pipeline: bool = False

    @property
    def name(self) -> str:
        """The name of the function in :mod:`tilews.passes`."""
        return re.sub("^(tile|tilews)-", "", self.flag).replace("-", "_")


#: Upstream's passes that have a function, too.
_UPSTREAM = (
    Pass("canonicalize", "fold, simplify and clean up"),
    Pass("cse", "merge operations that compute the same"),
)


def _read_page(text: str) -> Iterator[Pass]:
    """The passes of a page that TableGen wrote."""
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        head, _, options = section.partition("\n#### Options\n")
        match = re.fullmatch(r"`-(\S+)`\s+_(.*?)_\n(.*)", head, flags=re.S)
        if match is None:
            raise ValueError(f"cannot read the page about a pass: {head[:80]!r}")
        flag, summary, description = match.groups()
        yield Pass(
            flag,
            summary,
            description.strip(),
            dict(re.findall(r"^-(\S+?)\s+: (.*)$", options, flags=re.M)),
        )


def _read_pipelines() -> Iterator[Pass]:
    """The named pipelines that the compiler registers."""
    for flag, summary, options in _tilews.pipelines():
        texts = {name: text for name, _, text in options}
        yield Pass(flag, summary, options=texts, is_pipeline=True)


def read_passes() -> list[Pass]:
    """All passes and pipelines, in the order of their functions' names."""
    folder = importlib.resources.files(__package__) / "_pass_pages"
    pages = sorted(folder.iterdir(), key=lambda page: page.name)
    passes = [one for page in pages for one in _read_page(page.read_text())]
    found = [*passes, *_UPSTREAM, *_read_pipelines()]
    return sorted(found, key=lambda one: one.name)
