"""The programs of the tutorial and of the recipes run, and their kernels are proved."""

import importlib
import itertools
import re
import runpy
import sys
from pathlib import Path

import pytest

from support import doc_examples

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("tutorial", "cookbook", "gathers")


@pytest.fixture(scope="module")
def programs():
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("programs")
    sys.path.remove(str(DOCS))


def blocks(page: str) -> list[str]:
    """The blocks of Python of a page, each with its first line."""
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_page_is_up_to_date(page, programs):
    found = (DOCS / f"{page}.md").read_text()
    assert found == programs.render(page), f"docs/{page}.md is out of date: `make docs`"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_a_program(page, programs):
    text = (DOCS / f"{page}.md").read_text()
    assert len(blocks(page)) == len(programs.programs(text))


def names(page: str) -> list[str]:
    return [block.partition("\n")[0].removeprefix("# ") for block in blocks(page)]


@pytest.mark.parametrize(
    "page, name",
    [(page, name) for page in PAGES for name in names(page)],
    ids=itertools.chain(*(names(page) for page in PAGES)),
)
def test_program(page, name, programs, tmp_path, monkeypatch):
    """It runs; each kernel that it calls becomes PTX, and is proved."""
    files = programs.programs((DOCS / f"{page}.md").read_text())
    for file, code in files.items():
        (tmp_path / file).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    kept = {*sys.modules}
    try:
        with doc_examples.calls() as calls:
            runpy.run_path(name, run_name="__main__")
    finally:
        for module in {*sys.modules} - kept:
            if f"{module}.py" in files:
                del sys.modules[module]
    if re.search(r"^@tilews.kernel", files[name], re.M):
        assert calls, "the program calls no kernel"
        assert "assert" in files[name], "the program checks no result"
    doc_examples.compile_and_prove(calls)


def test_phrases_of_explain_are_those_of_the_compiler():
    folder = DOCS.parent / "lib/Dialect/Tile/Analysis/Layout"
    source = "".join(path.read_text() for path in folder.glob("*.cpp"))
    table = (DOCS / "cookbook.md").read_text().partition("| phrase |")[2]
    rows = table.partition("\n\n")[0].splitlines()[2:]
    phrases = [one for row in rows for one in re.findall("`(.*?)`", row.split("|")[1])]
    assert len(phrases) > 8
    for phrase in phrases:
        assert (
            f'"{phrase}' in source
            or f'{phrase}"' in source
            or (f'"{phrase}' in source.replace('" ', '"'))
        ), phrase
