"""The reference has every name of the language, with an example that is right."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import tilews.language as tl
from support import doc_examples

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
#: The names of tilews that make kernels.
OTHERS = ["tilews.kernel", "tilews.func", "tilews.dispatch.Kernel"]
NAMES = sorted(name for name in dir(tl) if not isinstance(getattr(tl, name), tl.DType))
NAMES += OTHERS


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("reference")


def test_every_name_has_a_page(reference, monkeypatch):
    monkeypatch.setattr(tl, "unlisted", lambda: None, raising=False)
    with pytest.raises(ValueError, match="no page of the reference has tl"):
        reference.render()


def test_pages_are_up_to_date(reference):
    expected = reference.render()
    for name, text in expected.items():
        found = (DOCS / name).read_text()
        assert found == text, f"docs/{name} is out of date: run `make docs`"
    pages = {f"reference/{page.name}" for page in (DOCS / "reference").iterdir()}
    assert pages | {"reference.md"} == {*expected}
    assert max(text.count("\n") for text in expected.values()) <= 500


@pytest.mark.parametrize("name", NAMES)
def test_example(name, reference, tmp_path):
    item = reference.find(name)
    code = reference.sections(item).get("Example")
    assert code, f"the docstring of {name} has no example"
    if not inspect.isclass(item):
        full = reference.full(name)
        assert re.search(rf"\b{full}\b", code), f"the example has no {full}"
    else:
        for member in {*reference.members(item)} - {"__call__"}:
            assert re.search(rf"\.{member}\b", code), f"the example has no {member}"
    path = tmp_path / "example.py"
    if doc_examples.is_body(code):
        doc_examples.run_body(code, path)
    else:
        with doc_examples.calls() as calls:
            doc_examples.run_program(code, path)
        assert calls, "the example calls no kernel"
        doc_examples.compile_and_prove(calls[:1])


def test_the_example_of_element_types_has_all_of_them(reference):
    code = reference.sections(tl.DType)["Example"]
    for name, item in vars(tl).items():
        if isinstance(item, tl.DType):
            assert re.search(rf"\btl\.{name}\b", code), name


@pytest.mark.parametrize("name", NAMES)
def test_docstring_names_the_parameters_and_errors(name, reference):
    item = reference.find(name)
    if inspect.isclass(item) and item is not tl.Tensor:
        return
    parts = reference.sections(item)
    if re.search(r"\bas\s(for\s)?:func:", parts[""]):
        return  # The other function has them.
    named = [entry for entry, _ in reference.entries(parts.get("Args", ""))]
    named = {one.strip(" *") for entry in named for one in entry.split(",")}
    function = item.__init__ if inspect.isclass(item) else item
    parameters = {*inspect.signature(function).parameters} - {"self"}
    assert named == parameters
    assert "Raises" in parts
    for error, text in reference.entries(parts["Raises"]):
        known = ("LanguageError", "KernelError", "TypeError")
        assert error in known, error
        assert text.endswith(".")


@pytest.mark.parametrize(
    "code, message",
    [
        (">>> tl.arange(2)\n[0, 2]", "expected"),
        (">>> tl.arange(2)\n[[0, 1]]", "arange"),
        (">>> tl.exp(1.0)\n2.71", "expected"),
        (">>> x = tl.arange(2)", "shows no value"),
    ],
)
def test_wrong_values_are_found(code, message, tmp_path):
    with pytest.raises(AssertionError, match=message):
        doc_examples.run_body(code, tmp_path / "example.py")


@pytest.mark.parametrize(
    "code",
    [
        ">>> tl.exp(1.0)\n2.72",
        ">>> tl.arange(3) > 1\n[False, False, True]",
        ">>> tl.log(-1.0)\nnan",
        ">>> for i in tl.range(2):\n...     x = i\n>>> tl.cdiv(5, 2)\n3",
    ],
)
def test_right_values_are_accepted(code, tmp_path):
    doc_examples.run_body(code, tmp_path / "example.py")


def test_programs_have_to_check_something(tmp_path):
    with pytest.raises(AssertionError, match="checks no result"):
        doc_examples.run_program("x = 1", tmp_path / "example.py")
