"""Parameters of a kernel, and what a specialisation fixes of them."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from typing import Any

from . import ir
from .errors import KernelError, LanguageError
from .language.integers import INT64_MAX, check_integer
from .language.types import DType, Tensor, constexpr, dtype_of_array
from .language.values import describe

#: Arguments of compile() and of calls that are no parameters.
RESERVED = ("threads", "target", "index_bitwidth", "grid", "stream")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter: of constexpr kind, a tensor, or a scalar of a type."""

    name: str
    kind: type[constexpr] | Tensor | DType
    default: Any = inspect.Parameter.empty

    @property
    def is_constexpr(self) -> bool:
        return self.kind is constexpr


def read_parameters(function: types.FunctionType) -> list[Parameter]:
    """The parameters of a kernel's function.

    Raises:
        KernelError: one has no annotation, or one that means nothing to a kernel.
    """
    parameters = []
    place = {
        "filename": function.__code__.co_filename,
        "line": function.__code__.co_firstlineno,
        "column": 1,
    }
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise KernelError(f"a kernel cannot take *{name}", **place)
        if name in RESERVED:
            raise KernelError(
                f"a kernel cannot have a parameter named '{name}'",
                hint="compile() or a call takes an argument of that name",
                **place,
            )
        try:
            kind = _annotation(function, parameter.annotation)
        except Exception as error:
            raise KernelError(
                f"cannot read the annotation of parameter '{name}': {error}", **place
            ) from error
        if kind is not constexpr and not isinstance(kind, (Tensor, DType)):
            raise KernelError(
                f"parameter '{name}' has no kernel annotation",
                hint='write tl.Tensor["M, N", tl.f16], a type such as tl.i32, or '
                "tl.constexpr",
                **place,
            )
        if kind is not constexpr and parameter.default is not parameter.empty:
            raise KernelError(
                f"parameter '{name}' has a default value, but is no tl.constexpr",
                **place,
            )
        parameters.append(Parameter(name, kind, parameter.default))
    return parameters


def _annotation(function: types.FunctionType, annotation: Any) -> Any:
    """An annotation, evaluated if it is text."""
    if not isinstance(annotation, str):
        return annotation
    closure = inspect.getclosurevars(function).nonlocals
    return eval(annotation, function.__globals__, closure)


@dataclasses.dataclass(frozen=True)
class Argument:
    """A parameter of the kernel with all that is fixed about it.

    Attributes:
        shape: extents, names where only the launch knows.
        strides: the same in elements; None for row-major.
        divisors: of each extent.
    """

    name: str
    dtype: DType
    shape: tuple[int | str, ...] | None = None
    strides: tuple[int | str, ...] | None = None
    divisors: tuple[int, ...] = ()
    alignment: int | None = None

    def to_ir(self) -> ir.Type:
        """The type of the kernel's argument."""
        element = self.dtype.to_ir()
        if self.shape is None:
            return element
        layout = None
        if self.strides is not None:
            dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
            strides = [x if isinstance(x, int) else dynamic for x in self.strides]
            layout = ir.StridedLayoutAttr.get(0, strides)
        dynamic = ir.ShapedType.get_dynamic_size()
        shape = [x if isinstance(x, int) else dynamic for x in self.shape]
        return ir.MemRefType.get(shape, element, layout)

    def attributes(self) -> ir.DictAttr:
        """What the type does not say, as attributes of the argument."""
        attributes = {"tile.name": ir.StringAttr.get(self.name)}
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
    """Everything that the IR of a kernel depends on besides its source."""

    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, Any], ...]


