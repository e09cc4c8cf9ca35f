"""Descriptions of arrays, for which kernels are compiled ahead of calls."""

from __future__ import annotations

import dataclasses

from ..language.types import DType


@dataclasses.dataclass(frozen=True)
class ArraySpec:
    """Stands for all arrays of an element type whose extents share their divisors.

    A kernel is compiled for the element types of its arrays, and for the largest power
    of two up to 16 that divides the innermost extent; for other extents only where the
    kernel fixes them. So ``ArraySpec((1, 4096), tl.f16)`` stands for arrays of any
    number of rows, and of rows whose length is a multiple of 16.

    Attributes:
        shape: extents in elements.
        dtype: the element type.

    Example:
        @tilews.kernel
        def double(X: tl.Tensor["N", "T"]):
            i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
            X[i] = 2 * tl.load(X[i], (256,))

        assert double.compile_for(tilews.ArraySpec((4096,), tl.f16), target="gfx942")
    """

    shape: tuple[int, ...]
    dtype: DType

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or not all(
            isinstance(extent, int) and extent >= 0 for extent in self.shape
        ):
            raise TypeError(
                "ArraySpec: the shape is a tuple of integers from 0 on, found "
                f"{self.shape!r}"
            )
        if not isinstance(self.dtype, DType):
            raise TypeError(
                f"ArraySpec: expected an element type such as tl.f16, found "
                f"{self.dtype!r}"
            )
