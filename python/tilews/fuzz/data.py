"""Parameters of random kernels, and the arrays and numbers of their arguments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..language import types
from ..language.memory.packed import pack_elements

#: The dtype of each of the language's element types that kernels here use.
DTYPES: dict[str, np.dtype] = {
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e2m3": np.dtype(ml_dtypes.float6_e2m3fn),
    "e3m2": np.dtype(ml_dtypes.float6_e3m2fn),
    "e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "i1": np.dtype(bool),
    "i4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
    "i8": np.dtype("int8"),
    "u8": np.dtype("uint8"),
    "i16": np.dtype("int16"),
    "u16": np.dtype("uint16"),
    "u32": np.dtype("uint32"),
    "u64": np.dtype("uint64"),
    "i32": np.dtype("int32"),
    "i64": np.dtype("int64"),
    "index": np.dtype("int64"),
}

#: Element types of which two share a byte of an array.
NIBBLES = {"i4": types.i4, "u4": types.u4, "e2m1": types.e2m1}
#: What can be packed in bytes, by the type of numpy.
PACKED = {dtype.numpy: dtype for dtype in (*NIBBLES.values(), types.e2m3, types.e3m2)}


@dataclasses.dataclass(frozen=True)
class Number:
    """A scalar."""

    name: str
    value: int
    dtype: str = "index"

    def annotation(self) -> str:
        return f"{self.name}: tl.{self.dtype}"

    def make(self, random: np.random.Generator) -> int:
        return self.value


@dataclasses.dataclass(frozen=True)
class Array:
    """A tensor in global memory.

    Attributes:
        fill: ``small`` for integers from -3 to 3 (from 0 without sign), ``zeros``,
            ``ones``, ``random`` for 0 and 1, ``below N`` for integers from 0 to
            N - 1, or ``order N`` for the first N integers in random orders. ``pairs``
            makes the metadata of sparse matmuls, ``powers`` scales, and ``packed T``
            bytes with small integers of a type of 6 bits.
        divisor: of the innermost extent, as the annotation says.
        is_static: whether the annotation has the extents.
        gap: elements between two rows.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: str = "small"
    divisor: int = 1
    is_static: bool = False
    gap: int = 0

    def annotation(self) -> str:
        extents = [
            str(extent) if self.is_static else f"{self.name}_{dim}"
            for dim, extent in enumerate(self.shape)
        ]
        if self.divisor > 1:
            extents[-1] += f":{self.divisor}"
        strides = f', "{self.shape[-1] + self.gap}, 1"' if self.gap else ""
        shape = ", ".join(extents)
        return f'{self.name}: tl.Tensor["{shape}", tl.{self.dtype}{strides}]'

    def make(self, random: np.random.Generator) -> np.ndarray:
        shape = (*self.shape[:-1], self.shape[-1] + self.gap)
        values: Any
        if self.fill == "pairs":
            return _pairs(random, shape, DTYPES[self.dtype])
        if self.fill.startswith("packed"):
            elements = (*shape[:-1], shape[-1] * 4 // 3)
            return _packed(random.integers(-3, 4, elements), self.fill.split()[1])
        if self.fill == "powers":
            values = 2.0 ** random.integers(-1, 2, shape)
        elif self.fill == "small":
            values = random.integers(-3, 4, shape)
            if self.dtype.startswith("u"):
                values = abs(values)
        elif self.fill == "random":
            values = random.integers(0, 2, shape)
        elif self.fill.startswith("below"):
            values = random.integers(0, int(self.fill.split()[1]), shape)
        elif self.fill.startswith("order"):
            whole = np.arange(int(self.fill.split()[1]))
            count = -(-math.prod(shape) // len(whole))
            orders = [random.permutation(whole) for _ in range(count)]
            values = np.concatenate(orders)[: math.prod(shape)].reshape(shape)
        else:
            values = np.full(shape, self.fill == "ones")
        if self.dtype in NIBBLES:
            return _packed(values, self.dtype)
        array = np.asarray(values).astype(np.float32).astype(DTYPES[self.dtype])
        return array[..., : self.shape[-1]]


def _packed(values: np.ndarray, dtype: str) -> np.ndarray:
    """The bytes of elements that share them."""
    return pack_elements(values.astype(np.float32).astype(DTYPES[dtype]))


def _pairs(
    random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """Integers whose nibbles name two different ones of four elements each."""
    known = [i | j << 2 for j in range(4) for i in range(j)]
    nibbles = random.choice(known, (*shape, 2 * dtype.itemsize)).astype(np.uint8)
    packed = nibbles[..., ::2] | nibbles[..., 1::2] << 4
    # A view would be copied with what it shows.
    return packed.view(dtype)[..., 0].copy()


def copy_arguments(arguments: Sequence[Any]) -> list[Any]:
    """Copies of what parameters make, with the same gaps between rows."""
    return [_copy(each) if isinstance(each, np.ndarray) else each for each in arguments]


def _copy(array: np.ndarray) -> np.ndarray:
    whole = array if array.base is None else array.base
    return whole.copy()[..., : array.shape[-1]]
