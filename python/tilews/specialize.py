"""Specialization: from the arguments of a call to all that a kernel is compiled for.

A :class:`Specializer` binds the arguments of a call to the parameters, and fixes what
the compiled kernel depends on. These are the values of constexpr parameters, element
types, the extents that are given by name, and a divisor of the innermost extent of each
array. A kernel ``f(A: tl.Tensor["M, K", "T"], BM: tl.constexpr)``, called as ``f(a,
BM=64, K=512)`` with a row-major array ``a`` of 300 x 512 elements of f16, is
specialized to ``A: ?x512xf16``, K divisible by 16, and ``BM = 64``. Calls with other
extents ``M`` share the compiled kernel.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from . import ir
from .call_plans import CallPlans
from .errors import KernelError, LanguageError
from .language.integers import INT64_MAX, check_integer
from .language.types import DType, dtype_of_array
from .runtime.arrays import is_on_host
from .signature import (
    ScalarParameter,
    Signature,
    TensorParameter,
    read_parameters,
)

#: What stands for arguments of launches in other systems.
_LAUNCH_HINTS = {
    "num_warps": "the number of threads is threads=",
    "num_stages": "stages are those of a loop, tl.range(n, num_stages=3)",
    "num_ctas": "a cluster is an argument of @tilews.kernel, cluster=(2, 1, 1)",
    **dict.fromkeys(("device", "interpret"), "the CPU is backend='cpu'"),
}


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a specialized kernel.

    Attributes:
        name: the parameter's name.
        dtype: the element type.
        shape: extents in memory, names for those that are known at launch only; None
            for a scalar.
        strides: in elements, or bytes that two elements share, likewise; None for
            row-major.
        divisors: a number a dimension that divides the extent.
        alignment: of the first element in bytes; None for the default.
    """

    name: str
    dtype: DType
    shape: tuple[int | str, ...] | None = None
    strides: tuple[int | str, ...] | None = None
    divisors: tuple[int, ...] = ()
    alignment: int | None = None

    def to_ir(self) -> ir.Type:
        """The type of the argument: a scalar or a memref."""
        if self.shape is None:
            return self.dtype.to_ir()
        layout = None
        if self.strides is not None:
            dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
            strides = [x if isinstance(x, int) else dynamic for x in self.strides]
            layout = ir.StridedLayoutAttr.get(0, strides)
        dynamic = ir.ShapedType.get_dynamic_size()
        shape = [x if isinstance(x, int) else dynamic for x in self.shape]
        return ir.MemRefType.get(shape, self.dtype.to_memory(), layout)

    def in_bytes(self) -> Argument:
        """The argument as it is in memory, if elements share bytes.

        Raises:
            LanguageError: the elements of a line may not fill whole bytes.
        """
        packing = self.dtype.packing
        if not self.shape or packing == 1:
            return self
        *outer, last = self.shape
        if isinstance(last, int) and last % packing:
            raise LanguageError(
                f"'{self.name}': two elements of {self.dtype} share a byte, so the "
                f"last extent is even, found {last}"
            )
        last = f"{last} / {packing}" if isinstance(last, str) else last // packing
        divisors = self.divisors
        if divisors:
            divisors = (*divisors[:-1], max(divisors[-1] // packing, 1))
        strides = self.strides
        if strides is not None:
            strides = self._byte_strides(strides, packing)
        return dataclasses.replace(
            self, shape=(*outer, last), strides=strides, divisors=divisors
        )

    def _byte_strides(
        self, strides: tuple[int | str, ...], packing: int
    ) -> tuple[int | str, ...]:
        *outer, last = strides
        odd = [x for x in outer if isinstance(x, int) and x % packing]
        if last != 1 or odd:
            raise LanguageError(
                f"'{self.name}': two elements of {self.dtype} share a byte, so the "
                f"last stride is 1 and the others are even, found {strides}"
            )
        halves = [x if isinstance(x, str) else x // packing for x in outer]
        return (*halves, 1)

    def attributes(self) -> ir.DictAttr:
        """The attributes of the argument: names, sign, divisors and alignment."""
        attributes: dict[str, ir.Attribute] = {
            "tile.name": ir.StringAttr.get(self.name)
        }
        if self.shape is None and self.dtype.is_unsigned:
            attributes["tile.unsigned"] = ir.UnitAttr.get()
        if self.shape is not None:
            names = ["" if isinstance(x, int) else x for x in self.shape]
            if any(names):
                symbols = [ir.StringAttr.get(name) for name in names]
                attributes["tile.symbols"] = ir.ArrayAttr.get(symbols)
            if any(divisor > 1 for divisor in self.divisors):
                attributes["tile.divisible"] = ir.DenseI64ArrayAttr.get(self.divisors)
        if self.alignment is not None:
            attributes["tile.alignment"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(64), self.alignment
            )
        return ir.DictAttr.get(attributes)


@dataclasses.dataclass(frozen=True)
class Specialization:
    """All that the IR of a kernel depends on besides its source.

    Attributes:
        arguments: the arguments of the kernel, in order.
        constants: the constexpr parameters by name, with their values.
        form: what lists and optional arguments stand for, see :class:`Signature`.
        signature: the parameters.
    """

    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, Any], ...]
    form: tuple[tuple[str, Any], ...]
    signature: Signature = dataclasses.field(compare=False)

    def with_types(self, types: Mapping[DType, DType]) -> Specialization:
        """The same with other element types of arguments."""
        arguments = (
            dataclasses.replace(each, dtype=types.get(each.dtype, each.dtype))
            for each in self.arguments
        )
        return dataclasses.replace(self, arguments=tuple(arguments))

    def parameters(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values of all parameters, from those of the arguments."""
        assembled = self.signature.assemble(values, dict(self.form))
        return {**dict(self.constants), **assembled}


@dataclasses.dataclass(frozen=True)
class BoundCall:
    """The arguments of a call, by parameter.

    Attributes:
        arguments: the arrays and numbers that the kernel is launched with.
        bindings: the values of constexpr parameters, and of extents and element types
            that the call gives by name; and its form, see :class:`Signature`.
    """

    arguments: dict[str, Any]
    bindings: dict[str, Any]

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for calls that need the same specialization and target."""
        return (
            *(*self.bindings, *with_types(self.bindings.values())),
            *map(_fingerprint, self.arguments.values()),
        )

    @property
    def arrays(self) -> list[Any]:
        """The arguments that have a shape."""
        return [x for x in self.arguments.values() if getattr(x, "shape", ())]

    @property
    def is_on_cpu(self) -> bool:
        """Whether all arrays are in host memory, so that the interpreter runs."""
        return all(map(is_on_host, self.arrays))

    @property
    def index_bitwidth(self) -> int:
        """The width of index arithmetic that the offsets in the arrays need."""
        return 64 if any(map(_is_large, self.arrays)) else 32

    def divisors(self) -> dict[str, tuple[int, ...]]:
        """Divisors of the extents of arrays, by argument.

        Accesses of 16 bytes need a multiple of that as innermost extent: of 16
        elements at most. No other divisor makes a difference to the code.
        """
        divisors = {}
        for name, array in self.arguments.items():
            shape = getattr(array, "shape", None)
            if shape and (divisor := math.gcd(shape[-1], 16)) > 1:
                divisors[name] = (*[1] * (len(shape) - 1), divisor)
        return divisors


def with_types(values: Iterable[Any]) -> list[Any]:
    """Values and their types, because 1, 1.0 and True are equal."""
    return [item for value in values for item in (type(value), value)]


def _make_order(function: types.FunctionType) -> Callable[..., dict[str, Any]]:
    """A function that returns its arguments by the names of `function`'s parameters.

    Python itself binds arguments in a tenth of the time of ``inspect.Signature.bind``.
    """
    parameters = [
        each.replace(
            annotation=each.empty,
            default=each.empty if each.default is each.empty else 0,
        )
        for each in inspect.signature(function).parameters.values()
    ]
    text = str(inspect.Signature(parameters)).removeprefix("(").removesuffix(")")
    items = ", ".join(f"'{each.name}': {each.name}" for each in parameters)
    order: types.FunctionType = eval(f"lambda {text}: {{{items}}}", {})
    order.__defaults__ = function.__defaults__
    order.__kwdefaults__ = function.__kwdefaults__
    return order


def _is_large(array: Any) -> bool:
    """Whether offsets in an array need more than 32 bits."""
    return math.prod(array.shape) >= 2**31


def _fingerprint(argument: Any) -> Hashable:
    """Equal for arguments that need the same specialization."""
    shape = getattr(argument, "shape", ())
    if not shape:
        return (type(argument),)
    innermost = math.gcd(shape[-1], 16)
    return type(argument), argument.dtype, len(shape), innermost, _is_large(argument)


def _check_ranks(call: BoundCall, found: Specialization) -> None:
    """Checks the dimensions of descriptions of arrays: a launch checks real arrays."""
    from .bundles.array_spec import ArraySpec

    for argument in found.arguments:
        given = call.arguments.get(argument.name)
        rank = len(argument.shape or ())
        if isinstance(given, ArraySpec) and len(given.shape) != rank:
            raise LanguageError(
                f"'{argument.name}': expected an ArraySpec of {rank} dimensions, found "
                f"the shape {given.shape}"
            )


class Specializer:
    """Specializes one kernel's function.

    Attributes:
        name: the kernel's name.
        signature: its parameters.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.name = function.__name__
        self._parameters = read_parameters(function)
        self.signature = Signature(self.name, self._parameters)
        self._python = inspect.signature(function)
        self._order = _make_order(function)
        self._code = function.__code__

    def make_plans(self) -> CallPlans:
        """Plans of calls of the kernel: none yet."""
        return CallPlans(self._parameters, self._order)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundCall:
        """Binds the arguments of a call to the parameters.

        Raises:
            TypeError: the parameters do not take these arguments.
        """
        names = self.signature.names
        bindings = {name: kwargs.pop(name) for name in names & kwargs.keys()}
        try:
            arguments = self._order(*args, **kwargs)
        except TypeError:
            raise self._misfit(args, kwargs) from None
        for parameter in self.signature.constants:
            bindings[parameter.name] = arguments.pop(parameter.name)
        flat, form = self.signature.flatten(arguments)
        return BoundCall(flat, {**bindings, **form})

    def _misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
        """The error of arguments that the parameters do not take."""
        try:
            self._python.bind(*args, **kwargs)
        except TypeError as error:
            hints = (_LAUNCH_HINTS[name] for name in _LAUNCH_HINTS if name in kwargs)
            return TypeError("; ".join([f"{self.name}: {error}", *hints]))
        raise AssertionError("Python's own binding takes these arguments")

    def specialize(self, bindings: Mapping[str, Any]) -> Specialization:
        """The specialization for values that are given by name.

        Args:
            bindings: values by the names of constexpr parameters, of extents or
                strides, and of element types.

        Raises:
            KernelError: a name is unknown or missing, or has an unfit value.
        """
        return self._specialize(bindings, {})

    def specialize_call(self, call: BoundCall) -> Specialization:
        """The specialization for the arguments of a call.

        Raises:
            KernelError: as :meth:`specialize`, arrays whose element types have one
                name differ, or an `ArraySpec` has another number of dimensions.
        """
        try:
            dtypes = self._dtypes_of(call)
        except LanguageError as error:
            raise self.error(error) from error
        found = self._specialize({**dtypes, **call.bindings}, call.divisors())
        try:
            _check_ranks(call, found)
        except LanguageError as error:
            raise self.error(error) from error
        return found

    def error(self, error: LanguageError) -> KernelError:
        """A misuse as an error at the kernel's definition."""
        return KernelError(
            error.message,
            hint=error.hint,
            filename=self._code.co_filename,
            line=self._code.co_firstlineno,
            column=1,
        )

    def _specialize(
        self, bindings: Mapping[str, Any], divisors: Mapping[str, tuple[int, ...]]
    ) -> Specialization:
        """See :meth:`specialize`; `divisors` are further divisors, by parameter."""
        try:
            values = self._complete(bindings)
            arguments = tuple(
                self._argument(parameter, values, divisors.get(parameter.name))
                for parameter in self.signature.leaves(values)
            )
        except LanguageError as error:
            raise self.error(error) from error
        constants = tuple((p.name, values[p.name]) for p in self.signature.constants)
        form = tuple((n, values[n]) for n in sorted(self.signature.formed & {*values}))
        return Specialization(arguments, constants, form, self.signature)

    def _complete(self, bindings: Mapping[str, Any]) -> dict[str, Any]:
        """The bindings with the defaults of constexpr parameters."""
        constants = self.signature.constants
        known = {p.name for p in constants}
        known |= self.signature.names | self.signature.formed
        for name in bindings:
            if name not in known:
                raise LanguageError(
                    f"{self.name} has no constexpr parameter, extent or element type "
                    f"named '{name}'",
                    f"known names: {', '.join(sorted(known)) or 'none'}",
                )
        values = dict(bindings)
        for parameter in constants:
            if parameter.name in values:
                continue
            if parameter.default is inspect.Parameter.empty:
                raise LanguageError(
                    f"{self.name}: the constexpr parameter '{parameter.name}' has no "
                    "value"
                )
            values[parameter.name] = parameter.default
        for parameter in constants:
            self._check_hashable(parameter.name, values[parameter.name])
        return values

    def _check_hashable(self, name: str, value: Any) -> None:
        try:
            hash(value)
        except TypeError as error:
            from .language.values import describe

            raise LanguageError(
                f"{self.name}: the constexpr parameter '{name}' has to be hashable, "
                f"found {describe(value)} ({error})",
                "use a tuple instead of a list",
            ) from error

    def _argument(
        self,
        parameter: TensorParameter | ScalarParameter,
        values: Mapping[str, Any],
        divisors: tuple[int, ...] | None,
    ) -> Argument:
        """The argument for a parameter; `divisors` are further divisors."""
        if isinstance(parameter, ScalarParameter):
            return Argument(parameter.name, parameter.dtype)
        kind = parameter.kind
        annotated = tuple(dim.divisor for dim in kind.dims)
        shape = tuple(self._extent(dim.extent, values) for dim in kind.dims)
        for extent, divisor in zip(shape, annotated, strict=True):
            if isinstance(extent, int) and extent % divisor:
                raise LanguageError(
                    f"{self.name}: the extent {extent} of '{parameter.name}' is no "
                    f"multiple of {divisor}, as its annotation says"
                )
        strides = None
        if kind.strides is not None:
            strides = tuple(self._extent(stride, values) for stride in kind.strides)
        dtype = self._dtype(parameter, values)
        argument = Argument(
            parameter.name, dtype, shape, strides, annotated, kind.alignment
        ).in_bytes()
        if divisors is None or len(divisors) != len(annotated):
            return argument
        lcms = tuple(map(math.lcm, argument.divisors, divisors))
        return dataclasses.replace(argument, divisors=lcms)

    def _extent(self, extent: int | str, values: Mapping[str, Any]) -> int | str:
        if isinstance(extent, int) or extent not in values:
            return extent
        value = values[extent]
        what = f"{self.name}: '{extent}' is an extent or a stride, which"
        return check_integer(value, what, 1, INT64_MAX)

    def _dtype(self, parameter: TensorParameter, values: Mapping[str, Any]) -> DType:
        if isinstance(parameter.kind.dtype, DType):
            return parameter.kind.dtype
        name = parameter.dtype_name
        if name not in values:
            raise LanguageError(
                f"{self.name}: the element type of '{parameter.name}' is not known",
                f"give it: compile({name}=tl.f16)",
            )
        dtype = values[name]
        if not isinstance(dtype, DType):
            raise LanguageError(
                f"{self.name}: '{name}' is an element type, expected one such as "
                f"tl.f16, found {dtype!r}"
            )
        return dtype

    def _dtypes_of(self, call: BoundCall) -> dict[str, DType]:
        """The element types that annotations name, from the arrays of a call.

        Raises:
            LanguageError: arrays whose element types have one name differ.
        """
        found: dict[str, tuple[DType, str]] = {}
        for parameter in self.signature.leaves(call.bindings):
            if not isinstance(parameter, TensorParameter):
                continue
            if isinstance(parameter.kind.dtype, DType):
                continue
            name, array = parameter.dtype_name, call.arguments[parameter.name]
            if name not in self.signature.dtypes or not hasattr(array, "dtype"):
                continue
            dtype = dtype_of_array(array)
            expected, source = found.setdefault(name, (dtype, parameter.name))
            if dtype != expected:
                raise LanguageError(
                    f"{self.name}: argument '{parameter.name}' has the element type "
                    f"{dtype}, but {name} is {expected} in '{source}'"
                )
        return {name: dtype for name, (dtype, _) in found.items()}
