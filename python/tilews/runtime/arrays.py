"""The properties of an array that a launch needs, for arrays of any library.

Arrays of torch and CuPy are read through their own attributes, which is fast, all
others through ``__cuda_array_interface__`` or DLPack. Nothing is copied.
"""

from __future__ import annotations

import ctypes
import operator
from array import array as PythonArray
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .launch_errors import LaunchError
from .schema import show

#: The dimensions of an array: as many as NumPy has at most.
_MOST_DIMENSIONS = 64

# Names of element types as MLIR spells them.
_BITS = {
    "i1": 8,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f8E4M3FNUZ": 8,
    "f8E5M2FNUZ": 8,
    "f8E8M0FNU": 8,
    "f6E2M3FN": 8,
    "f6E3M2FN": 8,
}

# Names of the libraries' element types, less a prefix such as ``torch.``. MLIR's
# integers have no sign, so both kinds fit.
_DTYPES = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
    # Two elements in a byte.
    "float4_e2m1fn_x2": "i8",
}

#: Small types by the names that ml_dtypes and torch give them.
_NAMES = {
    dtype: name
    for name, dtype in _DTYPES.items()
    if name.startswith(("float8_", "float6_"))
}

#: Python's own types that show memory.
_BUFFERS = (PythonArray, bytearray, bytes, memoryview)


def show_type(dtype: str) -> str:
    """The name of an MLIR type for users: `float8_e4m3fn`, but `f16`."""
    return _NAMES.get(dtype, dtype)


def element_bits(dtype: str) -> int | None:
    """The bits of storage of an element of an MLIR type; None for unknown types."""
    return _BITS.get(dtype)


