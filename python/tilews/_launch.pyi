"""Calls of kernels without Python: lib/Bindings/Launch."""

from collections.abc import Sequence
from typing import Any

class HotCall:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _watch(self, captured: Sequence[tuple[dict[str, Any], str]]) -> None: ...
    def _drop_plans(self) -> None: ...
    @property
    def _num_plans(self) -> int: ...

class Driver:
    def __init__(self, functions: Sequence[int], is_zero_of_thread: bool) -> None: ...

class LaunchFrame:
    def __init__(
        self,
        driver: Driver,
        function: int,
        context: int,
        block: Sequence[int],
        cluster: Sequence[int],
        shared_bytes: int,
    ) -> None: ...

class CallPlan: ...

def set_recording(is_recording: bool) -> None: ...

class OperationPlan(CallPlan):
    def __init__(
        self,
        launches: Sequence[Any],
        equal: Sequence[tuple[int, int]],
        allocated: Sequence[tuple[int, Any, Any, Any]],
        kept: Sequence[tuple[int, Any]],
        kept_stream: int,
        allocate: Any,
        names: tuple[str, ...],
        returned: Sequence[int],
        is_tuple: bool,
    ) -> None: ...

class LaunchPlan(CallPlan):
    def __init__(
        self,
        frame: LaunchFrame,
        values: Sequence[int],
        arrays: Sequence[tuple[int, int, int]],
        numbers: Sequence[tuple[int, int, int, int, Any, str]],
        distances: Sequence[tuple[int, int, int, int]],
        grid: Sequence[Sequence[tuple[int, int]]],
        maps: Sequence[tuple[Any, ...]],
        owner: Any,
        unused: Any,
        raise_error: Any,
        find_stream: Any,
    ) -> None: ...
