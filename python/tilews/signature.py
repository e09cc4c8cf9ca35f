"""The parameters of a kernel's function, as their annotations declare them."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

from .errors import KernelError, LanguageError, Place
from .language.integers import check_integer
from .language.types import DType, OptionalScalar, Tensor, constexpr, dtype_hint
from .runtime import LaunchError
from .runtime.arrays import as_host_array
from .runtime.scalars import scalar_packer

#: Arguments of compile() and of calls that are no parameters.
RESERVED = (
    "threads",
    "target",
    "backend",
    "index_bitwidth",
    "grid",
    "stream",
    "run",
)
#: The most tensors that one list holds.
MAX_LIST = 64


@dataclasses.dataclass(frozen=True)
class TensorParameter:
    """A parameter that is annotated with ``tl.Tensor[...]``.

    Attributes:
        name: the name of the argument.
        kind: the annotation.
        default: the default value, which is None.
        family: the name of the list that the tensor is in, or of the parameter.
    """

    name: str
    kind: Tensor
    default: Any = inspect.Parameter.empty
    family: str = ""

    @property
    def dtype_name(self) -> str:
        """The name of the element type: as annotated, or the parameter's."""
        return self.kind.dtype_name(self.family or self.name)


@dataclasses.dataclass(frozen=True)
class ScalarParameter:
    """A parameter that is annotated with an element type, such as ``tl.i32``.

    Attributes:
        name: the name of the argument.
        dtype: its type.
        default: the default value.
        optional: whether it may be None: ``tl.i32 | None``.
    """

    name: str
    dtype: DType
    default: Any = inspect.Parameter.empty
    optional: bool = False


@dataclasses.dataclass(frozen=True)
class ListParameter:
    """A parameter that is annotated with ``list[tl.Tensor[...]]``.

    Each tensor of the list is an argument of the kernel.
    """

    name: str
    kind: Tensor
    default: Any = inspect.Parameter.empty

    def element(self, place: int) -> TensorParameter:
        """One tensor of the list."""
        return TensorParameter(f"{self.name}_{place}", self.kind, family=self.name)


@dataclasses.dataclass(frozen=True)
class StructParameter:
    """A parameter that is annotated with a dataclass or named tuple of scalars.

    Each field is an argument of the kernel.
    """

    name: str
    type: type
    fields: tuple[tuple[str, DType], ...]
    default: Any = inspect.Parameter.empty

    def element(self, field: str, dtype: DType) -> ScalarParameter:
        """One field of the structure."""
        return ScalarParameter(f"{self.name}_{field}", dtype)

    def assemble(self, values: Mapping[str, Any]) -> Any:
        """The structure, from the values of the kernel's arguments."""
        fields = {
            field: values[self.element(field, dtype).name]
            for field, dtype in self.fields
        }
        # A constructor might check for Python numbers.
        if issubclass(self.type, tuple):
            return tuple.__new__(self.type, fields.values())
        structure = object.__new__(self.type)
        for field, value in fields.items():
            object.__setattr__(structure, field, value)
        return structure


@dataclasses.dataclass(frozen=True)
class ConstantParameter:
    """A parameter that is annotated with ``tl.constexpr``."""

    name: str
    default: Any = inspect.Parameter.empty


#: A parameter that is one argument of the kernel, if it is any.
Leaf = TensorParameter | ScalarParameter
#: A parameter that stands for arguments of the kernel.
RuntimeParameter = Leaf | ListParameter | StructParameter
Parameter = RuntimeParameter | ConstantParameter


