"""Values where paths meet: after a conditional, and around a loop."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import LanguageError
from ..language.arithmetic import default_dtype, is_number, number, unify
from ..language.builder import constant
from ..language.types import DType, i1
from ..language.values import CarriedNumber, Scalar, Tile, Value, describe, wrap


@dataclasses.dataclass(frozen=True)
class Undefined:
    """What a name stands for where it may have no value; says why."""

    reason: str


def flatten(value: Any) -> list[Any] | None:
    """The values and numbers in nested tuples, or None if there is anything else."""
    if isinstance(value, Value) or is_number(value):
        return [value]
    if isinstance(value, (tuple, list)):
        leaves = [flatten(item) for item in value]
        if None in leaves:
            return None
        return [leaf for group in leaves for leaf in group]
    return None


def unflatten(like: Any, leaves: list[Any]) -> Any:
    """The structure of `like` with other leaves, which are taken off the list."""
    if isinstance(like, (tuple, list)):
        return type(like)(unflatten(item, leaves) for item in like)
    return leaves.pop(0)


def same_structure(lhs: Any, rhs: Any) -> bool:
    """Whether values agree up to their leaves."""
    if isinstance(lhs, (tuple, list)) or isinstance(rhs, (tuple, list)):
        return (
            type(lhs) is type(rhs)
            and len(lhs) == len(rhs)
            and all(map(same_structure, lhs, rhs))
        )
    return True


def type_text(value: Any) -> str:
    """The type of a value as messages name it."""
    if isinstance(value, Tile):
        return f"{value.dtype} fragment of shape {value.shape}"
    if isinstance(value, Scalar):
        return f"{value.dtype} scalar"
    return describe(value)


def to_scalar(value: Any, dtype: DType | None = None) -> Value:
    """A number as a scalar, with the type of numbers if none is given."""
    if isinstance(value, Value):
        return value
    return wrap(constant(number(value), dtype or default_number_dtype(value), None))


def default_number_dtype(value: Any) -> DType:
    """The type of a number that becomes a run-time value: i1, index or f32."""
    return i1 if isinstance(number(value), bool) else default_dtype(value)


def merge_leaves(what: str, lhs: Any, rhs: Any, line: int) -> tuple[Value, Value]:
    """Two values with one type; numbers take the type of the other side.

    Raises:
        LanguageError: the types differ.
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
    if is_number(lhs) or is_number(rhs) or lhs.ir.type != rhs.ir.type:
        raise LanguageError(
            f"{what} has two types after the conditional of line {line}: "
            f"{type_text(lhs)} and {type_text(rhs)}",
            "convert with .to(...), or make a fragment with tl.full(shape, number, "
            "dtype)",
        )
    return lhs, rhs


class Carried:
    """The names a loop carries from one iteration to the next.

    Numbers become scalars. They start with the type of numbers; when the body turns
    out to give them another one, the loop is built again with that.
    """

    def __init__(self, names: list[str], env: dict[str, Any]) -> None:
        self.initial = {}
        #: Names the body assigns whose value cannot be carried.
        self.fixed = {}
        for name in names:
            value = env.get(name, Undefined(""))
            if isinstance(value, Undefined):
                continue
            (self.fixed if flatten(value) is None else self.initial)[name] = value
        leaves = flatten(list(self.initial.values()))
        self._numbers = [is_number(leaf) for leaf in leaves]
        self.values = [to_scalar(leaf) for leaf in leaves]

    def bind(self, arguments: list[Any]) -> dict[str, Any]:
        """The carried names with the values of a block's arguments."""
        leaves = [
            CarriedNumber(argument, value.dtype) if is_open else wrap(argument)
            for argument, value, is_open in zip(
                arguments, self.values, self._numbers, strict=True
            )
        ]
        return {name: unflatten(value, leaves) for name, value in self.initial.items()}

    def results(self, results: list[Any]) -> dict[str, Any]:
        """The carried names with the values of a loop's results."""
        leaves = [wrap(result) for result in results]
        return {name: unflatten(value, leaves) for name, value in self.initial.items()}

    def finish(self, env: dict[str, Any], line: int) -> list[Value] | None:
        """The values at the end of the body, or None to build it again.

        Raises:
            LanguageError: a name changed its type.
        """
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
                if leaf.ir.type != before.ir.type:
                    self._adapt(name, place, leaf, line)
                    again = True
                results.append(leaf)
                place += 1
        return None if again else results

    def _adapt(self, name: str, place: int, value: Value, line: int) -> None:
        """Gives the number a name starts with the type that the body gives it."""
        before = self.values[place]
        if not self._numbers[place] or not isinstance(value, Scalar):
            raise LanguageError(
                f"'{name}' changes its type in the loop of line {line}: "
                f"{type_text(before)} before, {type_text(value)} after the body",
                "convert with .to(...), or start with tl.zeros or tl.full",
            )
        leaves = flatten(list(self.initial.values()))
        self.values[place] = to_scalar(leaves[place], value.dtype)
        self._numbers[place] = False
