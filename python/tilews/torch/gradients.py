"""Backward rules of operators, as torch's autograd calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

#: What rules call the result of the operator.
RESULT = "result"


class GradientRule:
    """The backward rule of an operator: keeps what it needs, and calls it.

    Args:
        name: of the operator.
        schema: its schema, without the name.
        function: see ``backward`` of :func:`.op`; None for an operator that has none,
            whose gradients are an error.

    Attributes:
        changed: the names of the arguments that the operator changes.

    Raises:
        TypeError: the operator neither returns nor changes a tensor, or the rule asks
            for what it does not have.
    """

    def __init__(
        self, name: str, schema: str, function: Callable[..., Any] | None
    ) -> None:
        read = torch._C.parse_schema(f"{name}{schema}")
        self._name = name
        self._function = function
        self._names = [each.name for each in read.arguments]
        self.changed = [
            each.name
            for each in read.arguments
            if each.alias_info is not None and each.alias_info.is_write
        ]
        if not self.changed and not read.returns:
            raise TypeError(
                f"{name}: expected an operator that returns or changes a tensor; give "
                "outputs= or mutates="
            )
        self._has_results = len(read.returns) != 1
        self._needed = self._read_needed() if function else ()

    def _read_needed(self) -> tuple[str, ...]:
        """What the rule asks for besides the gradient.

        Raises:
            TypeError: the operator has no such argument.
        """
        assert self._function is not None
        _, *needed = inspect.signature(self._function).parameters
        for each in needed:
            if each not in (*self._names, RESULT):
                raise TypeError(
                    f"{self._name}: backward= asks for '{each}', expected one of "
                    f"{', '.join((*self._names, RESULT))} after the gradient"
                )
        return tuple(needed)

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the rule needs: a ``setup_context`` of torch."""
        values = {**dict(zip(self._names, inputs, strict=True)), RESULT: output}
        tensors: list[Any] = []
        forms: list[tuple[str, Any]] = []
        for name in self._needed:
            value = values[name]
            if isinstance(value, torch.Tensor):
                forms.append(("tensor", len(tensors)))
                tensors.append(value)
            elif isinstance(value, (tuple, list)) and any(
                isinstance(each, torch.Tensor) for each in value
            ):
                forms.append(("tensors", (len(tensors), len(value))))
                tensors += value
            else:
                forms.append(("value", value))
        ctx.save_for_backward(*tensors)
        ctx.forms = forms

    def backward(self, ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """The gradients of the arguments.

        Raises:
            RuntimeError: the rule has none for an argument that needs one.
        """
        if self._function is None:
            raise RuntimeError(
                f"{self._name} has no backward rule: call it under torch.no_grad(), or "
                "compute this part of the model by other operators"
            )
        saved = ctx.saved_tensors
        values = {}
        for name, (form, what) in zip(self._needed, ctx.forms, strict=True):
            if form == "tensor":
                values[name] = saved[what]
            elif form == "tensors":
                values[name] = tuple(saved[what[0] : what[0] + what[1]])
            else:
                values[name] = what
        found = self._function(grads if self._has_results else grads[0], **values)
        for name in found:
            if name not in self._names:
                raise RuntimeError(
                    f"{self._name}: backward= returns a gradient of '{name}', expected "
                    f"names of {', '.join(self._names)}"
                )
        # Torch leaves out arguments at the end that have their default values.
        given = self._names[: len(ctx.needs_input_grad)]
        missing = [
            name
            for name, is_needed in zip(given, ctx.needs_input_grad, strict=True)
            if is_needed and found.get(name) is None
        ]
        if missing:
            raise RuntimeError(
                f"{self._name} has no gradient for '{missing[0]}': detach() it, or "
                "compute this part of the model by other operators"
            )
        return tuple(found.get(name) for name in given)
