"""Python's operators on values of the kernel.

The class here spells out which methods Python calls for which operator, and gives
each to one of four methods of its subclass. ``x + y`` calls ``_combine("+", x, y)``,
and so does ``1 + y``, with the operands in the order of the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Operator = Callable[[Any, Any], Any]


def _binary(op: str) -> tuple[_Operator, _Operator]:
    """The methods of a binary operator: with the value on the left, on the right."""

    def method(self: ElementwiseOperators, other: Any) -> Any:
        return self._combine(op, self, other)

    def reflected(self: ElementwiseOperators, other: Any) -> Any:
        return self._combine(op, other, self)

    return method, reflected


def _comparison(op: str) -> _Operator:
    def method(self: ElementwiseOperators, other: Any) -> Any:
        return self._compare(op, other)

    return method


class ElementwiseOperators:
    """Operators that work element by element, in terms of four methods.

    A class that defines ``==`` this way cannot be hashed, as Python prescribes.
    """

    __slots__ = ()

    def _combine(self, op: str, lhs: Any, rhs: Any) -> Any:
        """``lhs op rhs``; NotImplemented if Python shall ask the other operand."""
        raise NotImplementedError

    def _compare(self, op: str, other: Any) -> Any:
        """``self op other`` for a comparison."""
        raise NotImplementedError

    def _negate(self) -> Any:
        """``-self``."""
        raise NotImplementedError

    def _invert(self) -> Any:
        """``~self``."""
        raise NotImplementedError

    __add__, __radd__ = _binary("+")
    __sub__, __rsub__ = _binary("-")
    __mul__, __rmul__ = _binary("*")
    __truediv__, __rtruediv__ = _binary("/")
    __floordiv__, __rfloordiv__ = _binary("//")
    __mod__, __rmod__ = _binary("%")
    __pow__, __rpow__ = _binary("**")
    __and__, __rand__ = _binary("&")
    __or__, __ror__ = _binary("|")
    __xor__, __rxor__ = _binary("^")
    __lshift__, __rlshift__ = _binary("<<")
    __rshift__, __rrshift__ = _binary(">>")

    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __eq__ = _comparison("==")
    __ne__ = _comparison("!=")

    def __neg__(self) -> Any:
        return self._negate()

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self._invert()
