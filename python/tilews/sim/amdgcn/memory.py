"""Global and shared memory that checks bounds and reads of unwritten bytes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from ...runtime.overlaps import byte_span
from .disassembly import MachineError

#: The distance of buffers, so that an overrun never reaches the next buffer.
_SPACING = 1 << 33
_BASE = 0x7F00_0000_0000
#: The bytes of a word that the end of a buffer may cut, and what bytes past it are.
_WORD, _PAST_END = 4, 0xA5


@dataclass(frozen=True)
class HostMemory:
    """The memory of an array.

    Attributes:
        address: of the array's first element, which a kernel gets.
        first: of the lowest byte that belongs to the array, relative to `address`.
        end: of the first byte after it, relative to `address`.
        is_read_only: whether kernels may not write it.
    """

    address: int
    first: int
    end: int
    is_read_only: bool = False

    @staticmethod
    def of(array: np.ndarray) -> HostMemory:
        span = byte_span(array.shape, array.strides, array.itemsize)
        return HostMemory(array.ctypes.data, *span, not array.flags.writeable)

    def map(self) -> np.ndarray:
        """Its bytes, shared with the array, which has to live as long."""
        size = self.end - self.first
        data = (ctypes.c_ubyte * size).from_address(self.address + self.first)
        flat = np.frombuffer(memoryview(data), np.uint8)
        flat.flags.writeable = not self.is_read_only
        return flat


class GlobalMemory:
    """Buffers at addresses far apart; accesses between them are refused.

    Accesses need no alignment (LLVM, "unaligned-access-mode").

    The end of a buffer may cut an aligned word of 32 bits: updates of smaller elements
    load the word, and store it with its other bytes as they were. Those past the end
    have a value that the simulator chooses, and a store that changes them is an error.

    Attributes:
        buffers: those of a launch.
        regions: the addresses and bytes of what stays there for all launches.
    """

    def __init__(self) -> None:
        self.buffers: list[np.ndarray] = []
        self.regions: list[tuple[int, np.ndarray]] = []

    def add(self, data: np.ndarray) -> int:
        """Maps a flat uint8 array and returns its address."""
        self.buffers.append(data)
        return _BASE + (len(self.buffers) - 1) * _SPACING

    def _find(self, addresses: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The buffer that holds all addresses, and their offsets in it."""
        for start, region in self.regions:
            offsets = addresses.astype(np.int64) - start
            if offsets.min() >= 0 and offsets.max() + size <= len(region):
                return region, offsets
        if addresses[0] < _BASE:
            raise MachineError(f"access to {int(addresses[0]):#x}, no buffer")
        index = int(addresses[0] - np.uint64(_BASE)) // _SPACING
        if index >= len(self.buffers):
            raise MachineError(f"access to {int(addresses[0]):#x}, no buffer")
        offsets = (addresses - np.uint64(_BASE + index * _SPACING)).astype(np.int64)
        buffer = self.buffers[index]
        end = len(buffer)
        if size == _WORD and not (offsets[offsets + size > end] % _WORD).any():
            end += -end % _WORD
        if offsets.min() < 0 or offsets.max() + size > end:
            raise MachineError(
                f"access to bytes {offsets.min()} to {offsets.max() + size} of "
                f"buffer {index}, which has {len(buffer)}"
            )
        return buffer, offsets

    def load(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Bytes at each address, shape (n, size)."""
        if not len(addresses):
            return np.zeros((0, size), np.uint8)
        buffer, offsets = self._find(addresses, size)
        places = offsets[:, None] + np.arange(size)
        if offsets.max() + size <= len(buffer):
            return buffer[places]
        loaded = np.full(places.shape, _PAST_END, np.uint8)
        inside = places < len(buffer)
        loaded[inside] = buffer[places[inside]]
        return loaded

    def store(self, addresses: np.ndarray, data: np.ndarray) -> None:
        if not len(addresses):
            return
        buffer, offsets = self._find(addresses, data.shape[1])
        if not buffer.flags.writeable:
            raise MachineError("store to a read-only array")
        places = offsets[:, None] + np.arange(data.shape[1])
        inside = places < len(buffer)
        if (data[~inside] != _PAST_END).any():
            raise MachineError(
                f"store to bytes {len(buffer)} to {places.max() + 1} of a buffer that "
                f"has {len(buffer)}"
            )
        buffer[places[inside]] = data[inside]

    def copy(self) -> list[np.ndarray]:
        """What the memory holds that can change."""
        known = [*self.buffers, *(region for _, region in self.regions)]
        return [each.copy() for each in known if each.flags.writeable]

    def equals(self, copied: list[np.ndarray]) -> bool:
        return all(map(np.array_equal, self.copy(), copied))


class SharedMemory:
    """A block's shared memory; reads of unwritten bytes are errors.

    So are accesses to bytes that a load from global memory will write, until a wait
    has completed the load.

    Accesses need no alignment: ROCm enables unaligned accesses, and LLVM merges
    accesses accordingly.
    """

    def __init__(self, size: int) -> None:
        self.data = np.zeros(size, np.uint8)
        self.written = np.zeros(size + 3, bool)
        #: Bytes that copies write which are not complete.
        self._pending = np.zeros(size, bool)

    def begin_copy(self, addresses: np.ndarray, size: int) -> None:
        """Marks bytes that a load will write."""
        self._pending[self._get_settled(addresses, size)] = True

    def end_copy(self, addresses: np.ndarray, size: int) -> None:
        self._pending[self._get_places(addresses, size)] = False

    def _get_settled(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """The places of an access, to which no copy is pending."""
        places = self._get_places(addresses, size)
        pending = self._pending[places]
        if pending.any():
            raise MachineError(
                f"shared byte {places[pending][0]} is accessed, but a copy to it is "
                "not waited for"
            )
        return places

    def _get_places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        offsets = addresses.astype(np.int64)
        if len(offsets) and offsets.max() + size > len(self.data):
            raise MachineError(
                f"access to shared byte {offsets.max() + size - 1} of {len(self.data)}"
            )
        return offsets[:, None] + np.arange(size)

    def load(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Bytes at each address, shape (n, size)."""
        places = self._get_settled(addresses, size)
        # LLVM reads whole words even if it needs a part of them only.
        words = places // 4 * 4
        known = np.any([self.written[words + i] for i in range(4)], axis=0)
        if not known.all():
            first = places[~known][0]
            raise MachineError(f"shared byte {first} is read, but never written")
        return self.data[places]

    def store(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self._set(self._get_settled(addresses, data.shape[1]), data)

    def land(self, addresses: np.ndarray, data: np.ndarray) -> None:
        """Writes what a copy has loaded."""
        self._set(self._get_places(addresses, data.shape[1]), data)

    def _set(self, places: np.ndarray, data: np.ndarray) -> None:
        self.data[places] = data
        self.written[places] = True
