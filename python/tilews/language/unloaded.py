"""What memory is not: a value. Python's operators on buffers and their regions.

Python gives most operators a meaning for any object: without these methods a region
would be true, and unequal to every number, so that a guard in a kernel would vanish
without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import LanguageError

_ARITHMETIC = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "pow": "**", "and": "&", "or": "|", "xor": "^"},
    **{"lshift": "<<", "rshift": ">>", "divmod": "divmod"},
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs", "round": "round"}
_NUMBERS = ("index", "int", "float", "complex", "trunc", "floor", "ceil")


class InMemory:
    """Elements in memory, which have to be loaded to compute with them."""

    # numpy's operators leave the work to ours.
    __array_ufunc__ = None

    def _element(self) -> str:
        """An element as the source would name it."""
        raise NotImplementedError

    def _describe(self) -> str:
        """What messages call this."""
        raise NotImplementedError

    def refuse(self, what: str, hint: str | None = None) -> NoReturn:
        """Says that `what` needs a value.

        Raises:
            LanguageError: always.
        """
        raise LanguageError(
            f"{what}: {self._describe()} is memory, not a value",
            hint or load_hint(self),
        )

    def __bool__(self) -> NoReturn:
        self.refuse(
            "a condition",
            f"load an element, tl.load({self._element()}), and compare that; whether "
            "an argument was given is asked with 'is None'",
        )

    def __len__(self) -> NoReturn:
        self.refuse("len", "extents are in the shape of a buffer: A.shape[0]")

    def __iter__(self) -> NoReturn:
        self.refuse(
            "iteration", f"loop over tl.range(n), and load: tl.load({self._element()})"
        )

    def __contains__(self, item: Any) -> NoReturn:
        self.refuse("'in'", "load a part of it, and write tl.any(part == x)")

    def __matmul__(self, other: Any) -> NoReturn:
        self.refuse("'@'", "write tl.gemm(a, b, acc)")

    __rmatmul__ = __matmul__


def load_hint(value: Any) -> str | None:
    """What to do where a value is needed and `value` is memory, else None."""
    if not isinstance(value, InMemory):
        return None
    return f"load it first, such as tl.load({value._element()})"


def _refused(what: str, hint: str | None = None) -> Callable[..., NoReturn]:
    def method(self: InMemory, *_: Any) -> NoReturn:
        text = hint.format(self._element()) if hint else None
        self.refuse(what, text)

    return method


for _name, _symbol in _ARITHMETIC.items():
    for _prefix in ("", "r"):
        setattr(InMemory, f"__{_prefix}{_name}__", _refused(f"'{_symbol}'"))
for _name, _symbol in _COMPARISONS.items():
    _compares = _refused(f"'{_symbol}'", "compare an element after tl.load({})")
    setattr(InMemory, f"__{_name}__", _compares)
for _name, _symbol in _UNARY.items():
    setattr(InMemory, f"__{_name}__", _refused(f"'{_symbol}'"))
for _name in _NUMBERS:
    setattr(InMemory, f"__{_name}__", _refused("a Python number"))
