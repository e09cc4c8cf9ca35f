"""The kernel that is being built, and how its operations are made."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from .. import ir
from ..dialects import arith
from ..errors import LanguageError
from .types import DType

_state = threading.local()


class Builder:
    """State of one kernel under construction.

    Attributes:
        kernel: the ``gpu.func``.
        regions: the number of run-time regions (loops and conditionals) around the
            current place.
        reads_grid: whether the kernel reads its block's coordinates.
        fixes_threads: whether the number of threads is given; otherwise it follows from
            the kernel's roles.
        warps: the warps of the current role; None outside of roles.
        warp_size: threads of a warp of the target; 32 without a target.
        fp8: the types that :data:`e4m3` and :data:`e5m2` stand for on the target.
        chip: the target; None without one.
        schedules: stages and orders that the kernel gives for its pipelined loops.
        row_vectors: for the indices of copies, the shared vector that holds them.
    """

    def __init__(
        self,
        kernel: ir.OpView,
        fixes_threads: bool = True,
        warp_size: int = 32,
        fp8: Mapping[DType, DType] = MappingProxyType({}),
        chip: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.regions = 0
        self.reads_grid = False
        self.fixes_threads = fixes_threads
        self.warps: int | None = None
        self.warp_size = warp_size
        self.fp8 = fp8
        self.chip = chip
        self.schedules: list[Any] = []
        self.row_vectors: dict[ir.Value, ir.Value] = {}
        self._constants: dict[tuple[str, str], ir.Value] = {}
        self._last_constant: ir.Operation | None = None

    @property
    def threads(self) -> int:
        """The number of threads of the current role, or of a block outside of roles."""
        if self.warps is not None:
            return self.warp_size * self.warps
        return ir.IntegerAttr(self.kernel.attributes["tile.threads"]).value

    def set_threads(self, warps: int) -> None:
        """Sets the kernel's threads to those of its roles, unless they are given."""
        if not self.fixes_threads and 1 <= warps <= 32:
            i32 = ir.IntegerType.get_signless(32)
            threads = self.warp_size * warps
            self.kernel.attributes["tile.threads"] = ir.IntegerAttr.get(i32, threads)

    @contextlib.contextmanager
    def role(self, warps: int) -> Iterator[None]:
        """Builds the body of a role with a number of warps."""
        outer, self.warps = self.warps, warps
        try:
            yield
        finally:
            self.warps = outer

    @property
    def entry(self) -> ir.Block:
        """The entry block of the kernel."""
        return self.kernel.regions[0].blocks[0]

    def constant(self, attribute: ir.Attribute) -> ir.Value:
        """A constant; each is made once, at the start of the kernel."""
        key = str(attribute), str(attribute.type)
        if key not in self._constants:
            if self._last_constant is None:
                point = ir.InsertionPoint.at_block_begin(self.entry)
            else:
                point = ir.InsertionPoint.after(self._last_constant)
            with point:
                value = arith.ConstantOp(attribute.type, attribute).result
            self._last_constant = value.owner
            self._constants[key] = value
        return self._constants[key]

    def after(self, value: ir.Value) -> ir.InsertionPoint:
        """The first place where a value, and constants, can be used."""
        owner = value.owner
        if not isinstance(owner, ir.Block):
            return ir.InsertionPoint.after(owner)
        if owner != self.entry:
            return ir.InsertionPoint.at_block_begin(owner)
        # Constants come first.
        self.constant(ir.IntegerAttr.get(ir.IndexType.get(), 0))
        assert self._last_constant is not None
        return ir.InsertionPoint.after(self._last_constant)

    def erase(self, op: ir.Operation) -> None:
        """Erases a loop that is built anew, with what is known of values in it."""
        for index in [each for each in self.row_vectors if _is_in(each, op)]:
            del self.row_vectors[index]
        op.erase()

    @contextlib.contextmanager
    def region(self, block: ir.Block) -> Iterator[None]:
        """Builds into a block of a run-time loop or conditional."""
        self.regions += 1
        try:
            with ir.InsertionPoint(block):
                yield
        finally:
            self.regions -= 1

    def __enter__(self) -> Builder:
        self._outer = getattr(_state, "builder", None)
        _state.builder = self
        return self

    def __exit__(self, *_: object) -> None:
        _state.builder = self._outer


def _is_in(value: ir.Value, ancestor: ir.Operation) -> bool:
    """Whether a value is a result or an argument of an operation, or of one in it."""
    op: Any = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
    while op is not None:
        if op.operation == ancestor:
            return True
        op = op.operation.parent
    return False


def current(what: str = "this function") -> Builder:
    """The builder of the kernel under construction.

    Raises:
        LanguageError: there is none; `what` names the caller in the message.
    """
    builder = getattr(_state, "builder", None)
    if builder is None:
        raise LanguageError(
            f"{what} works only inside a kernel",
            "call it in a function decorated with @tilews.kernel",
        )
    return builder


def chip_type(dtype: DType) -> DType:
    """The element type that a name of the language stands for on the target."""
    builder = getattr(_state, "builder", None)
    return builder.fp8.get(dtype, dtype) if builder else dtype


def _rounded(number: float, dtype: DType) -> float:
    """A number as a conversion in a kernel rounds it to a type of at most 8 bits.

    Raises:
        LanguageError: the type has no such number.
    """
    if dtype.bits > 8:
        return number
    limits = ml_dtypes.finfo(dtype.numpy)
    if dtype.bits == 8 and dtype.name != "e8m0" and not math.isnan(number):
        number = min(max(number, float(limits.min)), float(limits.max))
    with np.errstate(all="ignore"):
        rounded = float(np.array(number).astype(dtype.numpy))
    if dtype.bits < 8 and math.isnan(number):
        raise LanguageError(f"{dtype} has no NaN")
    if math.isnan(rounded) and not math.isnan(number):
        raise LanguageError(f"{number} does not fit {dtype}")
    return rounded


def number_attribute(number: float, dtype: DType) -> ir.Attribute:
    """A Python number as an attribute of an element type.

    Raises:
        LanguageError: the type cannot hold the number.
    """
    if dtype.is_float:
        return ir.FloatAttr.get(dtype.to_ir(), _rounded(float(number), dtype))
    if isinstance(number, float):
        raise LanguageError(
            f"{number!r} is not an integer, but is combined with {dtype}",
            "convert the other operand with .to(tl.f32)",
        )
    number, bits = int(number), dtype.bits
    # An index has a sign: a bound of 2**63 would be below 0.
    unsigned_bits = bits - 1 if dtype.is_index else bits
    lowest = 0 if dtype.is_unsigned else -(1 << (bits - 1))
    if not lowest <= number < (1 << unsigned_bits):
        raise LanguageError(f"{number} does not fit {dtype}")
    if number >= 1 << (bits - 1) and not dtype.is_bool:
        number -= 1 << bits
    return ir.IntegerAttr.get(dtype.to_ir(), number)


def constant(number: float, dtype: DType, shape: tuple[int, ...] | None) -> ir.Value:
    """A constant scalar, or a fragment of `shape` in which all elements are equal."""
    attribute = number_attribute(number, dtype)
    if shape is not None:
        type_ = ir.RankedTensorType.get(shape, dtype.to_ir())
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return current("a constant").constant(attribute)


def index_constant(number: int) -> ir.Value:
    """A constant of type ``index``."""
    return current().constant(ir.IntegerAttr.get(ir.IndexType.get(), number))
