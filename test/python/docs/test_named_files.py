"""Files that the pages name exist."""

import re
from pathlib import Path

import pytest

from support import mentions

ROOT = Path(__file__).parents[3]
TOPS = (
    "lib",
    "dialect",
    "python",
    "test",
    "tools",
    "unittests",
    "cmake",
    "docs",
    "examples",
    "benchmarks",
    r"\.ci",
    r"\.github",
)
PAGES = sorted(
    page
    for folder in (".", "docs", "docs/reference", "examples", ".github")
    for page in (ROOT / folder).glob("*.md")
    # The changelog names files of the past.
    if page.name != "CHANGELOG.md"
)


#: What a command of the page writes.
MADE = {"docs/random-mutation.json"}


def named_files(text: str) -> list[str]:
    """Paths from the root that stand in code spans, such as `lib/Layout/Tma.cpp`."""
    pattern = rf"(?:{'|'.join(TOPS)})/[\w./*-]*"
    return [span for span in mentions.code_spans(text) if re.fullmatch(pattern, span)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page):
    for name in {*named_files(page.read_text())} - MADE:
        found = any(ROOT.glob(name)) if "*" in name else (ROOT / name).exists()
        assert found, f"`{name}` does not exist"


def test_what_counts_as_a_name():
    text = (
        "`lib/A.cpp`, `a\nspan`, `test/python/a_*.py`, `.ci/run`; not `A.cpp`, `a/b.c`"
    )
    assert named_files(text) == ["lib/A.cpp", "test/python/a_*.py", ".ci/run"]
