"""Parameters of random kernels, in all the forms that the language has.

A parameter stands for one argument of the compiled kernel, for several, or for none.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .data import Array, Number

#: Makes what a kernel's function sees of an argument.
Wrap = Callable[["Array | Number", Any], Any]


class RandomParameter(abc.ABC):
    """A parameter of a kernel's function."""

    @abc.abstractmethod
    def annotation(self) -> str:
        """The parameter as the function declares it."""

    @abc.abstractmethod
    def make(self, random: np.random.Generator) -> list[Any]:
        """New arguments of the compiled kernel."""

    @abc.abstractmethod
    def assemble(
        self, arguments: Iterator[Any], wrap: Wrap, types: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What a call gives for the parameter, by name; nothing for its default.

        Args:
            arguments: those of the compiled kernel, from those of this parameter on.
            wrap: is called for each of them.
            types: the classes of the kernel's text, by name.
        """

    def binding(self) -> dict[str, Any]:
        """What a build has to know about the argument."""
        return {}

    @property
    def is_plain(self) -> bool:
        """Whether the parameter is one argument, always."""
        return False


@dataclasses.dataclass(frozen=True)
class OneArgument(RandomParameter):
    """An array or a number, which may be missing.

    Attributes:
        leaf: the array or number.
        is_optional: whether it may be None.
        is_given: whether it is not None.
        default: the text of its default value; empty if there is none.
        is_omitted: whether calls leave it to the default value.
    """

    leaf: Array | Number
    is_optional: bool = False
    is_given: bool = True
    default: str = ""
    is_omitted: bool = False

    def annotation(self) -> str:
        default = f" = {self.default}" if self.default else ""
        return self.leaf.annotation() + " | None" * self.is_optional + default

    def make(self, random: np.random.Generator) -> list[Any]:
        return [self.leaf.make(random)] if self.is_given else []

    def assemble(
        self, arguments: Iterator[Any], wrap: Wrap, types: Mapping[str, Any]
    ) -> dict[str, Any]:
        value = wrap(self.leaf, next(arguments)) if self.is_given else None
        return {} if self.is_omitted else {self.leaf.name: value}

    def binding(self) -> dict[str, Any]:
        return {} if self.is_given else {self.leaf.name: None}

    @property
    def is_plain(self) -> bool:
        return not (self.is_optional or self.default)


@dataclasses.dataclass(frozen=True)
class ArrayList(RandomParameter):
    """A list of arrays that differ in their elements only."""

    array: Array
    count: int

    def annotation(self) -> str:
        name, kind = self.array.annotation().split(": ", 1)
        return f"{name}: list[{kind}]"

    def make(self, random: np.random.Generator) -> list[Any]:
        return [self.array.make(random) for _ in range(self.count)]

    def assemble(
        self, arguments: Iterator[Any], wrap: Wrap, types: Mapping[str, Any]
    ) -> dict[str, Any]:
        values = [wrap(self.array, next(arguments)) for _ in range(self.count)]
        return {self.array.name: values}

    def binding(self) -> dict[str, Any]:
        return {self.array.name: self.count}


@dataclasses.dataclass(frozen=True)
class NumberRecord(RandomParameter):
    """An object whose fields are numbers.

    Attributes:
        name: of the parameter.
        type: the name of its class, which the kernel's text defines.
        fields: in order.
    """

    name: str
    type: str
    fields: tuple[Number, ...]

    def annotation(self) -> str:
        return f"{self.name}: {self.type}"

    def make(self, random: np.random.Generator) -> list[Any]:
        return [field.make(random) for field in self.fields]

    def assemble(
        self, arguments: Iterator[Any], wrap: Wrap, types: Mapping[str, Any]
    ) -> dict[str, Any]:
        values = [wrap(field, next(arguments)) for field in self.fields]
        return {self.name: types[self.type](*values)}


@dataclasses.dataclass(frozen=True)
class BuildConstant(RandomParameter):
    """A number that is compiled in.

    Attributes:
        name: of the parameter.
        value: the number.
        default: its default value; None if it has none.
    """

    name: str
    value: int
    default: int | None

    def annotation(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: tl.constexpr{default}"

    def make(self, random: np.random.Generator) -> list[Any]:
        return []

    def assemble(
        self, arguments: Iterator[Any], wrap: Wrap, types: Mapping[str, Any]
    ) -> dict[str, Any]:
        return self.binding()

    def binding(self) -> dict[str, Any]:
        return {} if self.value == self.default else {self.name: self.value}
