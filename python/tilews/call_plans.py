"""Plans of earlier calls, which like calls launch again.

The first call of a kernel with some arguments binds them, specializes the kernel, finds
its code and checks each array. What all of that leads to depends on what the arguments
are like: on types, shapes, strides and devices of tensors, on types of numbers, and on
values of constants. A later call for which these are equal fills in addresses and
numbers, and launches.

Plans are for tensors of torch, whose properties are cheap to read. Other calls go the
whole way each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from .runtime.arrays import fingerprint
from .signature import ConstantParameter, Parameter, ScalarParameter, TensorParameter

if TYPE_CHECKING:
    from .runtime import LoadedKernel
    from .runtime.launch import Plan

#: How many plans a kernel keeps before it drops all of them.
_MOST = 1024
_NUMBERS = (int, float, bool)


@dataclasses.dataclass(frozen=True)
class CallKind:
    """What a call is like, as far as its plan depends on it.

    Attributes:
        key: equal for calls with the same plan.
        arguments: the arrays and numbers, in order; optional ones that are given.
        pointers: the addresses of the arrays.
    """

    key: Hashable
    arguments: list[Any]
    pointers: list[int]


@dataclasses.dataclass(frozen=True)
class CallFamily:
    """What calls launch that differ in addresses and numbers alone.

    Attributes:
        kernel: the kernel, loaded.
        plans: grids and parameters, by the numbers that the grid depends on.
    """

    kernel: LoadedKernel
    plans: dict[tuple[int, ...], Plan]


class CallPlans:
    """The plans of one kernel.

    Args:
        parameters: of the kernel.
        order: gives the arguments of a call by the names of parameters.
    """

    def __init__(
        self, parameters: list[Parameter], order: Callable[..., dict[str, Any]]
    ) -> None:
        self._order = order
        self._constants = [
            each.name for each in parameters if isinstance(each, ConstantParameter)
        ]
        runtime = [
            each for each in parameters if not isinstance(each, ConstantParameter)
        ]
        self._runtime = [each.name for each in runtime]
        # The arguments of lists and structures are others than the parameters.
        self._is_simple = all(
            isinstance(each, (TensorParameter, ScalarParameter)) for each in runtime
        )
        self._families: dict[Hashable, CallFamily] = {}
        self._count = 0

    def describe(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *rest: Hashable
    ) -> CallKind | None:
        """What a call is like; None if there are no plans for such calls.

        Args:
            args, kwargs: the arguments of the call.
            rest: what else the plan depends on.
        """
        if not self._is_simple:
            return None
        try:
            values = self._order(*args, **kwargs)
        except TypeError:  # The call is wrong, or gives extents by name.
            return None
        key: list[Any] = [*rest]
        for name in self._constants:
            value = values[name]
            key += (type(value), value)
        arguments: list[Any] = []
        pointers: list[int] = []
        for name in self._runtime:
            value = values[name]
            kind = type(value)
            if kind in _NUMBERS:
                key.append(kind)
            elif value is None:
                key.append(None)
                continue
            elif kind.__module__.partition(".")[0] == "torch":
                pointer, like = fingerprint(value, name)
                pointers.append(pointer)
                key.append(like)
            else:
                return None
            arguments.append(value)
        return CallKind(tuple(key), arguments, pointers)

    def launch(self, kind: CallKind, stream: Any) -> bool:
        """Launches what a like call launched; returns whether there was one.

        Raises:
            LaunchError: a number or an address does not fit; nothing was started.
            BackendError: the driver refuses.
        """
        try:
            family = self._families.get(kind.key)
        except TypeError:  # A constant that cannot be hashed is refused later.
            return False
        if family is None:
            return False
        plan = family.plans.get(_grid_numbers(family.kernel, kind))
        if plan is None:
            return False
        family.kernel.launch(plan, kind.arguments, kind.pointers, stream)
        return True

    def add(self, kind: CallKind, kernel: LoadedKernel, plan: Plan) -> None:
        """Keeps the plan that a call led to."""
        if self._count >= _MOST:
            self._families.clear()
            self._count = 0
        family = self._families.get(kind.key)
        # The kernel may have been dropped, and compiled again, since.
        if family is None or family.kernel is not kernel:
            family = self._families[kind.key] = CallFamily(kernel, {})
        family.plans[_grid_numbers(kernel, kind)] = plan
        self._count += 1


def _grid_numbers(kernel: LoadedKernel, kind: CallKind) -> tuple[int, ...]:
    """The numbers of a call that the kernel's grid depends on."""
    return tuple([kind.arguments[position] for position in kernel.grid_numbers])