@dataclass(frozen=True)
class ArrayInfo:
    """An array in memory.

    Attributes:
        dtype: the element type as MLIR spells it; the library's name if it has no
            counterpart.
        shape: extents.
        strides: in elements.
        device: ``cpu``, ``cuda`` or ``hip``.
        index: which device of that kind.
        is_read_only: whether its library says that it must not be written.
        stream: the stream whose work fills it; None if nothing has to be awaited.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    index: int
    is_read_only: bool = False
    stream: int | None = None


def _dtype_name(dtype: Any) -> str:
    name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
    return _DTYPES.get(name, name)


# --- torch ---------------------------------------------------------------------


def _torch_info(tensor: Any) -> ArrayInfo:
    import torch

    device = tensor.device.type
    if device == "cuda" and torch.version.hip:
        device = "hip"
    return ArrayInfo(
        _dtype_name(tensor.dtype),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        device,
        tensor.device.index or 0,
    )


# --- the CUDA array interface --------------------------------------------------


def _strides_in_elements(
    strides: tuple[int, ...] | None, shape: tuple[int, ...], itemsize: int
) -> tuple[int, ...]:
    if strides is None:
        return row_major(shape)
    if len(strides) != len(shape) or any(stride % itemsize for stride in strides):
        raise ValueError(
            f"expected {len(shape)} strides that are multiples of the element size, "
            f"{itemsize} bytes, found {show(strides)}"
        )
    return tuple(stride // itemsize for stride in strides)


def _check_native(dtype: Any) -> None:
    if not dtype.isnative:
        raise ValueError(f"its elements are byte-swapped ('{dtype.str}')")


def _check_extents(shape: tuple[int, ...], pointer: int) -> None:
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(
            f"expected at most {_MOST_DIMENSIONS} dimensions, found {len(shape)}"
        )
    for extent in shape:
        if extent >= 1 << 63:
            raise ValueError(f"expected extents below 2^63, found {show(extent)}")
    if any(extent < 0 for extent in shape):
        raise ValueError(f"expected extents of at least 0, found shape {shape}")
    if not pointer and 0 not in shape:
        raise ValueError(f"the address of an array of shape {shape} is null")


def _check_span(pointer: int, info: ArrayInfo, itemsize: int) -> None:
    """Checks that all elements have addresses."""
    if 0 in info.shape:
        return
    reaches = [
        (extent - 1) * stride * itemsize
        for extent, stride in zip(info.shape, info.strides, strict=True)
    ]
    first = pointer + sum(reach for reach in reaches if reach < 0)
    end = pointer + sum(reach for reach in reaches if reach > 0) + itemsize
    if first < 0 or end > 1 << 64:
        raise ValueError(
            f"expected elements at addresses of 64 bits, found an array of shape "
            f"{info.shape} at {pointer:#x} that begins or ends beyond them"
        )


def _read_data(data: Any) -> tuple[int, bool]:
    """The address, and whether it is read-only."""
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise ValueError(
            "expected as data a pair of an address and whether it is read-only, found "
            f"{show(data)}"
        )
    pointer = operator.index(data[0] or 0)
    if not 0 <= pointer < 1 << 64:
        raise ValueError(f"expected an address of 64 bits, found {pointer:#x}"[:80])
    return pointer, bool(data[1])


def _read_strides(strides: Any) -> tuple[int, ...] | None:
    if strides is None:
        return None
    read = tuple(map(operator.index, strides))
    for stride in read:
        if abs(stride) >= 1 << 63:
            raise ValueError(f"expected strides of 64 bits, found {show(stride)}")
    return read


def _cuda_interface_info(array: Any) -> tuple[int, ArrayInfo]:
    import numpy

    interface = array.__cuda_array_interface__
    typestr = interface["typestr"]
    if not isinstance(typestr, (str, numpy.dtype)):  # None is float64 for NumPy.
        raise ValueError(f"expected a typestr such as '<f4', found {typestr!r}")
    dtype = numpy.dtype(typestr)
    _check_native(dtype)
    if interface.get("mask") is not None:
        raise ValueError("it has a mask; fill it first")
    stream = interface.get("stream")
    if stream is not None and not 0 < (stream := operator.index(stream)) < 1 << 64:
        raise ValueError(f"expected a stream from 1 to 2^64 - 1, found {stream}")
    shape = tuple(map(operator.index, interface["shape"]))
    pointer, is_read_only = _read_data(interface["data"])
    _check_extents(shape, pointer)
    given = _read_strides(interface.get("strides"))
    strides = _strides_in_elements(given, shape, dtype.itemsize)
    device = getattr(array, "device", None)
    index = getattr(device, "id", 0)
    name = _dtype_name(dtype)
    info = ArrayInfo(name, shape, strides, "cuda", index, is_read_only, stream)
    _check_span(pointer, info, dtype.itemsize)
    return pointer, info


# --- DLPack --------------------------------------------------------------------

_DLPACK_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "hip", 11: "cpu", 13: "cuda"}
_DLPACK_DTYPES = {
    (6, 8): "i1",
    (4, 16): "bf16",
    (10, 8): "f8E4M3FN",
    (11, 8): "f8E4M3FNUZ",
    (12, 8): "f8E5M2",
    (13, 8): "f8E5M2FNUZ",
    **{(code, bits): f"i{bits}" for code in (0, 1) for bits in (8, 16, 32, 64)},
    **{(2, bits): f"f{bits}" for bits in (16, 32, 64)},
}


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def _dlpack_info(array: Any) -> tuple[int, ArrayInfo]:
    # The capsule is only read, and frees the exchanged tensor when it is dropped. The
    # stream -1 means that the exchange does not synchronize; the launch is ordered.
    on_host = _DLPACK_DEVICES.get(int(array.__dlpack_device__()[0])) == "cpu"
    capsule = array.__dlpack__() if on_host else array.__dlpack__(stream=-1)
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    code = (tensor.code, tensor.bits)
    if tensor.lanes != 1:
        raise ValueError(
            f"expected elements of one lane, found {tensor.lanes}: view it as an array "
            "of its bytes"
        )
    pointer = (tensor.data or 0) + tensor.byte_offset
    _check_extents(shape, pointer)
    info = ArrayInfo(
        _DLPACK_DTYPES.get(code, f"DLPack type {code}"),
        shape,
        row_major(shape) if strides is None else strides,
        _DLPACK_DEVICES.get(tensor.device_type, f"device {tensor.device_type}"),
        tensor.device_id,
    )
    return pointer, info


# --- all of them ---------------------------------------------------------------


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a row-major array."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def check_strides(name: str, info: ArrayInfo, wanted: Sequence[int | None]) -> None:
    """Checks the strides of an array against those of an argument, None for any.

    Raises:
        LaunchError: they differ.
    """
    if 0 in info.shape:
        return
    # A stride is never taken where the extent is one.
    for extent, stride, expected in zip(info.shape, info.strides, wanted, strict=True):
        if extent != 1 and expected is not None and stride != expected:
            shown = ", ".join("any" if each is None else str(each) for each in wanted)
            raise LaunchError(
                f"argument '{name}': expected strides ({shown}) (in elements), found "
                f"{info.strides}"
            )


def _numpy_info(array: Any) -> tuple[int, ArrayInfo]:
    _check_native(array.dtype)
    if hasattr(array, "mask"):
        raise ValueError("it has a mask; fill it first")
    strides = _strides_in_elements(array.strides, array.shape, array.itemsize)
    is_read_only = not array.flags.writeable
    return array.ctypes.data, ArrayInfo(
        _dtype_name(array.dtype), array.shape, strides, "cpu", 0, is_read_only
    )


def fingerprint(array: Any, name: str) -> tuple[int, Any]:
    """The address of an array, and a hashable key.

    Arrays with equal keys have the same :func:`describe`.

    Raises:
        LaunchError: if ``array``, the argument ``name``, is no array.
    """
    module = type(array).__module__
    if module == "torch" or module.startswith("torch."):
        key = (array.dtype, array.shape, array.stride(), array.device)
        return array.data_ptr(), key
    return _read(array, name)


def describe(array: Any, name: str) -> ArrayInfo:
    """Reads an array.

    Raises:
        LaunchError: if ``array``, the argument ``name``, is no array.
    """
    if type(array).__module__.partition(".")[0] == "torch":
        return _torch_info(array)
    return _read(array, name)[1]


def is_on_host(array: Any) -> bool:
    """Whether an array is in the memory of the CPU; false if it does not say."""
    module = type(array).__module__.partition(".")[0]
    if module == "numpy":
        return True
    if module == "torch":
        return bool(array.device.type == "cpu")
    if (device := getattr(array, "__dlpack_device__", None)) is None:
        return False
    try:
        return _DLPACK_DEVICES.get(int(device()[0])) == "cpu"
    except Exception:  # Whatever a foreign array raises; the launch then reports it.
        return False


def as_host_array(value: Any) -> Any:
    """An object that shows host memory as NumPy's array of it; others as they are.

    These are objects with ``__array_interface__`` and Python's buffers.
    """
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        return value
    if isinstance(value, _BUFFERS):
        value = memoryview(value)
    elif not hasattr(value, "__array_interface__"):
        return value
    import numpy

    return numpy.asarray(value)


def _read(array: Any, name: str) -> tuple[int, ArrayInfo]:
    if type(array).__module__.partition(".")[0] == "numpy" and hasattr(array, "ctypes"):
        try:
            return _numpy_info(array)
        except ValueError as error:
            raise LaunchError(f"argument '{name}': {error}") from None
    # JAX fills its arrays on streams of its own.
    if wait := getattr(array, "block_until_ready", None):
        wait()
    # An interface may exist and still refuse, as JAX's does for bfloat16.
    reasons = []
    for attribute, read in (
        ("__cuda_array_interface__", _cuda_interface_info),
        ("__dlpack__", _dlpack_info),
    ):
        try:
            if hasattr(array, attribute):
                return read(array)
        except Exception as error:
            reasons.append(f"{attribute}: {error}")
    found = f"a {type(array).__module__}.{type(array).__qualname__}"
    if reasons:
        found += f" ({'; '.join(reasons)})"
    raise LaunchError(
        f"argument '{name}': expected an array (NumPy, torch, CuPy, JAX, or any with "
        f"DLPack, __array_interface__ or __cuda_array_interface__), found {found}"
    )
