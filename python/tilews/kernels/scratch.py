"""Memory that operations need besides their arguments and results.

Such memory is used in the order of a stream: it is allocated there, so that its library
gives it to other work of that stream only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilews
import tilews.language as tl

from .._support.call_recorder import current_recorder
from ..language.types import DType
from ..runtime import stream_handle
from ..runtime.arrays import is_on_host

#: The handle of a stream that is another one in each thread (cudaStreamPerThread).
_STREAM_OF_THREAD = 2
#: The fewest tickets that are allocated.
_TICKETS = 4096

#: Tickets by library, device and stream. They are zero when no launch uses them.
_tickets: dict[tuple[str, int, int], Any] = {}


def can_allocate(like: Any) -> bool:
    """Whether there is memory beside an array. There is none for JAX on a GPU."""
    return is_on_host(like) or _library(like) in ("torch", "cupy")


def allocate(like: Any, stream: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """An array with any content.

    Args:
        like: an array, whose library and device the new one has.
        stream: of the launch, or None for the current one.
        shape: of the array.
        dtype: of its elements.
    """
    if is_on_host(like):
        return np.empty(shape, dtype.numpy)
    if _library(like) == "torch":
        import torch

        with _torch_stream(like, stream):
            kind = getattr(torch, dtype.numpy.name)
            array = torch.empty(shape, dtype=kind, device=like.device)
        if recorder := current_recorder():
            if stream is None:
                recorder.add_array(array)
            else:
                recorder.give_up()
        return array
    import cupy

    with like.device, _cupy_stream(stream):
        return cupy.empty(shape, dtype.numpy)


def take_tickets(like: Any, stream: Any, count: int) -> Any:
    """At least `count` zeros of i32, which a launch on a stream counts with.

    The launch leaves zeros, so that the next launch on the stream takes the same array.
    One that a graph captures gets an array of its own, which the graph fills, and so
    does one on the default stream of the thread, whose handle others have, too.

    Args:
        like: an array of the launch.
        stream: of the launch, or None for the current one.
        count: how many are needed.
    """
    if is_on_host(like):
        return np.zeros(count, np.int32)
    size = max(count, _TICKETS)
    if _library(like) == "torch":
        import torch

        with _torch_stream(like, stream) as handle:

            def zeros() -> Any:
                return torch.zeros((size,), dtype=torch.int32, device=like.device)

            recorder = current_recorder()
            if handle == _STREAM_OF_THREAD or torch.cuda.is_current_stream_capturing():
                if recorder:
                    recorder.give_up()
                return zeros()
            found = _find(("torch", like.device.index, handle), count, zeros)
            if recorder:
                recorder.keep_array(found, handle)
            return found
    import cupy

    with like.device, _cupy_stream(stream) as current:

        def zeros() -> Any:
            return cupy.zeros(size, cupy.int32)

        if current.ptr == _STREAM_OF_THREAD or current.is_capturing():
            return zeros()
        return _find(("cupy", like.device.id, current.ptr), count, zeros)


@tilews.func
def is_last_part(Tickets: Any, sum_id: Any, parts: Any) -> Any:
    """Whether the parts of a sum are all stored, as the block counts that stored one.

    Each block stores a part, then takes a ticket. The one with the last ticket sees
    what the others stored, and sets the ticket to zero for the next launch.

    Args:
        Tickets: an array of :func:`take_tickets`, one for each sum.
        sum_id: which sum.
        parts: how many parts it has.
    """
    is_last = tl.atomic_add(1, Tickets[sum_id], order="acq_rel") == parts - 1
    if is_last:
        tl.atomic_store(0, Tickets[sum_id])
    return is_last


def _find(place: tuple[str, int, int], count: int, make: Callable[[], Any]) -> Any:
    """The tickets of a stream, with at least `count` of them."""
    found = _tickets.get(place)
    if found is None or len(found) < count:
        found = _tickets[place] = make()
    return found


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


@contextlib.contextmanager
def _torch_stream(like: Any, stream: Any) -> Iterator[int]:
    """Makes a stream, and the device of an array, those of torch; gives its handle."""
    import torch

    if stream is None and torch.cuda.current_device() == like.device.index:
        yield torch.cuda.current_stream().cuda_stream  # Nothing has to be restored.
        return
    with torch.cuda.device(like.device):
        current = torch.cuda.current_stream().cuda_stream
        handle = current if stream is None else stream_handle(stream)
        if handle == current:
            yield current
            return
        with torch.cuda.stream(torch.cuda.ExternalStream(handle, like.device)):
            yield handle


@contextlib.contextmanager
def _cupy_stream(stream: Any) -> Iterator[Any]:
    """Makes a stream the current one of CuPy, and gives it."""
    import cupy

    if stream is None:
        yield cupy.cuda.get_current_stream()
        return
    with cupy.cuda.ExternalStream(stream_handle(stream)) as current:
        yield current
