"""Arguments for functions of the bindings, made by their signatures.

The module nanobind gives each function and its overloads as text, such as
``def get(value: int, context: Context | None = None) -> AffineConstantExpr``. So each
public function gets arguments of the right kinds, taken from the objects of a sequence:
of several contexts, stale or not.
"""

import random
import re
from collections.abc import Callable
from typing import Any

from tilews import ir
from tilews.dialects import amdgpu, gpu, llvm, nvgpu

#: Sizes for which a process has the memory, and what fits no integer of C.
NUMBERS = (0, 0, 1, 1, 2, 3, 8, 32, -1, 64, 1000, 2**64)
STRINGS = ("x", "", "tile", "arith.addi", "i32", "index", "k", "sym_name", "\0", "é")
#: What would only print, or wait for a user.
SKIPPED = {"dump", "print", "write_bytecode", "enable_multithreading", "emit_error"}


def _public_classes() -> list[type]:
    modules = (ir, llvm, gpu, nvgpu, amdgpu)
    # These modules are imported when a name is looked up.
    found = {n: getattr(m, n) for m in modules for n in dir(m) if n[:2] != "__"}
    return [
        found[name]
        for name in sorted(found)
        if isinstance(found[name], type)
        and found[name].__module__.startswith("tilews._mlir_libs")
    ]


#: Classes whose static functions make objects.
CLASSES = _public_classes()


def split(text: str) -> list[str]:
    """Splits a list at the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parameters(signature: str) -> list[tuple[str, str, bool]]:
    """The name and type of each parameter, and if it is given by its name."""
    inner = signature[signature.index("(") + 1 : signature.rindex(")")]
    if " ->" in inner:  # A return type with brackets.
        inner = inner[: inner.rindex(")", 0, inner.rindex(" ->"))]
    found, by_name = [], False
    for part in split(inner):
        if part.startswith("*"):
            by_name = True
            if ":" not in part:
                continue
        name, _, kind = part.partition(":")
        if part == "/" or not kind:
            continue
        found.append((name.strip("* "), kind.partition(" = ")[0].strip(), by_name))
    return found


class Maker:
    """Makes arguments of what a sequence has."""

    def __init__(self, rng: random.Random, pool: list[Any]):
        self._rng = rng
        self._pool = pool

    def call(self, function: Callable[..., Any]) -> Any:
        """Calls a function with arguments of its kinds, and now and then others."""
        overloads = getattr(function, "__nb_signature__", None)
        if not overloads:
            return function()
        positional, named = [], {}
        for name, kind, by_name in parameters(self._rng.choice(overloads)[0]):
            if by_name and self._rng.random() < 0.5:
                continue
            value = self.make(kind)
            if by_name:
                named[name] = value
            else:
                positional.append(value)
        return function(*positional, **named)

    def make(self, kind: str) -> Any:
        """A value of a type, given by its name in a signature."""
        rng = self._rng
        alternatives = [part.strip() for part in kind.split(" | ")]
        if len(alternatives) > 1:
            return self.make(rng.choice(alternatives))
        if match := re.fullmatch(r"(?:\w+\.)*(?:Sequence|list)(?:\[(.*)\])?", kind):
            return [self.make(match[1] or "object") for _ in range(rng.randint(0, 3))]
        name = kind.rpartition("[")[0] or kind
        name = name.rpartition(".")[2]
        simple: dict[str, Callable[[], Any]] = {
            "None": lambda: None,
            "int": lambda: rng.choice(NUMBERS),
            "bool": lambda: rng.random() < 0.5,
            "float": lambda: rng.choice([0.0, -1.5, 1e300, float("nan")]),
            "str": lambda: rng.choice(STRINGS),
            "bytes": lambda: rng.choice([b"", b"abc", b"\xff" * 9]),
            "dict": lambda: {"x": self._any()},
            "Callable": lambda: lambda *_: None,
            "Context": self._context,
        }
        if name in simple and rng.random() < 0.97:
            return simple[name]()
        fitting = [
            item
            for item in self._pool
            if any(base.__name__ == name for base in type(item).__mro__)
        ]
        return rng.choice(fitting) if fitting and rng.random() < 0.95 else self._any()

    def _any(self) -> Any:
        return self._rng.choice(self._pool)

    def _context(self) -> ir.Context:
        return self.make("Module").context
