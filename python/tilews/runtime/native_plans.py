"""Launch plans of ``tilews._launch``, which fill in and launch without Python.

A plan is made from what Python's own launch found: see :class:`.launch.Plan`. Where a
kernel needs more than a plan can do, such as lines that it prints, there is none, and
its calls go the general way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._launch import LaunchFrame, LaunchPlan
from . import modules
from .launch import Launcher, Plan
from .tensor_maps import TensorMap

#: Kinds of numbers, as LaunchPlan.h has them.
_SIGNED, _UNSIGNED, _FLOAT32, _FLOAT64, _OTHER = range(5)
#: Steps of an expression of the grid, likewise.
_NUMBER, _ARGUMENT = 0, 1
_STEPS = {"add": 2, "mul": 3, "mod": 4, "floordiv": 5, "ceildiv": 6}


def make_launch_plan(
    launcher: Launcher,
    plan: Plan,
    function: Any,
    positions: Sequence[int],
    find_stream: Any,
) -> LaunchPlan | None:
    """A plan that launches as `plan` does; None if there can be none.

    Args:
        launcher: of the kernel.
        plan: of a launch.
        function: the loaded kernel.
        positions: where each argument of the kernel is among those of a call.
        find_stream: gives the handle of a stream's object.
    """
    numbers = [
        (slot, positions[argument], *_number_kind(*type_), pack, name)
        for slot, argument, type_, pack, name in launcher.number_slots
    ]
    grid = [_steps(each, positions) for each in plan.grid_expressions]
    places = [positions[argument] for _, argument, _ in launcher.array_slots]
    variable = (list(plan.values), places, numbers, grid)
    return _make(launcher, plan, function, variable, find_stream)


def make_fixed_plan(
    launcher: Launcher,
    plan: Plan,
    function: Any,
    args: Sequence[Any],
    places: Sequence[int],
    find_stream: Any,
) -> LaunchPlan | None:
    """As :func:`make_launch_plan`, with the numbers of one launch.

    Args:
        launcher, plan, function, find_stream: likewise.
        args: the arguments of the launch.
        places: where each array of the kernel is among the arguments of a call.
    """
    values = list(plan.values)
    for slot, argument, _, pack, name in launcher.number_slots:
        values[slot] = pack(args[argument], name)
    grid = [[(_NUMBER, blocks)] for blocks in plan.grid]
    return _make(launcher, plan, function, (values, places, [], grid), find_stream)


def _make(
    launcher: Launcher,
    plan: Plan,
    function: Any,
    variable: tuple[list[int], Sequence[int], list[Any], list[Any]],
    find_stream: Any,
) -> LaunchPlan | None:
    """A plan with these values, places of arrays, numbers and grid."""
    frame: LaunchFrame | None = getattr(function, "native_frame", None)
    if frame is None or plan.producers or plan.is_empty:
        return None
    values, places, numbers, grid = variable
    order = {slot: n for n, (slot, *_) in enumerate(launcher.array_slots)}
    try:
        return LaunchPlan(
            frame=frame,
            values=values,
            arrays=[
                (slot, place, alignment)
                for place, (slot, _, alignment) in zip(
                    places, launcher.array_slots, strict=True
                )
            ],
            numbers=numbers,
            distances=plan.distances,
            grid=grid,
            maps=[
                _map_row(each, order[each.slot], slot, function)
                for each, slot in zip(plan.tensor_maps, launcher.map_slots, strict=True)
            ],
            owner=function,
            unused=modules.waiting(),
            raise_error=function.raise_error,
            find_stream=find_stream,
        )
    except ValueError:  # It has more parameters than a plan.
        return None


def _number_kind(dtype: str, is_unsigned: bool) -> tuple[int, int]:
    """The kind of a number for a plan, and its bits."""
    if dtype == "f32":
        return _FLOAT32, 32
    if dtype == "f64":
        return _FLOAT64, 64
    if not dtype.startswith("i"):
        return _OTHER, 64
    bits = 64 if dtype == "index" else int(dtype[1:])
    return (_UNSIGNED if is_unsigned or bits == 1 else _SIGNED), bits


def _steps(expression: Any, positions: Sequence[int]) -> list[tuple[int, int]]:
    """An expression of numbers and arguments in postfix order."""
    if isinstance(expression, int):
        return [(_NUMBER, expression)]
    if "scalar" in expression:
        return [(_ARGUMENT, positions[expression["scalar"]])]
    steps = [step for each in expression["args"] for step in _steps(each, positions)]
    return [*steps, (_STEPS[expression["op"]], 0)]


def _map_row(
    tensor_map: TensorMap, array: int, slot: int, function: Any
) -> tuple[Any, ...]:
    """A tensor map as a plan takes it."""
    kinds: Mapping[str, Any] = function.map_kinds(tensor_map)
    return (
        slot,
        array,
        tuple(map(int, kinds.values())),
        tensor_map.extents,
        tensor_map.strides,
        tensor_map.box,
        tensor_map.element_strides,
        tensor_map.shift,
        function.zeros() if tensor_map.is_empty else 0,
    )
