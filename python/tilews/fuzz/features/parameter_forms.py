"""Forms of parameters in random kernels: optional ones, lists, records, defaults."""

from __future__ import annotations

import re

from ..data import Array, Number
from ..draft import Draft, Lines
from ..parameters import (
    ArrayList,
    BuildConstant,
    NumberRecord,
    OneArgument,
    RandomParameter,
)

#: The name of the record, if there is one.
_RECORD = "config"
_FORMS = ("", "field", "default", "constant", "optional")
_METHOD = ("", "    def moved(self, place):", "        return place + self.start")


class ParameterForms:
    """Adds parameters in these forms, and brings existing numbers into them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._random = draft.feature_random
        self._added: list[RandomParameter] = []
        self._fields: list[Number] = []

    # --- New parameters ---------------------------------------------------------

    def _name(self, letter: str) -> str:
        return f"{letter}{len(self._added)}"

    def add_result(self, shape: tuple[int, ...]) -> str:
        """An array of f32 to store to."""
        name = self._name("R")
        self._added.append(OneArgument(Array(name, "f32", shape, fill="zeros")))
        return name

    def add_optional(self, leaf_dtype: str, shape: tuple[int, ...] = ()) -> str:
        """An array, or a number without a shape. For half of them calls give None."""
        random = self._random
        name = self._name("O")
        is_given, has_default = random.random() < 0.5, random.random() < 0.5
        leaf: Array | Number = Number(name, random.choice((1, 2, 3)), leaf_dtype)
        if shape:
            leaf = Array(name, leaf_dtype, shape, divisor=self._divisor(shape))
        self._added.append(
            OneArgument(
                leaf,
                is_optional=True,
                is_given=is_given,
                default="None" if has_default else "",
                is_omitted=has_default and not is_given,
            )
        )
        return name

    def add_list(self, dtype: str, shape: tuple[int, ...]) -> str:
        """A list of arrays."""
        name = self._name("L")
        array = Array(name, dtype, shape, divisor=self._divisor(shape))
        self._added.append(ArrayList(array, self._random.choice((1, 2, 2, 3))))
        return name

    def _divisor(self, shape: tuple[int, ...]) -> int:
        divisor = self._random.choice((1, 8, 16))
        return divisor if shape[-1] % divisor == 0 else 1

    def add_field(self, value: int, dtype: str) -> str:
        """A number in the record."""
        field = Number(f"f{len(self._fields)}", value, dtype)
        self._fields.append(field)
        return f"{_RECORD}.{field.name}"

    def moved(self, place: str) -> str:
        """A place, to which a method of the record adds one of its numbers."""
        if not self._fields or self._fields[0].name != "start":
            start = Number("start", self._random.choice((0, 1, 3)), "index")
            self._fields.insert(0, start)
        return f"{_RECORD}.moved({place})"

    # --- All parameters -------------------------------------------------------------

    def finish(
        self, lines: Lines, changes_numbers: bool
    ) -> tuple[Lines, tuple[RandomParameter, ...], str]:
        """The parameters of the kernel.

        Args:
            lines: the statements of the kernel.
            changes_numbers: whether numbers may get another form.

        Returns:
            The statements, the parameters, and the classes that they need.
        """
        parameters: list[RandomParameter] = []
        for each in self._draft.parameters:
            form = ""
            if changes_numbers and isinstance(each, Number):
                form = self._random.choice(_FORMS)
            if isinstance(each, Number) and form == "field":
                self._fields.append(each)
                text = f"{_RECORD}.{each.name}"
                lines = [re.sub(rf"\b{each.name}\b", text, line) for line in lines]
            elif isinstance(each, Number) and form:
                parameters.append(self._change(each, form))
            else:
                parameters.append(OneArgument(each))
        parameters += self._added
        if self._fields:
            name = f"Config_{self._draft.seed}"
            parameters.append(NumberRecord(_RECORD, name, tuple(self._fields)))
        # Stable: parameters with default values are the last ones.
        parameters.sort(key=lambda each: " = " in each.annotation())
        return lines, tuple(parameters), self._classes()

    def _change(self, number: Number, form: str) -> RandomParameter:
        """A number in another form, with the same value."""
        other = self._random.choice((number.value, number.value, 5))
        if form == "constant":
            default = self._random.choice((None, other))
            return BuildConstant(number.name, number.value, default)
        if form == "optional":
            return OneArgument(number, is_optional=True)
        is_omitted = other == number.value
        return OneArgument(number, default=str(other), is_omitted=is_omitted)

    def _classes(self) -> str:
        """The text of the record's class."""
        if not self._fields:
            return ""
        name = f"Config_{self._draft.seed}"
        head = self._random.choice(
            (
                f"@dataclasses.dataclass(frozen=True)\nclass {name}:",
                f"@dataclasses.dataclass\nclass {name}:",
                f"class {name}(typing.NamedTuple):",
            )
        )
        lines = [f"    {field.annotation()}" for field in self._fields]
        if self._fields[0].name == "start":
            lines += _METHOD
        return "\n".join([head, *lines, "", "", ""])
