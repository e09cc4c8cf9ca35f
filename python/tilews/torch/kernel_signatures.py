"""A kernel as an operator: its schema, its results, and the call."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..dispatch import Kernel
from ..language.types import DType
from ..signature import (
    RESERVED,
    ConstantParameter,
    Parameter,
    ScalarParameter,
    TensorParameter,
    read_parameters,
)

_REQUIRED = inspect.Parameter.empty
#: Types of schemas for the values of constexpr parameters.
_VALUES = {bool: "bool", int: "SymInt", float: "float", str: "str"}


def _torch_type(dtype: DType) -> Any:
    """Torch's type of elements; None for those that share bytes or are unknown."""
    return getattr(torch, dtype.numpy.name, None) if dtype.packing == 1 else None


class KernelCall:
    """What an operator needs of a kernel.

    Args:
        name: of the operator.
        kernel: the kernel.
        outputs, mutates, constants: as for :func:`.op`.

    Attributes:
        schema: of the operator, without its name.

    Raises:
        TypeError: a parameter cannot be one of an operator, or an output has extents
            or a type that no argument has.
        ValueError: a name is not that of a parameter.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        outputs: Sequence[str] | Mapping[str, Callable[..., Any] | None],
        mutates: tuple[str, ...],
        constants: Mapping[str, Any],
    ) -> None:
        self._name = name
        self._kernel = kernel
        parameters = {each.name: each for each in read_parameters(kernel.python)}
        self._values = {key: constants[key] for key in parameters if key in constants}
        self._options = {key: constants[key] for key in RESERVED if key in constants}
        tensors = {
            key: each
            for key, each in parameters.items()
            if isinstance(each, TensorParameter)
        }
        self._check_names(parameters, tensors, outputs, mutates, constants)
        self._outputs = [tensors[each] for each in outputs]
        self._makers = dict(outputs) if isinstance(outputs, Mapping) else {}
        inputs = [
            each
            for key, each in parameters.items()
            if key not in outputs and key not in constants
        ]
        inputs.sort(key=lambda each: each.default is not _REQUIRED)
        self._inputs = inputs
        self._defaults = [each.default for each in inputs]
        self._tensors = [
            (place, each)
            for place, each in enumerate(inputs)
            if isinstance(each, TensorParameter)
        ]
        self._numbers = [
            each for each in inputs if not isinstance(each, TensorParameter)
        ]
        self._dtypes = {
            key: _torch_type(value)
            for key, value in constants.items()
            if isinstance(value, DType)
        }
        texts = [self._declare(each, mutates) for each in inputs]
        results = ["Tensor"] * len(self._outputs)
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        self.schema = f"({', '.join(texts)}) -> {returned}"
        self._check_outputs()
        self._find_places()

    def _check_names(
        self,
        parameters: Mapping[str, Parameter],
        tensors: Mapping[str, TensorParameter],
        outputs: Sequence[str] | Mapping[str, Any],
        mutates: tuple[str, ...],
        constants: Mapping[str, Any],
    ) -> None:
        for what, names in (("outputs", outputs), ("mutates", mutates)):
            if isinstance(names, str):
                raise TypeError(
                    f"{self._name}: {what}= is a list of names, found {names!r}"
                )
            for each in names:
                if each not in tensors:
                    raise ValueError(
                        f"{self._name}: {what}= names '{each}', expected tensors of "
                        f"the kernel: {', '.join(tensors)}"
                    )
        if both := {*outputs} & {*mutates}:
            raise ValueError(
                f"{self._name}: '{min(both)}' is in outputs= and in mutates=; an "
                "output is allocated by the operator"
            )
        for each in constants:
            if each not in (*parameters, *RESERVED):
                raise ValueError(
                    f"{self._name}: constants= names '{each}', expected parameters of "
                    f"the kernel: {', '.join(parameters)}"
                )

    def _declare(self, parameter: Parameter, mutates: tuple[str, ...]) -> str:
        """A parameter in the schema.

        Raises:
            TypeError: no argument of an operator can stand for it.
        """
        default = parameter.default
        kind = None
        if isinstance(parameter, TensorParameter):
            changed = mutates.index(parameter.name) if parameter.name in mutates else -1
            kind = "Tensor" if changed < 0 else f"Tensor(a{changed}!)"
            kind += "?" if parameter.kind.optional else ""
        elif isinstance(parameter, ScalarParameter):
            dtype = parameter.dtype
            kind = "bool" if dtype.is_bool else "float" if dtype.is_float else "SymInt"
            kind += "?" if parameter.optional else ""
        elif isinstance(parameter, ConstantParameter):
            kind = _VALUES.get(type(default))
        if kind is None:
            raise TypeError(
                f"{self._name}: the parameter '{parameter.name}' of the kernel is no "
                "tensor, no scalar, and no constexpr with a number or a text as "
                "default; give its value in constants=, or make the operator of a "
                "function that calls the kernel"
            )
        if default is _REQUIRED:
            return f"{kind} {parameter.name}"
        text = json.dumps(default) if isinstance(default, str) else repr(default)
        return f"{kind} {parameter.name}={text}"

    def _check_outputs(self) -> None:
        """Checks that arguments tell the shapes and types of the results."""
        known: set[str | int] = {*self._values}
        known |= {each.name for each in self._numbers}
        dtypes = {*self._dtypes}
        for _, tensor in self._tensors:
            if not tensor.kind.optional:
                known |= {dim.extent for dim in tensor.kind.dims}
                dtypes.add(tensor.dtype_name)
        for output in self._outputs:
            if self._makers.get(output.name):
                continue
            extents = [dim.extent for dim in output.kind.dims]
            unknown = [x for x in extents if isinstance(x, str) and x not in known]
            dtype = output.kind.dtype
            if isinstance(dtype, DType):
                unknown += [] if _torch_type(dtype) else [str(dtype)]
            elif output.dtype_name not in dtypes:
                unknown.append(output.dtype_name)
            if unknown or not self._tensors or output.kind.strides is not None:
                what = f"'{unknown[0]}'" if unknown else "what it is like"
                raise TypeError(
                    f"{self._name}: no argument tells {what} of the output "
                    f"'{output.name}'; give a function that makes it: "
                    f'outputs={{"{output.name}": lambda ...: torch.empty(...)}}'
                )

    def _find_places(self) -> None:
        """Finds the arguments of the kernel in the lists of :meth:`run`."""
        members = [
            [each.name for each in self._inputs],
            [each.name for each in self._outputs],
            [*self._values],
        ]
        places = {
            name: (which, place)
            for which, names in enumerate(members)
            for place, name in enumerate(names)
        }
        self._by_place: list[tuple[int, int]] = []
        self._by_name: dict[str, tuple[int, int]] = {}
        for name, parameter in inspect.signature(
            self._kernel.python
        ).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                self._by_name[name] = places[name]
            else:
                self._by_place.append(places[name])

    # ===--- Calls ---=== #

    def _complete(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with the defaults, which torch leaves out."""
        return (*args, *self._defaults[len(args) :])

    def run(self, *args: Any) -> Any:
        """Allocates the results, and calls the kernel."""
        args = self._complete(args)
        results = self._allocate(args)
        lists = args, results, tuple(self._values.values())
        # By place, because an extent of the kernel may have the name of a parameter.
        given = [lists[which][place] for which, place in self._by_place]
        by_name = {
            key: lists[which][place] for key, (which, place) in self._by_name.items()
        }
        self._kernel(*given, **by_name, **self._options)
        return self._returned(results)

    def make_fake(self, *args: Any) -> Any:
        """Empty tensors like the results."""
        return self._returned(self._allocate(self._complete(args)))

    @staticmethod
    def _returned(results: list[Any]) -> Any:
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _allocate(self, args: tuple[Any, ...]) -> list[Any]:
        extents, dtypes = self._read(args)
        results = []
        for output in self._outputs:
            if maker := self._makers.get(output.name):
                results.append(maker(*args))
                continue
            kind = output.kind.dtype
            named = dtypes.get(output.dtype_name)
            dtype = _torch_type(kind) if isinstance(kind, DType) else named
            shape = [
                extents[dim.extent] if isinstance(dim.extent, str) else dim.extent
                for dim in output.kind.dims
            ]
            device = args[self._tensors[0][0]].device
            results.append(torch.empty(shape, dtype=dtype, device=device))
        return results

    def _read(self, args: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The extents and the element types that the arguments have, by name.

        Raises:
            RuntimeError: a tensor has another number of dimensions.
        """
        extents: dict[Any, Any] = dict(self._values)
        for each, value in zip(self._inputs, args, strict=True):
            if each in self._numbers:
                extents[each.name] = value
        dtypes = dict(self._dtypes)
        for place, tensor in self._tensors:
            array = args[place]
            if array is None:
                continue
            dtypes[tensor.dtype_name] = array.dtype
            dims = tensor.kind.dims
            if array.dim() != len(dims):
                raise RuntimeError(
                    f"{self._name}: argument '{tensor.name}': expected {len(dims)} "
                    f"dimensions, found {array.dim()}"
                )
            for dim, size in zip(dims, array.shape, strict=True):
                extents.setdefault(dim.extent, size)
        return extents, dtypes
