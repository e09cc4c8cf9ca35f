"""Plans of earlier calls, which like calls launch again.

The first call of a kernel with some arguments binds them, specializes the kernel, finds
its code and checks each array. What all of that leads to depends on what the arguments
are like: on types, shapes, strides and devices of tensors, on types of numbers, and on
values of constants. A later call for which these are equal fills in addresses and
numbers, and launches.

Plans are for tensors of torch, whose properties are cheap to read. Other calls go the
whole way each time.

Where torch has DLPack's C functions, a plan becomes one of :mod:`._launch`. The next
like call then launches without Python.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._launch import CallPlan
from ._support.call_recorder import current_recorder
from .runtime.arrays import fingerprint
from .signature import ConstantParameter, Parameter, ScalarParameter, TensorParameter

if TYPE_CHECKING:
    from .runtime import LoadedKernel
    from .runtime.launch import Plan

#: How many plans a kernel keeps before it drops all of them.
_MOST = 1024
_NUMBERS = (int, float, bool)

#: What an argument of a call is for its plan, as lib/Bindings/Launch/HotCall.h has it.
ARGUMENT, CONSTANT, TENSOR_OR_CONSTANT, STREAM = range(4)
CallForm = tuple[list[tuple[int, int]], list[tuple[int, Any]]]
#: Options of a call that its plan depends on.
_OPTIONS = ("target", "backend", "threads")


@dataclasses.dataclass(frozen=True)
class CallKind:
    """What a call is like, as far as its plan depends on it.

    Attributes:
        key: equal for calls with the same plan.
        arguments: the arrays and numbers, in order; optional ones that are given.
        pointers: the addresses of the arrays.
        positions: where each of the arguments is among the parameters that are no
            constants.
    """

    key: Hashable
    arguments: list[Any]
    pointers: list[int]
    positions: list[int]


@dataclasses.dataclass(frozen=True)
class CallFamily:
    """What calls launch that differ in addresses and numbers alone.

    Attributes:
        kernel: the kernel, loaded.
        plans: grids and parameters, by the numbers that the grid depends on.
        native: launches without Python; None if there is no such plan.
    """

    kernel: LoadedKernel
    plans: dict[tuple[int, ...], Plan]
    native: CallPlan | None


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
        of_python = inspect.signature(order).parameters.values()
        self._names = {each.name for each in of_python}
        self._positional = [
            each.name for each in of_python if each.kind is not each.KEYWORD_ONLY
        ]
        self._defaults = {
            each.name: each.default
            for each in of_python
            if each.default is not each.empty
        }
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
        positions: list[int] = []
        for position, name in enumerate(self._runtime):
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
            positions.append(position)
        return CallKind(tuple(key), arguments, pointers, positions)

    def describe_form(self, count: int, names: Sequence[str]) -> CallForm | None:
        """What the arguments of a call are, by the way it gives them.

        Args:
            count: of the positional arguments.
            names: of the others.

        Returns:
            A role and a position for each argument, and the defaults of others, by
            position; None if there are no plans for such calls.
        """
        if not self._is_simple or count > len(self._positional):
            return None
        given = [*self._positional[:count], *names]
        roles = []
        for place, name in enumerate(given):
            if name in self._runtime:
                roles.append((ARGUMENT, self._runtime.index(name)))
            elif name in self._constants or (place >= count and name in _OPTIONS):
                roles.append((CONSTANT, 0))
            elif name == "stream":
                roles.append((STREAM, 0))
            else:  # An extent by name, or nothing that the kernel knows.
                return None
        missing = self._names - {*given}
        if len({*given}) < len(given) or missing - self._defaults.keys():
            return None
        defaults = [
            (position, self._defaults[name])
            for position, name in enumerate(self._runtime)
            if name in missing
        ]
        return roles, defaults

    def launch(self, kind: CallKind, stream: Any) -> CallFamily | None:
        """Launches what a like call launched, if there was one, and returns it.

        Raises:
            LaunchError: a number or an address does not fit; nothing was started.
            BackendError: the driver refuses.
        """
        try:
            family = self._families.get(kind.key)
        except TypeError:  # A constant that cannot be hashed is refused later.
            return None
        if family is None:
            return None
        plan = family.plans.get(_grid_numbers(family.kernel, kind))
        if plan is None:
            return None
        family.kernel.launch(plan, kind.arguments, kind.pointers, stream)
        if recorder := current_recorder():
            recorder.add_launch(family.kernel, plan, kind)
        return family

    def add(self, kind: CallKind, kernel: LoadedKernel, plan: Plan) -> CallFamily:
        """Keeps the plan that a call led to."""
        if self._count >= _MOST:
            self._families.clear()
            self._count = 0
        family = self._families.get(kind.key)
        # The kernel may have been dropped, and compiled again, since.
        if family is None or family.kernel is not kernel:
            native = kernel.make_native(plan, kind.positions)
            family = self._families[kind.key] = CallFamily(kernel, {}, native)
        family.plans[_grid_numbers(kernel, kind)] = plan
        self._count += 1
        if recorder := current_recorder():
            recorder.add_launch(kernel, plan, kind)
        return family


def _grid_numbers(kernel: LoadedKernel, kind: CallKind) -> tuple[int, ...]:
    """The numbers of a call that the kernel's grid depends on."""
    return tuple([kind.arguments[position] for position in kernel.grid_numbers])
