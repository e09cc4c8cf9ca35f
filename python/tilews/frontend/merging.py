"""Merges of values where control flow joins: after a conditional, around a loop.

A merged value may be nested tuples and lists. :func:`flatten` takes it apart into its
leaves, scalars, fragments and numbers, each of which becomes a result of an operation;
:func:`unflatten` puts the results together again.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import LanguageError
from ..language.arithmetic import default_dtype, is_number, number, unify
from ..language.builder import constant
from ..language.types import DType, i1
from ..language.values import (
    CarriedNumber,
    Scalar,
    Tile,
    Value,
    describe,
    same_type,
    wrap,
)


@dataclasses.dataclass(frozen=True)
class Undefined:
    """Stands for a name that may have no value.

    Attributes:
        reason: completes the message ``'name' ...`` for a use of the name.
    """

    reason: str


def flatten(value: Any) -> list[Any] | None:
    """The leaves of nested tuples; None if one is no value of the kernel or number."""
    if isinstance(value, Value) or is_number(value):
        return [value]
    if not isinstance(value, (tuple, list)):
        return None
    leaves: list[Any] = []
    for item in value:
        group = flatten(item)
        if group is None:
            return None
        leaves += group
    return leaves


def unflatten(like: Any, leaves: list[Any]) -> Any:
    """The structure of `like` with other leaves, which are removed from the list."""
    if isinstance(like, (tuple, list)):
        return type(like)(unflatten(item, leaves) for item in like)
    return leaves.pop(0)


def same_structure(lhs: Any, rhs: Any) -> bool:
    """Whether two values differ in their leaves only."""
    if isinstance(lhs, (tuple, list)) or isinstance(rhs, (tuple, list)):
        return (
            type(lhs) is type(rhs)
            and len(lhs) == len(rhs)
            and all(map(same_structure, lhs, rhs))
        )
    return True


def type_text(value: Any) -> str:
    """The type of a value for messages."""
    if isinstance(value, Tile):
        return f"{value.dtype} fragment of shape {value.shape}"
    if isinstance(value, Scalar):
        return f"{value.dtype} scalar"
    return describe(value)


def to_scalar(value: Any, dtype: DType | None = None) -> Value:
    """A number as a scalar, by default of the type of :func:`default_number_dtype`."""
    if isinstance(value, Value):
        return value
    dtype = dtype or default_number_dtype(value)
    return wrap(constant(number(value), dtype, None), dtype)


def default_number_dtype(value: Any) -> DType:
    """The type of a number that becomes a run-time value: i1, index or f32."""
    return i1 if isinstance(number(value), bool) else default_dtype(value)


def merge_leaves(what: str, lhs: Any, rhs: Any, line: int) -> tuple[Value, Value]:
    """Converts the values of two branches to one type.

    A number takes the type of the other branch's scalar.

    Raises:
        LanguageError: the types of two values of the kernel differ.
    """
    if not isinstance(lhs, Value) and not isinstance(rhs, Value):
        dtypes = [default_number_dtype(value) for value in (lhs, rhs)]
        floats = [dtype for dtype in dtypes if dtype.is_float]
        dtype = (floats or dtypes)[0]
        if dtypes[0].is_bool != dtypes[1].is_bool:
            dtype = next(dtype for dtype in dtypes if not dtype.is_bool)
        return to_scalar(lhs, dtype), to_scalar(rhs, dtype)
    if isinstance(lhs, Scalar) and is_number(rhs):
        rhs = to_scalar(rhs, lhs.dtype)
    elif isinstance(rhs, Scalar) and is_number(lhs):
        lhs = to_scalar(lhs, rhs.dtype)
    elif isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
        if isinstance(lhs, CarriedNumber) or isinstance(rhs, CarriedNumber):
            lhs, rhs = unify(what, lhs, rhs)
    if is_number(lhs) or is_number(rhs) or not same_type(lhs, rhs):
        raise LanguageError(
            f"{what} has two types after the conditional of line {line}: "
            f"{type_text(lhs)} and {type_text(rhs)}",
            "convert with .to(...), or make a fragment with tl.full(shape, number, "
            "dtype)",
        )
    return lhs, rhs


class Carried:
    """The loop-carried names of a loop, with their initial values.

    Numbers become scalars of a default type at first. :meth:`finish` replaces that
    type if the body gives the name a scalar of another type, and asks for the loop to
    be built again.

    Attributes:
        initial: the values of the names before the loop.
        fixed: names that the body assigns although their value cannot be carried.
        values: the leaves of `initial` as values of the kernel.
        final_names: all names that are defined at the end of the body.
    """

    def __init__(self, names: list[str], env: dict[str, Any]) -> None:
        self.initial: dict[str, Any] = {}
        self.fixed: dict[str, Any] = {}
        self.final_names: tuple[str, ...] = ()
        for name in names:
            value = env.get(name, Undefined(""))
            if isinstance(value, Undefined):
                continue
            (self.fixed if flatten(value) is None else self.initial)[name] = value
        self._leaves = flatten(list(self.initial.values())) or []
        # Whether a leaf is a number whose type is not fixed yet.
        self._numbers = [is_number(leaf) for leaf in self._leaves]
        self.values = [to_scalar(leaf) for leaf in self._leaves]

    def bind(self, arguments: list[Any]) -> dict[str, Any]:
        """The loop-carried names with the arguments of a block as values."""
        leaves = [
            (CarriedNumber if is_open else wrap)(argument, value.dtype)
            for argument, value, is_open in zip(
                arguments, self.values, self._numbers, strict=True
            )
        ]
        return {name: unflatten(value, leaves) for name, value in self.initial.items()}

    def results(self, results: list[Any]) -> dict[str, Any]:
        """The loop-carried names with the results of a loop as values."""
        leaves = [
            wrap(result, value.dtype)
            for result, value in zip(results, self.values, strict=True)
        ]
        return {name: unflatten(value, leaves) for name, value in self.initial.items()}

    def finish(self, env: dict[str, Any], line: int) -> list[Value] | None:
        """The leaves at the end of the body, None if the loop has to be built again.

        Args:
            env: the local names at the end of the body.
            line: of the loop, for messages.

        Raises:
            LanguageError: a name changes its type from one iteration to the next.
        """
        self.final_names = tuple(env)
        for name, value in self.fixed.items():
            if env.get(name) is not value:
                raise LanguageError(
                    f"'{name}' is {describe(value)} before the loop of line {line} and "
                    "is assigned in it, but only scalars and fragments are carried "
                    "from one iteration to the next",
                    "use another name inside the loop",
                )
        results, again, place = [], False, 0
        for name, initial in self.initial.items():
            value = env[name]
            leaves = None if isinstance(value, Undefined) else flatten(value)
            if leaves is None or not same_structure(initial, value):
                reason = (
                    value.reason if isinstance(value, Undefined) else describe(value)
                )
                raise LanguageError(
                    f"'{name}' is carried by the loop of line {line}, but at the end "
                    f"of its body it is not the same kind of value: {reason}"
                )
            for leaf in leaves:
                before = self.values[place]
                if is_number(leaf):
                    fits = before.dtype.is_float or not isinstance(number(leaf), float)
                    leaf = to_scalar(leaf, before.dtype if fits else None)
                if not same_type(leaf, before):
                    self._adapt(name, place, leaf, line)
                    again = True
                results.append(leaf)
                place += 1
        return None if again else results

    def _adapt(self, name: str, place: int, value: Value, line: int) -> None:
        """Gives a number that `name` starts with the type of the body's value."""
        before = self.values[place]
        if not self._numbers[place] or not isinstance(value, Scalar):
            raise LanguageError(
                f"'{name}' changes its type in the loop of line {line}: "
                f"{type_text(before)} before, {type_text(value)} after the body",
                "convert with .to(...), or start with tl.zeros or tl.full",
            )
        self.values[place] = to_scalar(self._leaves[place], value.dtype)
        self._numbers[place] = False
