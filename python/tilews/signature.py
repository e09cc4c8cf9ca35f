"""The parameters of a kernel's function, as their annotations declare them."""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

from .errors import KernelError, Place
from .language.types import DType, Tensor, constexpr

#: Arguments of compile() and of calls that are no parameters.
RESERVED = ("threads", "target", "index_bitwidth", "grid", "stream")


@dataclasses.dataclass(frozen=True)
class TensorParameter:
    """A parameter that is annotated with ``tl.Tensor[...]``."""

    name: str
    kind: Tensor

    @property
    def dtype_name(self) -> str:
        """The name of the element type: as annotated, or the parameter's."""
        dtype = self.kind.dtype
        return dtype if isinstance(dtype, str) and dtype else self.name


@dataclasses.dataclass(frozen=True)
class ScalarParameter:
    """A parameter that is annotated with an element type, such as ``tl.i32``."""

    name: str
    dtype: DType


@dataclasses.dataclass(frozen=True)
class ConstantParameter:
    """A parameter that is annotated with ``tl.constexpr``."""

    name: str
    default: Any = inspect.Parameter.empty


Parameter = TensorParameter | ScalarParameter | ConstantParameter


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
        if not isinstance(kind, (Tensor, DType)):
            raise KernelError(
                f"parameter '{name}' has no kernel annotation",
                hint='write tl.Tensor["M, N", tl.f16], a type such as tl.i32, or '
                "tl.constexpr",
                **place,
            )
        if parameter.default is not parameter.empty:
            raise KernelError(
                f"parameter '{name}' has a default value, but is no tl.constexpr",
                **place,
            )
        if isinstance(kind, Tensor):
            parameters.append(TensorParameter(name, kind))
        else:
            parameters.append(ScalarParameter(name, kind))
    return parameters


def _annotation(function: types.FunctionType, annotation: Any) -> Any:
    """An annotation, evaluated if it is text."""
    if not isinstance(annotation, str):
        return annotation
    closure = inspect.getclosurevars(function).nonlocals
    return eval(annotation, function.__globals__, closure)


class Signature:
    """The parameters of a kernel, and the names in their annotations.

    Example: ``tl.Tensor["M, K:16", "T"]`` names the extents ``M`` and ``K`` and the
    element type ``T``.

    Attributes:
        name: the kernel's name.
        runtime: the parameters that become arguments of the kernel.
        constants: the parameters whose values are compiled in.
        extents: names of extents and strides.
        dtypes: names of element types.
        names: `extents` and `dtypes`; what a call may fix by name.
    """

    def __init__(self, name: str, parameters: list[Parameter]) -> None:
        self.name = name
        self.runtime = [p for p in parameters if not isinstance(p, ConstantParameter)]
        self.constants = [p for p in parameters if isinstance(p, ConstantParameter)]
        tensors = [p for p in self.runtime if isinstance(p, TensorParameter)]
        constant_names = {p.name for p in self.constants}
        self.extents = {
            extent
            for p in tensors
            for extent in (*(d.extent for d in p.kind.dims), *(p.kind.strides or ()))
            if isinstance(extent, str)
        } - constant_names
        self.dtypes = {
            p.dtype_name for p in tensors if not isinstance(p.kind.dtype, DType)
        } - constant_names
        self.names = self.extents | self.dtypes
