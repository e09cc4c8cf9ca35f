"""Tensor maps: descriptions of arrays for the units that copy tiles (TMA).

A manifest has a recipe for each map. The launch turns it into the 128 bytes that the
driver encodes. Like :mod:`.launch`, this module needs no driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .launch_errors import LaunchError

BYTES = 128
"""The size of a tensor map."""

_ALIGNMENT = 64
_UNIT = 16
_MAX_STRIDE = 2**40
#: Coordinates have 32 bits and a sign, though extents may be longer.
_MAX_EXTENT = 2**31 - 1
_MAX_CACHED = 64


def align(address: int) -> int:
    """The next address at which a tensor map may lie."""
    return -(-address // _ALIGNMENT) * _ALIGNMENT


@dataclass
class TensorMap:
    """A tensor map of a plan. Dimensions are in the map's order, the innermost first.

    Attributes:
        dtype: the element type as MLIR spells it.
        extents: elements along each dimension, all positive.
        strides: bytes from one element to the next, from the second dimension on; one
            that is not used for a map of rank 1.
        box: elements of one transfer along each dimension.
        element_strides: every how many elements of a dimension are taken.
        swizzle: bytes that are swizzled among themselves, 0 for none.
        l2_promotion: bytes that the second-level cache fetches at once.
        shift: bytes from the start of the map to the array.
        is_empty: whether the array has no element; it is then encoded as one element
            of memory that holds zero.
        name: the argument's name, for messages.
        slot: which parameter holds the array's address.
        address: where the encoded map goes.
    """

    dtype: str
    extents: list[int]
    strides: list[int]
    box: list[int]
    element_strides: list[int]
    swizzle: int
    l2_promotion: int
    shift: int
    is_empty: bool
    name: str
    slot: int
    address: int
    _storage: Any = field(repr=False)
    _pointer: int | None = None
    _encoded: dict[int, bytes] = field(default_factory=dict, repr=False)

    def update(self, pointer: int, encode: Callable[[TensorMap, int], bytes]) -> None:
        """Makes this the map of the array at ``pointer``.

        Args:
            pointer: the array's address on the device.
            encode: gives the bytes of a map of an array at an address.

        Raises:
            LaunchError: if the address is not aligned as TMA needs it, or the map would
                start before all memory.
        """
        if pointer == self._pointer:
            return
        content = self._encoded.get(pointer)
        if content is None:
            if pointer % _UNIT:
                raise LaunchError(
                    f"argument '{self.name}': expected an address aligned to {_UNIT} "
                    f"bytes, which TMA needs, found {pointer:#x}"
                )
            if pointer < self.shift:
                raise LaunchError(
                    f"argument '{self.name}': expected an address of at least "
                    f"{self.shift:#x}, the bytes of the rows of one copy, found "
                    f"{pointer:#x}"
                )
            content = encode(self, pointer - self.shift)
            if len(self._encoded) >= _MAX_CACHED:
                self._encoded.clear()
            self._encoded[pointer] = content
        ctypes.memmove(self.address, content, BYTES)
        self._pointer = pointer


def make_tensor_map(
    recipe: Mapping[str, Any],
    extents: Sequence[int],
    strides: Sequence[int],
    name: str,
    slot: int,
    address: int,
    storage: Any,
) -> TensorMap:
    """Checks TMA's requirements on an array and makes its map.

    Args:
        recipe: the manifest's entry.
        extents: elements along each dimension, the innermost first.
        strides: bytes from one element to the next, from the second dimension on.
        name: the argument's name.
        slot: which parameter holds the array's address.
        address: where the encoded map goes.
        storage: keeps the memory there alive.

    Raises:
        LaunchError: if a stride or an extent cannot be encoded.
    """
    is_empty = 0 in extents
    extents = [1] * len(extents) if is_empty else list(extents)
    fitting = _fit_strides(recipe, extents, strides, name)
    for extent in extents:
        if not 0 < extent <= _MAX_EXTENT:
            raise LaunchError(
                f"argument '{name}': expected extents of 1 to 2^31 - 1, which "
                f"coordinates of TMA reach, found {extent}"
            )
    box, element_strides = list(recipe["box"]), list(recipe["element_strides"])
    shift = 0
    if window := recipe.get("window"):
        # The dimension comes twice: as the window, and to move the window, from one
        # that ends at the array's first row to one that ends at its last.
        position, size = window["position"], window["size"]
        stride = fitting[position - 1]
        fitting.append(stride)
        if is_empty:
            extents.append(1)
        else:
            shift = size * stride
            extents.append(extents[position] + 1)
            extents[position] = size
        box.append(1)
        element_strides.append(1)
        if recipe.get("outside"):
            # A box without an element of the array lies outside of its first element,
            # too. TMA accesses the start of the map, which is in the array.
            extents, shift = [1] * len(extents), 0
            fitting = [_UNIT] * len(fitting)
    return TensorMap(
        recipe["dtype"],
        extents,
        fitting,
        box,
        element_strides,
        recipe["swizzle"],
        recipe["l2_promotion"],
        shift,
        is_empty,
        name,
        slot,
        address,
        storage,
    )


def _fit_strides(
    recipe: Mapping[str, Any],
    extents: Sequence[int],
    strides: Sequence[int],
    name: str,
) -> list[int]:
    """The strides as TMA takes them; see :func:`make_tensor_map`."""
    fitting = []
    for dimension, (extent, stride) in enumerate(
        zip(extents[1:], strides, strict=True), start=1
    ):
        # Where there is one element its stride is never taken.
        if extent == 1:
            stride = _UNIT
        if stride % _UNIT or not 0 < stride < _MAX_STRIDE:
            raise LaunchError(
                f"argument '{name}': expected strides that are positive multiples of "
                f"{_UNIT} bytes, which TMA needs, found {stride} bytes in dimension "
                f"{recipe['dims'][dimension]}"
            )
        fitting.append(stride)
    # The driver refuses a list without strides.
    return fitting or [_UNIT]
