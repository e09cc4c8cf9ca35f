"""Arrays on an NVIDIA GPU with memory around them that is not mapped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def check(result: tuple[Any, ...]) -> Any:
    """The value of a call to the driver, which has to succeed."""
    status, *values = result
    assert status == 0, status
    return values[0] if values else None


class GuardedArray:
    """An array that starts where mapped memory starts, or ends where it ends."""

    def __init__(self, pointer: int, like: np.ndarray) -> None:
        self.like = like
        self.pointer = pointer
        self.__cuda_array_interface__ = {
            "data": (pointer, False),
            "shape": like.shape,
            "typestr": like.dtype.str,
            "strides": None,
            "version": 3,
        }

    def get(self) -> np.ndarray:
        """What the array holds, after all kernels."""
        from cuda.bindings import driver

        found = np.empty_like(self.like)
        check(driver.cuCtxSynchronize())
        if found.nbytes:
            check(driver.cuMemcpyDtoH(found.ctypes.data, self.pointer, found.nbytes))
        return found


@contextmanager
def guarded(array: np.ndarray, at_end: bool = False) -> Iterator[GuardedArray]:
    """A copy of an array on the current device: memory before it is not mapped.

    Args:
        array: what is copied.
        at_end: it is the memory after it that is not mapped.
    """
    from cuda.bindings import driver

    location = driver.CUmemLocation()
    location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    location.id = int(check(driver.cuCtxGetDevice()))
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location = location
    access = driver.CUmemAccessDesc()
    access.location = location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    unit = check(
        driver.cuMemGetAllocationGranularity(
            properties,
            driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM,
        )
    )
    size = max(-(-array.nbytes // unit), 1) * unit
    # One unit before and one after stay without memory. Shifts are longer than a unit
    # only for large rows, and what is reserved here is mapped nowhere else.
    whole = size + 2 * unit
    start = int(check(driver.cuMemAddressReserve(whole, unit, 0, 0)))
    handle = check(driver.cuMemCreate(size, properties, 0))
    try:
        mapped = start + unit
        check(driver.cuMemMap(mapped, size, 0, handle, 0))
        check(driver.cuMemSetAccess(mapped, size, [access], 1))
        pointer = mapped + (size - array.nbytes if at_end else 0)
        array = np.ascontiguousarray(array)
        if array.nbytes:
            check(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
        yield GuardedArray(pointer, array)
    finally:
        # A kernel that failed makes all of these calls fail, too: it is the error that
        # counts.
        driver.cuCtxSynchronize()
        driver.cuMemUnmap(start + unit, size)
        driver.cuMemRelease(handle)
        driver.cuMemAddressFree(start, whole)
