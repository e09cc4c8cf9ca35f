"""The memory that operations use besides arguments: on which stream, and by whom.

torch and CuPy are imitated: what they allocate says on which stream, as their
allocators give memory to other work of that stream only.
"""

import contextlib
import dataclasses
import sys
import types
from typing import ClassVar

import numpy as np
import pytest

import tilews.language as tl
from tilews.kernels import scratch

DEFAULT, SIDE = 0, 0x1234


@dataclasses.dataclass
class LibraryStream:
    """A stream of either library, as a context makes it the current one."""

    handle: int

    @property
    def cuda_stream(self):
        return self.handle

    @property
    def ptr(self):
        return self.handle

    def __enter__(self):
        Library.streams.append(self.handle)
        return self

    def __exit__(self, *_):
        Library.streams.pop()

    def is_capturing(self):
        return self.handle in Library.captured


class LibraryArray:
    """An array of one of the libraries, which knows the stream of its memory."""

    device: object

    def __init__(self, shape=(1,), content=None):
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.content, self.stream = content, Library.streams[-1]

    def __len__(self):
        return self.shape[0]


class Library:
    """The state of the imitated library."""

    streams: ClassVar[list[int]] = [DEFAULT]
    captured: ClassVar[set[int]] = set()


def torch_module():
    torch = types.ModuleType("torch")
    device = types.SimpleNamespace(type="cuda", index=0)
    kind = type("Tensor", (LibraryArray,), {"__module__": "torch", "device": device})

    def make(content):
        return lambda shape, dtype, device: kind(shape, content)

    torch.float32, torch.int32 = "float32", "int32"
    torch.empty, torch.zeros = make(None), make(0)
    torch.cuda = types.SimpleNamespace(
        device=lambda device: contextlib.nullcontext(),
        current_device=lambda: 0,
        current_stream=lambda: LibraryStream(Library.streams[-1]),
        stream=lambda stream: stream,
        ExternalStream=lambda handle, device: LibraryStream(handle),
        is_current_stream_capturing=lambda: Library.streams[-1] in Library.captured,
    )
    return torch, kind


def cupy_module():
    cupy = types.ModuleType("cupy")
    device = contextlib.nullcontext()
    device.id = 0
    kind = type("ndarray", (LibraryArray,), {"__module__": "cupy", "device": device})
    cupy.int32 = "int32"
    cupy.empty = lambda shape, dtype: kind(shape)
    cupy.zeros = lambda shape, dtype: kind(shape, 0)
    cupy.cuda = types.SimpleNamespace(
        ExternalStream=LibraryStream,
        get_current_stream=lambda: LibraryStream(Library.streams[-1]),
    )
    return cupy, kind


@pytest.fixture(params=[torch_module, cupy_module], ids=["torch", "cupy"])
def like(request, monkeypatch):
    """An array of a library on a GPU."""
    module, kind = request.param()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(scratch, "is_on_host", lambda array: False)
    monkeypatch.setattr(scratch, "_tickets", {})
    monkeypatch.setattr(Library, "captured", set())
    return kind()


def test_memory_belongs_to_the_stream_of_the_launch(like):
    assert scratch.can_allocate(like)
    for stream, handle in ((None, DEFAULT), (SIDE, SIDE), (LibraryStream(SIDE), SIDE)):
        found = scratch.allocate(like, stream, (3, 4), tl.f32)
        assert (type(found), found.shape) == (type(like), (3, 4))
        assert found.stream == handle
    with LibraryStream(SIDE):
        assert scratch.allocate(like, None, (3,), tl.f32).stream == SIDE
    assert Library.streams == [DEFAULT]


def test_each_stream_has_tickets(like):
    first = scratch.take_tickets(like, None, 5)
    assert first.content == 0 and first.stream == DEFAULT
    assert scratch.take_tickets(like, DEFAULT, len(first)) is first
    other = scratch.take_tickets(like, SIDE, 5)
    assert other is not first and other.stream == SIDE
    more = scratch.take_tickets(like, None, len(first) + 1)
    assert more is not first and len(more) == len(first) + 1
    assert scratch.take_tickets(like, None, 5) is more


def test_a_captured_launch_has_tickets_of_its_own(like):
    Library.captured.add(SIDE)
    kept = scratch.take_tickets(like, None, 5)
    captured = [scratch.take_tickets(like, SIDE, 5) for _ in range(2)]
    assert captured[0] is not captured[1]
    assert all(each.content == 0 and each.stream == SIDE for each in captured)
    Library.captured.clear()
    after = scratch.take_tickets(like, SIDE, 5)
    assert after is not captured[1] and after is not kept


def test_the_default_stream_of_a_thread_has_no_tickets_to_share(like):
    found = [scratch.take_tickets(like, 2, 5) for _ in range(2)]
    assert found[0] is not found[1]
    assert all(each.content == 0 and each.stream == 2 for each in found)


def test_arrays_in_host_memory():
    like = np.zeros(1, np.float32)
    assert scratch.can_allocate(like)
    assert scratch.allocate(like, None, (2, 3), tl.i32).dtype == np.int32
    tickets = [scratch.take_tickets(like, None, 7) for _ in range(2)]
    assert tickets[0] is not tickets[1] and not tickets[0].any()


def test_no_memory_beside_other_arrays(monkeypatch):
    monkeypatch.setattr(scratch, "is_on_host", lambda array: False)
    assert not scratch.can_allocate(object())
