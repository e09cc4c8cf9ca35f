"""What a call of an operation does, written down to be done again by C++.

An operation of ``tilews.kernels`` checks its arguments, allocates results and launches
kernels. All of that follows from the types, shapes and strides of its arrays and from
its other arguments. So the first call is recorded. The arrays of its launches are those
of the call or its results, by address, perhaps in other shapes. A later call with an
equal key allocates and launches likewise, with arrays of its own. Arrays that an
operation keeps for a stream are the same for all calls on this stream.

If anything is not known, such as an array that comes from elsewhere, there is no plan.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._launch import CallPlan, OperationPlan, set_recording

if TYPE_CHECKING:
    from ..call_plans import CallKind
    from ..runtime import LoadedKernel
    from ..runtime.launch import Plan

#: What a plan holds at most, as OperationPlan.h and CallKey.h have it.
MAX_ARGUMENTS = 48
_MAX_LAUNCHES = 4
_MAX_ARRAYS = 4

_threads = threading.local()


class CallRecorder:
    """Records the call of an operation in this thread."""

    def __init__(self) -> None:
        self._launches: list[tuple[LoadedKernel, Plan, CallKind]] = []
        self._allocated: list[Any] = []
        self._kept: list[Any] = []
        self._stream: int | None = None
        self._is_known = True

    def add_launch(self, kernel: LoadedKernel, plan: Plan, kind: CallKind) -> None:
        """Adds a launch that was made."""
        self._launches.append((kernel, plan, kind))

    def add_array(self, array: Any) -> None:
        """Adds an array that was allocated, and stays alive meanwhile."""
        self._allocated.append(array)

    def keep_array(self, array: Any, stream: int) -> None:
        """Adds an array that launches on a stream use one after the other."""
        self._is_known &= self._stream in (None, stream)
        self._stream = stream
        self._kept.append(array)

    def give_up(self) -> None:
        """Something was done that no plan does again."""
        self._is_known = False

    def make_plan(self, arguments: Sequence[Any], result: Any) -> CallPlan | None:
        """A plan of the call; None if there can be none.

        Args:
            arguments: of the call, in order.
            result: of the call.
        """
        launches, allocated, kept = self._launches, self._allocated, self._kept
        if not self._is_known or not 0 < len(launches) <= _MAX_LAUNCHES:
            return None
        count = len(arguments)
        others = [*allocated, *kept]
        if len(allocated) > _MAX_ARRAYS or count + len(others) > MAX_ARGUMENTS:
            return None
        arrays = [
            (position, each)
            for position, each in enumerate([*arguments, *others])
            if is_tensor(each)
        ]
        positions: dict[int, int] = {}
        equal = []
        for position, array in arrays:
            address = array.data_ptr()
            first = positions.setdefault(address, position)
            if not address or (first != position and position >= count):
                return None
            if first != position:
                equal.append((first, position))
        plans = [_bind(*launch, positions) for launch in launches]
        returned = _find(result, arrays)
        if None in plans or returned is None:
            return None
        import torch

        return OperationPlan(
            plans,
            equal,
            [
                (count + n, tuple(each.shape), each.dtype, each.device)
                for n, each in enumerate(allocated)
            ],
            [(count + len(allocated) + n, each) for n, each in enumerate(kept)],
            self._stream or 0,
            torch.empty,
            ("dtype", "device"),
            returned,
            isinstance(result, tuple),
        )


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of torch."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(
        value, "data_ptr"
    )


def _bind(
    kernel: LoadedKernel, plan: Plan, kind: CallKind, positions: dict[int, int]
) -> CallPlan | None:
    """The plan of a launch whose arrays are at positions by their addresses."""
    if not positions.keys() >= {*kind.pointers}:
        return None
    places = [positions[pointer] for pointer in kind.pointers]
    return kernel.make_fixed(plan, kind.arguments, places)


def _find(result: Any, arrays: list[tuple[int, Any]]) -> list[int] | None:
    """The positions of the arrays that are a result; None if one is none of them."""
    parts = result if isinstance(result, tuple) else (result,)
    found = [
        next((place for place, array in arrays if array is part), None)
        for part in parts
    ]
    return None if None in found else [place for place in found if place is not None]


def current_recorder() -> CallRecorder | None:
    """The recorder of this thread's call of an operation; None outside of any."""
    recorder: CallRecorder | None = getattr(_threads, "recorder", None)
    return recorder


@contextlib.contextmanager
def recording() -> Iterator[CallRecorder]:
    """Records the calls that this thread makes meanwhile."""
    recorder = _threads.recorder = CallRecorder()
    set_recording(True)
    try:
        yield recorder
    finally:
        set_recording(False)
        _threads.recorder = None