def read_parameters(function: types.FunctionType) -> list[Parameter]:
    """The parameters of a kernel's function.

    Raises:
        KernelError: one has no annotation, or one that means nothing to a kernel.
    """
    parameters: list[Parameter] = []
    place: Place = {
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
        if kind is constexpr:
            parameters.append(ConstantParameter(name, parameter.default))
            continue
        made = _runtime_parameter(name, kind, parameter.default)
        if made is None:
            raise KernelError(
                f"parameter '{name}' has no kernel annotation{_describe(kind)}",
                hint=_annotation_hint(kind),
                **place,
            )
        if isinstance(made, str):
            raise KernelError(f"parameter '{name}' {made}", **place)
        parameters.append(made)
    return parameters


def _describe(annotation: Any) -> str:
    """What a parameter has instead of an annotation for kernels."""
    if annotation is inspect.Parameter.empty:
        return ""
    return f", found {inspect.formatannotation(annotation)}"


def _annotation_hint(annotation: Any) -> str:
    """What to write instead of an annotation."""
    if hint := dtype_hint(annotation):
        return f"{hint} for a scalar, or tl.constexpr for a value of Python"
    if getattr(annotation, "__name__", "") in ("ndarray", "Tensor", "Array"):
        return 'write its extents and element type: tl.Tensor["M, N", tl.f16]'
    return 'write tl.Tensor["M, N", tl.f16], a type such as tl.i32, or tl.constexpr'


def _runtime_parameter(
    name: str, kind: Any, default: Any
) -> RuntimeParameter | str | None:
    """The parameter with an annotation; what is wrong with it; or None."""
    has_default = default is not inspect.Parameter.empty
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(kind) if each is not type(None)]
        if len(members) != 1 or not isinstance(members[0], (Tensor, DType)):
            return (
                "is optional, but no tensor or scalar: write tl.Tensor[...] | None or "
                "tl.f32 | None"
            )
        kind = members[0] | None
    if isinstance(kind, Tensor):
        if has_default and not (kind.optional and default is None):
            return (
                "is a tensor, whose only default value is None: "
                'tl.Tensor["M", tl.f32] | None = None'
            )
        return TensorParameter(name, kind, default)
    if isinstance(kind, (DType, OptionalScalar)):
        optional = isinstance(kind, OptionalScalar)
        dtype = kind.dtype if isinstance(kind, OptionalScalar) else kind
        is_none = optional and default is None
        if has_default and not is_none and not _holds(dtype, default):
            return f"is a scalar of type {dtype}, but has the default value {default!r}"
        return ScalarParameter(name, dtype, default, optional)
    if typing.get_origin(kind) in (list, tuple):
        (element, *others) = typing.get_args(kind)
        if not isinstance(element, Tensor) or others not in ([], [Ellipsis]):
            return (
                "is a list, expected one of tensors of one type: list[tl.Tensor[...]] "
                "or tuple[tl.Tensor[...], ...]"
            )
        if element.optional or has_default:
            return "is a list of tensors, which are not optional and have no default"
        return ListParameter(name, element)
    if (names := _field_names(kind)) is not None:
        hints = typing.get_type_hints(kind)
        for field in names:
            if not isinstance(hints.get(field), DType):
                return (
                    f"is a {kind.__name__}, whose field '{field}' is no scalar such as "
                    "tl.i32"
                )
        fields = tuple((field, hints[field]) for field in names)
        return StructParameter(name, kind, fields, default)
    return None


def _holds(dtype: DType, default: Any) -> bool:
    """Whether a default value is a number that an element type holds."""
    if not isinstance(default, (bool, int, float)):
        return False
    try:
        scalar_packer(dtype.mlir, dtype.is_unsigned)(default, "")
    except LaunchError:
        return False
    return True


def _field_names(kind: Any) -> list[str] | None:
    """The fields of a dataclass or of a named tuple; None for other annotations."""
    if not isinstance(kind, type):
        return None
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return (
        [*kind._fields]
        if issubclass(kind, tuple) and hasattr(kind, "_fields")
        else None
    )


def _annotation(function: types.FunctionType, annotation: Any) -> Any:
    """An annotation, evaluated if it is text; of Annotated[...], the part for us."""
    if isinstance(annotation, str):
        closure = inspect.getclosurevars(function).nonlocals
        annotation = eval(annotation, function.__globals__, closure)
    if typing.get_origin(annotation) is not typing.Annotated:
        return annotation
    ours = [
        each
        for each in annotation.__metadata__
        if isinstance(each, (Tensor, DType, OptionalScalar)) or each is constexpr
    ]
    return ours[0] if ours else typing.get_args(annotation)[0]


