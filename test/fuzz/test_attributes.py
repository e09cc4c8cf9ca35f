"""Each integer of each operation takes extreme values: an error, and no crash.

The operations are those of the lit tests, printed in the generic form with one integer
replaced. So are plans and layouts that were written by hand: attributes of the dialect
on any operation, and the parts of its attributes and types. All passes then run, as for
the other inputs of the fuzzer.
"""

import collections
import contextlib
import re

import pytest

from fuzz import ROOT, fuzz
from text_mutator import read_seeds
from tilews import ir
from tilews.fuzz import apart

VALUES = (-(2**63), -(2**31), -1, 0, 1, 3, 64, 2**31 - 1, 2**31, 2**62, 2**63 - 1)
#: An operation in the generic form with its properties, `"tile.x"(...) <{...}>`, and
#: its other attributes, `{...} : (`; and integers in one of them.
OPERATION = re.compile(r'^ *(?:%[^=\n]*= )?"(tile\.\w+)".*$', re.M)
ENTRY = re.compile(r"(\w[\w.]*) = (?:array<i(?:32|64): [^>]*>|-?\d+ : i(?:32|64))")
#: An attribute on any operation, and an attribute or a type of the dialect.
ANNOTATION = re.compile(
    r"(tile\.\w+) = (?:-?\d+ : i\d+|array<[^>]*>|\{[^}]*\}|affine_map<.*?\)>)"
    r"|([#!]tile\.\w+)<(?:[^<>\n]|->|<[^<>\n]*>)*>"
)
#: How many texts with an annotation are tried: it is used in different ways.
EXAMPLES = 4
NUMBER = re.compile(r"(?<![\w.])-?\d+(?! : |\d)|-?\d+(?= : i)")


def print_generic(seeds: set[str]) -> list[str]:
    """The seeds that are valid, in the generic form."""
    texts = []
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for seed in sorted(seeds):
            with contextlib.suppress(ir.MLIRError):
                operation = ir.Module.parse(seed).operation
                texts.append(operation.get_asm(print_generic_op_form=True))
    return texts


def replace_numbers(text: str, begin: int, end: int) -> list[str]:
    """The texts in which one of the integers of a part is an extreme one."""
    return [
        f"{text[: number.start()]}{value}{text[number.end() :]}"
        for number in NUMBER.finditer(text, begin, end)
        for value in VALUES
    ]


def make_texts(seeds: list[str]) -> dict[str, list[str]]:
    """The texts for each attribute, by the operation and the name of the attribute."""
    texts: dict[str, list[str]] = {}
    for text in seeds:
        for operation in OPERATION.finditer(text):
            for entry in ENTRY.finditer(text, operation.start(), operation.end()):
                key = f"{operation[1]} {entry[1]}"
                if key not in texts:
                    begin = entry.start() + entry[0].index("=")
                    texts[key] = replace_numbers(text, begin, entry.end())
    return texts


def make_annotated_texts(seeds: list[str]) -> dict[str, list[str]]:
    """Texts for annotations of operations, and for attributes and types, by name."""
    texts: dict[str, list[str]] = collections.defaultdict(list)
    tried: dict[str, set[str]] = collections.defaultdict(set)
    for text in seeds:
        for found in ANNOTATION.finditer(text):
            name = found[1] or found[2]
            if len(tried[name]) < EXAMPLES and found[0] not in tried[name]:
                tried[name].add(found[0])
                begin = found.start() + len(name)
                texts[name] += replace_numbers(text, begin, found.end())
    return texts


@pytest.fixture(scope="module")
def seeds():
    return print_generic(set(read_seeds(ROOT / "test" / "lit")))


@pytest.fixture(scope="module")
def texts(seeds):
    return make_texts(seeds)


@pytest.fixture(scope="module")
def annotated(seeds):
    return make_annotated_texts(seeds)


@pytest.mark.parametrize("kind", ["texts", "annotated"])
def test_extreme_integers_are_refused_or_work(kind, request):
    texts = request.getfixturevalue(kind)
    inputs = {text: key for key, all_ in texts.items() for text in all_}
    left = set(inputs)
    for text, found in fuzz(inputs, timeout=60):
        left.remove(text)
        assert not isinstance(found, apart.ProcessFailure), (
            f"{inputs[text]}: {found}\n{text}"
        )
    assert not left


def test_all_operations_with_integers_are_tried(texts):
    folder = ROOT / "dialect/tilews/Dialect/Tile/IR"
    sections = [
        section
        for path in folder.glob("Tile*Ops.td")
        for section in re.split(r"^def ", path.read_text(), flags=re.M)
    ]
    expected = {
        name[1]
        for section in sections
        if (name := re.match(r'Tile_\w+Op : \w+<"(\w+)"', section))
        and re.search(r"I64(Array)?Attr|Tile_\w+Count", section)
    }
    tried = {key.split()[0].removeprefix("tile.") for key in texts}
    assert len(expected) > 20
    assert expected <= tried


def test_all_annotations_with_integers_are_tried(annotated):
    names = "stage order num_stages split_k threads cluster shared_bytes offset".split()
    names += "role_registers divisible alignment".split()
    assert {f"tile.{name}" for name in names} <= set(annotated)
    assert {"#tile.shared", "#tile.fragment", "#tile.rasterize"} <= set(annotated)
