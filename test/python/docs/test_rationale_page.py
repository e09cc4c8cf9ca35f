"""The invariants in docs/rationale.md have the errors and tests that it names."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/rationale.md").read_text()


@pytest.fixture(scope="module")
def generate():
    path = ROOT / "docs/generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def invariants() -> dict[str, str]:
    """The section of each invariant."""
    sections = re.split(r"^### (I\d+): .*$", PAGE, flags=re.M)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))


def test_errors_are_those_of_the_tests(generate):
    expected = generate.sync_errors(PAGE)
    assert expected == PAGE, "docs/rationale.md is out of date: run `make docs`"


def test_each_invariant_has_a_test():
    assert list(invariants()) == [f"I{i}" for i in range(1, 11)]
    for name, text in invariants().items():
        assert re.search(r"\.edits`: `|`test/", text), name


def test_remarks_of_the_page_exist():
    remarks = (ROOT / "docs/remarks.md").read_text()
    for name in re.findall(r"`(tile-[a-z]+-\d{4})`", PAGE):
        assert f"`{name}`" in remarks


def test_a_case_that_does_not_exist_is_an_error(generate):
    row = "| `channels/transactions.edits`: `no_such_case` | |"
    with pytest.raises(ValueError, match="no case no_such_case"):
        generate.sync_errors(row)
    right = "| `channels/transactions.edits`: `copies_in_another_order` | |"
    with pytest.raises(ValueError, match="with a wrong schedule"):
        generate.sync_errors(right)
