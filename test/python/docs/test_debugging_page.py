"""docs/debugging.md shows what the tools print."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def debugging(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("debugging")


def test_page_is_up_to_date(debugging):
    found = (ROOT / "docs/debugging.md").read_text()
    expected = debugging.render()
    assert found == expected, "docs/debugging.md is out of date: run `make docs`"


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("shell")


def test_selected_lines(shell):
    assert shell.select("a\nb\nc\nd\na2\n", "a|d") == ["a", "...", "d", "a2"]
    assert shell.select("b\na\nb\n", "a") == ["a"]
    with pytest.raises(ValueError, match="no line matches 'x'"):
        shell.select("a\n", "x")


def test_long_commands_are_wrapped(shell):
    lines = shell.wrap_command("tilews-opt " + "--option " * 12)
    assert len(lines) == 2
    assert lines[0].startswith("$ tilews-opt") and lines[0].endswith(" \\")
