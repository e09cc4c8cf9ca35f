"""The stubs of the compiled module name what it has, with the same parameters.

mypy's stubtest does not recognize functions of nanobind. So the stubs are compared with
those that nanobind generates from the module: names, parameters, defaults and types.
"""

import ast
import re
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

from tilews._mlir_libs import _tilews
from tilews._mlir_libs._tilews import layout

FOLDER = Path(__file__).parents[3] / "python/tilews/_mlir_libs/_tilews"
STUBS = {"__init__": _tilews, "layout": layout}
#: What nanobind says of a Python object; the stubs may be more precise.
VAGUE = re.compile(r"\bobject\b|\blist\b(?!\[)|\bdict\b|Annotated|^None$")


def generate(module):
    generator = StubGen(
        module,
        recursive=False,
        include_private=True,
        include_docstrings=False,
    )
    generator.put(module)
    return generator.get()


def describe_type(node):
    return "" if node is None else ast.unparse(node).replace("tilews.ir.", "ir.")


def describe_parameters(args):
    """(name, default, type) of each parameter."""
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    found = list(zip(positional, defaults, strict=True))
    found += zip(args.kwonlyargs, args.kw_defaults, strict=True)
    found += [(arg, None) for arg in (args.vararg, args.kwarg) if arg is not None]
    return [
        (
            # The name of a parameter that is positional only means nothing.
            "" if arg in args.posonlyargs else arg.arg,
            "" if default is None else ast.unparse(default),
            describe_type(arg.annotation),
        )
        for arg, default in found
    ]


def read(text):
    """What a stub declares: (parameters, type) by qualified name."""
    found = {}

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base) for base in node.bases]
                found[prefix + node.name] = ([], ", ".join(bases))
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                decorators = [ast.unparse(each) for each in node.decorator_list]
                parameters = describe_parameters(node.args)
                if node.name == "__eq__":
                    parameters = []
                name = " ".join([*decorators, prefix + node.name])
                found[name] = (parameters, describe_type(node.returns))
            elif isinstance(node, ast.Assign):
                found[prefix + node.targets[0].id] = ([], "")

    visit(ast.parse(text).body, "")
    return found


@pytest.mark.parametrize("name", STUBS)
def test_the_stub_is_that_of_the_module(name):
    declared = read((FOLDER / f"{name}.pyi").read_text())
    generated = read(generate(STUBS[name]))
    assert generated
    assert declared.keys() == generated.keys()
    for key, (parameters, result) in generated.items():
        found, found_result = declared[key]
        assert [p[:2] for p in found] == [p[:2] for p in parameters], key
        pairs = zip((p[2] for p in found), (p[2] for p in parameters), strict=True)
        for mine, theirs in [*pairs, (found_result, result)]:
            assert mine == theirs or not theirs or VAGUE.search(theirs), key