class Signature:
    """The parameters of a kernel and the names in their annotations."""

    def __init__(self, name: str, parameters: list[Parameter]) -> None:
        self.name = name
        self.parameters = parameters
        self.runtime = [p for p in parameters if not p.is_constexpr]
        self.constants = [p for p in parameters if p.is_constexpr]
        tensors = [p for p in self.runtime if isinstance(p.kind, Tensor)]
        constant_names = {p.name for p in self.constants}
        #: Names of extents and strides, and of element types.
        self.extents = {
            extent
            for p in tensors
            for extent in (*(d.extent for d in p.kind.dims), *(p.kind.strides or ()))
            if isinstance(extent, str) and extent not in constant_names
        }
        self.dtypes = {
            dtype_name(p)
            for p in tensors
            if not isinstance(p.kind.dtype, DType)
            and dtype_name(p) not in constant_names
        }
        #: All that bindings may name besides constexpr parameters.
        self.names = self.extents | self.dtypes

    def specialize(
        self,
        bindings: dict[str, Any],
        divisors: dict[str, tuple[int, ...]] | None = None,
    ) -> Specialization:
        """Fixes constexpr parameters, extents and element types.

        Args:
            bindings: values by the names of constexpr parameters, of extents or
                strides, and of element types.
            divisors: further divisors of the extents, by parameter.

        Raises:
            LanguageError: a name is unknown or missing, or has an unfit value.
        """
        known = {p.name for p in self.constants} | self.names
        for name in bindings:
            if name not in known:
                raise LanguageError(
                    f"{self.name} has no constexpr parameter, extent or element type "
                    f"named '{name}'",
                    f"known names: {', '.join(sorted(known)) or 'none'}",
                )
        values = dict(bindings)
        for parameter in self.constants:
            if parameter.name in values:
                continue
            if parameter.default is inspect.Parameter.empty:
                raise LanguageError(
                    f"{self.name}: the constexpr parameter '{parameter.name}' has no "
                    "value"
                )
            values[parameter.name] = parameter.default
        for parameter in self.constants:
            self._check_hashable(parameter.name, values[parameter.name])
        arguments = tuple(
            self._argument(parameter, values, (divisors or {}).get(parameter.name))
            for parameter in self.runtime
        )
        constants = tuple((p.name, values[p.name]) for p in self.constants)
        return Specialization(arguments, constants)

    def _check_hashable(self, name: str, value: Any) -> None:
        try:
            hash(value)
        except TypeError as error:
            raise LanguageError(
                f"{self.name}: the constexpr parameter '{name}' has to be hashable, "
                f"found {describe(value)} ({error})",
                "use a tuple instead of a list",
            ) from error

    def _argument(
        self,
        parameter: Parameter,
        values: dict[str, Any],
        divisors: tuple[int, ...] | None,
    ) -> Argument:
        kind = parameter.kind
        if isinstance(kind, DType):
            return Argument(parameter.name, kind)
        annotated = tuple(dim.divisor for dim in kind.dims)
        shape = tuple(self._extent(dim.extent, values) for dim in kind.dims)
        for extent, divisor in zip(shape, annotated, strict=True):
            if isinstance(extent, int) and extent % divisor:
                raise LanguageError(
                    f"{self.name}: the extent {extent} of '{parameter.name}' is no "
                    f"multiple of {divisor}, as its annotation says"
                )
        return Argument(
            parameter.name,
            self._dtype(parameter, values),
            shape,
            None
            if kind.strides is None
            else tuple(self._extent(stride, values) for stride in kind.strides),
            tuple(map(math.lcm, annotated, divisors))
            if divisors is not None and len(divisors) == len(annotated)
            else annotated,
            kind.alignment,
        )

    def _extent(self, extent: int | str, values: dict[str, Any]) -> int | str:
        if isinstance(extent, int) or extent not in values:
            return extent
        value = values[extent]
        what = f"{self.name}: '{extent}' is an extent or a stride, which"
        return check_integer(value, what, 1, INT64_MAX)

    def _dtype(self, parameter: Parameter, values: dict[str, Any]) -> DType:
        if isinstance(parameter.kind.dtype, DType):
            return parameter.kind.dtype
        name = dtype_name(parameter)
        if name not in values:
            raise LanguageError(
                f"{self.name}: the element type of '{parameter.name}' is not known",
                f"give it: compile({name}=tl.f16)",
            )
        if not isinstance(values[name], DType):
            raise LanguageError(
                f"{self.name}: '{name}' is an element type, expected one such as "
                f"tl.f16, found {values[name]!r}"
            )
        return values[name]


def divisors_of_call(arguments: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Divisors of the extents of arrays that kernels are specialised for.

    Wide accesses need the innermost extent to be a multiple of 16; the others make
    no difference.
    """
    divisors = {}
    for name, array in arguments.items():
        shape = getattr(array, "shape", None)
        if shape and shape[-1] % 16 == 0:
            divisors[name] = (*[1] * (len(shape) - 1), 16)
    return divisors


def dtypes_of_call(signature: Signature, arguments: dict[str, Any]) -> dict[str, DType]:
    """The element types that annotations name, from the arrays of a call.

    Raises:
        LanguageError: arrays whose types have one name differ.
    """
    found: dict[str, tuple[DType, str]] = {}
    for parameter in signature.runtime:
        if isinstance(parameter.kind, DType) or isinstance(parameter.kind.dtype, DType):
            continue
        name, array = dtype_name(parameter), arguments[parameter.name]
        if name not in signature.dtypes or not hasattr(array, "dtype"):
            continue
        dtype = dtype_of_array(array)
        expected, source = found.setdefault(name, (dtype, parameter.name))
        if dtype != expected:
            raise LanguageError(
                f"{signature.name}: argument '{parameter.name}' has the element type "
                f"{dtype}, but {name} is {expected} in '{source}'"
            )
    return {name: dtype for name, (dtype, _) in found.items()}


def dtype_name(parameter: Parameter) -> str:
    """What a tensor's element type is called: as annotated, or as the parameter."""
    return parameter.kind.dtype or parameter.name
