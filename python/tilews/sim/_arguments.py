"""Arguments for kernels, by their types: numbers, files, or random values."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ir
from ._run import DTYPES, get_attributes

#: The default of extents, before it is rounded up to a multiple of the divisor.
_DEFAULT_EXTENT = 128


def make_arguments(
    kernel: ir.Operation,
    given: Mapping[str, str],
    extents: Mapping[str, int],
    seed: int,
) -> dict[str, Any]:
    """One value for each argument of a kernel, by name.

    Args:
        kernel: The ``gpu.func``.
        given: By an argument's name or number, a number or the path of a ``.npy``
            file. Other arrays get random small integers.
        extents: By name (``tile.symbols``), or by argument and dimension as in
            ``A.0`` or ``2.0``, the extents of random arrays.
        seed: The seed of the random values.

    Raises:
        ValueError: A scalar is missing, a name is unknown, a value does not fit the
            type of its argument, or an extent has no effect.
    """
    types = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
    random = np.random.default_rng(seed)
    known: dict[str, int] = dict(extents)
    arguments: dict[str, Any] = {}
    used = set()
    asked: dict[str, None] = {}
    for number, type_ in enumerate(types.inputs):
        attributes = get_attributes(kernel, number)
        name = str(number)
        if "tile.name" in attributes:
            name = ir.StringAttr(attributes["tile.name"]).value
        text = given.get(name, given.get(str(number)))
        used |= {name, str(number)}
        if isinstance(type_, ir.MemRefType):
            if text is None:
                shape = _get_shape(type_, attributes, name, number, known, asked)
                arguments[name] = _make_array(type_, shape, random)
            else:
                arguments[name] = _load(text, type_)
        elif text is None:
            raise ValueError(
                f"argument '{name}' of type {type_} needs a value: {name}=..."
            )
        else:
            arguments[name] = _parse_number(text, type_, name)
    if unknown := set(given) - used:
        raise ValueError(
            f"the kernel has no argument '{sorted(unknown)[0]}', only: "
            f"{', '.join(arguments) or 'none'}"
        )
    if unknown := set(extents) - set(asked):
        raise ValueError(
            f"no random array has an extent '{sorted(unknown)[0]}', only: "
            f"{', '.join(each for each in asked if not each[0].isdecimal()) or 'none'}"
        )
    return arguments


def _parse_number(text: str, type_: ir.Type, name: str) -> int | float:
    is_float = "f" in str(type_)
    try:
        return float(text) if is_float else int(text, 0)
    except ValueError:
        expected = "a number" if is_float else "an integer"
        raise ValueError(
            f"argument '{name}' of type {type_}: expected {expected}, found '{text}'"
        ) from None


def _get_shape(
    type_: ir.MemRefType,
    attributes: Any,
    name: str,
    number: int,
    known: dict[str, int],
    asked: dict[str, None],
) -> list[int]:
    """The extents of a random array; adds their possible names to `asked`."""
    rank = type_.rank
    symbols, divisors = [""] * rank, [1] * rank
    if "tile.symbols" in attributes:
        symbols = [ir.StringAttr(a).value for a in attributes["tile.symbols"]]
    if "tile.divisible" in attributes:
        divisors = list(ir.DenseI64ArrayAttr(attributes["tile.divisible"]))
    shape = []
    for dim in range(rank):
        if not type_.is_dynamic_dim(dim):
            shape.append(type_.shape[dim])
            continue
        places = (f"{name}.{dim}", f"{number}.{dim}", symbols[dim])
        asked |= dict.fromkeys(each for each in reversed(places) if each)
        extent = next((known[each] for each in places if each in known), None)
        if extent is None:
            extent = -(-_DEFAULT_EXTENT // divisors[dim]) * divisors[dim]
        if symbols[dim]:
            known[symbols[dim]] = extent
        shape.append(extent)
    return shape


def _get_dtype(type_: ir.MemRefType) -> np.dtype:
    found = DTYPES.get(str(type_.element_type))
    if not found:
        raise ValueError(f"there is no NumPy type for the elements of {type_}")
    return np.dtype(found[0])


def _make_array(
    type_: ir.MemRefType, shape: list[int], random: np.random.Generator
) -> np.ndarray:
    """Integers from -3 to 3: sums of them are exact."""
    dtype = _get_dtype(type_)
    low, high = (0, 2) if dtype == np.bool_ else (0 if dtype.kind == "u" else -3, 4)
    try:
        return random.integers(low, high, shape).astype(dtype)
    except (MemoryError, ValueError):
        raise ValueError(
            f"a random array of {type_} with the extents {shape} does not fit the "
            "memory: give smaller extents"
        ) from None


def _load(text: str, type_: ir.MemRefType) -> np.ndarray:
    if not pathlib.Path(text).is_file():
        raise ValueError(f"expected a .npy file for {type_}, found '{text}'")
    try:
        array = np.load(text, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        array = None
    if not isinstance(array, np.ndarray):
        raise ValueError(
            f"expected a .npy file for {type_}, found '{text}' with other contents"
        )
    dtype = _get_dtype(type_)
    # NumPy saves types that it does not know as bytes.
    return array.view(dtype) if array.dtype.kind == "V" else array