class Signature:
    """The parameters of a kernel, and the names in their annotations.

    Example: ``tl.Tensor["M, K:16", "T"]`` names the extents ``M`` and ``K`` and the
    element type ``T``.

    The *form* of a call says which arguments its parameters stand for: the number of
    tensors of each list, and None for each optional argument that is left out.

    Attributes:
        name: the kernel's name.
        runtime: the parameters that stand for arguments of the kernel.
        constants: the parameters whose values are compiled in.
        extents: names of extents and strides.
        dtypes: names of element types.
        names: `extents` and `dtypes`; what a call may fix by name.
        formed: the names of lists, optional tensors and optional scalars.
    """

    def __init__(self, name: str, parameters: list[Parameter]) -> None:
        self.name = name
        self.runtime = [p for p in parameters if not isinstance(p, ConstantParameter)]
        self.constants = [p for p in parameters if isinstance(p, ConstantParameter)]
        tensors = [
            p for p in self.runtime if isinstance(p, (TensorParameter, ListParameter))
        ]
        constant_names = {p.name for p in self.constants}
        self.extents = {
            extent
            for p in tensors
            for extent in (*(d.extent for d in p.kind.dims), *(p.kind.strides or ()))
            if isinstance(extent, str)
        } - constant_names
        self.dtypes = {
            p.kind.dtype_name(p.name)
            for p in tensors
            if not isinstance(p.kind.dtype, DType)
        } - constant_names
        self.names = self.extents | self.dtypes
        self.formed = {
            p.name for p in tensors if isinstance(p, ListParameter) or p.kind.optional
        } | {p.name for p in self.runtime if getattr(p, "optional", False)}

    def flatten(
        self, values: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of the kernel, and the form of the call.

        Args:
            values: the values of runtime parameters in a call, by name.

        Raises:
            TypeError: the value of a list or a structure is something else.
        """
        arguments: dict[str, Any] = {}
        form: dict[str, Any] = {}
        for parameter in self.runtime:
            name = parameter.name
            value = values.get(name, parameter.default)
            if isinstance(parameter, ListParameter):
                if not isinstance(value, (list, tuple)):
                    raise TypeError(
                        f"{self.name}: argument '{name}' is a list of tensors, found a "
                        f"{type(value).__name__}"
                    )
                form[name] = len(value)
                for place, item in enumerate(value):
                    arguments[parameter.element(place).name] = as_host_array(item)
            elif isinstance(parameter, StructParameter):
                arguments.update(self._fields(parameter, value))
            elif value is None and name in self.formed:
                form[name] = None
            elif isinstance(parameter, TensorParameter):
                arguments[name] = as_host_array(value)
            else:
                arguments[name] = value
        return arguments, form

    def _fields(self, parameter: StructParameter, value: Any) -> dict[str, Any]:
        """The arguments that a structure stands for."""
        for field, _ in parameter.fields:
            if not hasattr(value, field):
                raise TypeError(
                    f"{self.name}: argument '{parameter.name}' is a "
                    f"{parameter.type.__name__} with the field '{field}', found a "
                    f"{type(value).__name__}"
                )
        return {
            parameter.element(field, dtype).name: getattr(value, field)
            for field, dtype in parameter.fields
        }

    def leaves(self, form: Mapping[str, Any]) -> list[Leaf]:
        """The arguments of the kernel for calls of a form.

        Raises:
            LanguageError: the number of tensors in a list is missing, or the form of an
                optional argument is not None.
        """
        leaves: list[Leaf] = []
        for parameter in self.runtime:
            name = parameter.name
            if isinstance(parameter, ListParameter):
                leaves += map(parameter.element, range(self._count(name, form)))
            elif isinstance(parameter, StructParameter):
                leaves += [parameter.element(*field) for field in parameter.fields]
            elif name not in form or name not in self.formed:
                leaves.append(parameter)
            elif form[name] is not None:
                kind = "scalar" if isinstance(parameter, ScalarParameter) else "tensor"
                raise LanguageError(
                    f"{self.name}: '{name}' is an optional {kind}, expected None to "
                    f"leave it out, found {form[name]!r}"
                )
        return leaves

    def _count(self, name: str, form: Mapping[str, Any]) -> int:
        if name not in form:
            raise LanguageError(
                f"{self.name}: the number of tensors in '{name}' is not known",
                f"give it: compile({name}=2)",
            )
        what = f"{self.name}: the number of tensors in '{name}'"
        return check_integer(form[name], what, 1, MAX_LIST)

    def assemble(
        self, values: dict[str, Any], form: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The values of the parameters, from those of the kernel's arguments."""
        assembled: dict[str, Any] = {}
        for parameter in self.runtime:
            name = parameter.name
            if isinstance(parameter, ListParameter):
                places = range(self._count(name, form))
                elements = (parameter.element(place) for place in places)
                assembled[name] = tuple(values[element.name] for element in elements)
            elif isinstance(parameter, StructParameter):
                assembled[name] = parameter.assemble(values)
            else:
                assembled[name] = values.get(name)
        return assembled
