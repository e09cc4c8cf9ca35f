"""The kernel decorator: Python functions that build and compile tile kernels."""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import ir
from .compiler import CompiledKernel, compile_module, warp_size
from .dialects import gpu
from .errors import CompileError, KernelError, LanguageError
from .frontend.calls import InlineFunction
from .frontend.source import SourceFunction, captured_names, from_python
from .frontend.statements import build_body
from .frontend.verification import check_schedules, verify
from .interpreted import InterpretedKernel
from .language.builder import Builder
from .language.integers import check_integer
from .language.memory import static_shape
from .language.values import Buffer, Scalar
from .runtime import device_target
from .signature import (
    Signature,
    Specialization,
    divisors_of_call,
    dtypes_of_call,
    read_parameters,
)

MODULE_NAME = "kernels"
#: Of a kernel that says nothing else.
DEFAULT_THREADS = 128


def kernel(
    function: types.FunctionType | None = None,
    *,
    threads: int | None = None,
    cluster: tuple[int, int, int] | None = None,
) -> Kernel | Callable[[types.FunctionType], Kernel]:
    """Makes a kernel of a Python function.

    Args:
        function: its parameters are annotated with ``tl.Tensor[...]``, with an
            element type for a scalar, or with ``tl.constexpr``.
        threads: threads of a block, a multiple of 32; by default those of the
            kernel's roles, see :func:`tl.role`, or 128. ``compile(threads=...)``
            overrides it.
        cluster: blocks in a cluster (NVIDIA sm_90 and later).

    Raises:
        KernelError: a parameter's annotation is missing or unfit.
    """
    if function is None:
        return functools.partial(kernel, threads=threads, cluster=cluster)
    return Kernel(function, threads, cluster)


def func(function: types.FunctionType) -> InlineFunction:
    """Makes a function that kernels call; it is inlined.

    Functions that get a scalar, fragment or buffer are inlined without this, too.
    """
    return InlineFunction(function)


class Kernel:
    """A tile kernel, to be compiled or called."""

    is_tilews_kernel = True

    def __init__(
        self,
        function: types.FunctionType,
        threads: int | None,
        cluster: tuple[int, int, int] | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.python = function
        self.threads = threads
        self.cluster = cluster
        self.name = function.__name__
        self.signature = Signature(self.name, read_parameters(function))
        self._captured = captured_names(function)
        self._python_signature = inspect.signature(function)
        # By specialisation, and by what calls differ in.
        self._compiled: dict[Any, CompiledKernel | InterpretedKernel] = {}
        self._called: dict[Any, CompiledKernel | InterpretedKernel] = {}

    def build(self, target: str | None = None, **bindings: Any) -> ir.Module:
        """Builds the kernel's tile IR, verified.

        Args:
            target: a chip such as 'sm_90a' or 'gfx942'; None or 'cpu' for none.
            bindings: values of constexpr parameters; extents and element types that
                the kernel is specialised for; `threads`.

        Returns:
            A module with a gpu.module @kernels that holds the kernel.

        Raises:
            KernelError: with the place in the kernel's source.
        """
        threads = self._get_threads(bindings.pop("threads", None))
        return self._build(self._specialize(bindings), threads, target)

    def mlir(self, target: str | None = None, **bindings: Any) -> str:
        """The kernel's tile IR as text; arguments as for :meth:`build`."""
        return str(self.build(target, **bindings))

    def compile(
        self,
        target: str | None = None,
        *,
        threads: int | None = None,
        index_bitwidth: int = 32,
        pipeline: str | None = None,
        **bindings: Any,
    ) -> CompiledKernel | InterpretedKernel:
        """Compiles the kernel; a second time it is found again.

        Args:
            target: a chip such as 'sm_90a' or 'gfx942', or 'cpu' for the reference
                interpreter; by default that of this machine's GPU, if there is one.
            threads: of a block, instead of the decorator's.
            index_bitwidth: 64 for arrays of 2^31 elements and more.
            pipeline: passes that bring the kernel to phase 4 in place of the default
                ones: see :func:`tilews.compiler.compile_module`.
            bindings: values of constexpr parameters; extents and element types that
                the kernel is specialised for.

        Raises:
            CompileError: with the place in the kernel's source, where it has one.
        """
        specialization = self._specialize(bindings)
        threads = self._get_threads(threads)
        return self._compile(target, specialization, threads, index_bitwidth, pipeline)

    def _compile(
        self,
        target: str | None,
        specialization: Specialization,
        threads: int | None,
        index_bitwidth: int,
        pipeline: str | None = None,
    ) -> CompiledKernel | InterpretedKernel:
        target = target or device_target()
        types = _typed(value for _, value in specialization.constants)
        key = (target, specialization, threads, index_bitwidth, pipeline, *types)
        key = (*key, *self._globals())
        found = self._find(self._compiled, key)
        if found is None:
            if target == "cpu" and pipeline is not None:
                raise CompileError(
                    "the target 'cpu' runs the kernel as written and takes no pipeline"
                )
            module = self._build(specialization, threads, target)
            if target == "cpu":
                found = InterpretedKernel(module, self.name, specialization)
            else:
                found = compile_module(
                    module,
                    target,
                    kernel=self.name,
                    index_bitwidth=index_bitwidth,
                    pipeline=pipeline,
                )
            self._compiled[key] = found
        return found

    def __call__(
        self,
        *args: Any,
        target: str | None = None,
        threads: int | None = None,
        grid: Sequence[int] | None = None,
        stream: Any = None,
        **kwargs: Any,
    ) -> None:
        """Runs the kernel, compiled for the types of these arguments.

        Args:
            args, kwargs: the kernel's parameters. Extents that are given by name,
                too, are compiled in.
            target: as for :meth:`compile`; numpy arrays are run by the interpreter.
            threads: of a block, instead of the decorator's.
            grid: blocks in up to three dimensions; by default as the kernel says.
            stream: of the arrays' library; by default its current one.

        Raises:
            CompileError: the kernel cannot be built for these arguments.
            LaunchError: an argument does not fit the kernel; nothing was started.
        """
        arguments, bindings = self._bind(args, kwargs)
        key = (
            *(target, threads, *bindings, *_typed(bindings.values())),
            *map(_fingerprint, arguments.values()),
            *self._globals(),
        )
        compiled = self._find(self._called, key)
        if compiled is None:
            compiled = self._compile_for(arguments, target, threads, bindings)
            self._called[key] = compiled
        compiled(*arguments.values(), grid=grid, stream=stream)

    def compile_for(
        self,
        *args: Any,
        target: str | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> CompiledKernel | InterpretedKernel:
        """Compiles the kernel as a call with these arguments does; runs nothing.

        Args:
            args, kwargs, target, threads: as for a call.

        Raises:
            CompileError: the kernel cannot be built for these arguments.
        """
        arguments, bindings = self._bind(args, kwargs)
        return self._compile_for(arguments, target, threads, bindings)

    def build_for(
        self,
        *args: Any,
        target: str | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> ir.Module:
        """Builds the kernel's tile IR for the types of these arguments.

        Args:
            args, kwargs, threads: as for a call.
            target: as for :meth:`build`.

        Raises:
            KernelError: the kernel cannot be built for these arguments.
        """
        arguments, bindings = self._bind(args, kwargs)
        specialization = self._specialize_for(arguments, bindings)
        threads = self._get_threads(threads)
        return self._build(specialization, threads, target)

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of a call, and what it specialises the kernel for."""
        names = self.signature.names
        bindings = {name: kwargs.pop(name) for name in names & kwargs.keys()}
        try:
            arguments = self._python_signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        for parameter in self.signature.constants:
            if parameter.name in arguments:
                bindings[parameter.name] = arguments.pop(parameter.name)
        return arguments, bindings

    def _compile_for(
        self,
        arguments: dict[str, Any],
        target: str | None,
        threads: int | None,
        bindings: dict[str, Any],
    ) -> CompiledKernel | InterpretedKernel:
        """Compiles the kernel for the arguments of a call."""
        specialization = self._specialize_for(arguments, bindings)
        arrays = [x for x in arguments.values() if getattr(x, "shape", ())]
        if target is None and all(isinstance(x, np.ndarray) for x in arrays):
            target = "cpu"
        is_large = any(_is_large(array) for array in arrays)
        threads = self._get_threads(threads)
        return self._compile(target, specialization, threads, 64 if is_large else 32)

    def _specialize_for(
        self, arguments: dict[str, Any], bindings: dict[str, Any]
    ) -> Specialization:
        """What the kernel is specialised for by the arguments of a call."""
        try:
            dtypes = dtypes_of_call(self.signature, arguments)
        except LanguageError as error:
            raise self._error(error) from error
        return self._specialize(
            {**dtypes, **bindings}, divisors=divisors_of_call(arguments)
        )

    def _get_threads(self, threads: int | None) -> int | None:
        """The threads of a block: those given, or the decorator's."""
        threads = self.threads if threads is None else threads
        if threads is None:
            return None
        try:
            return check_integer(threads, f"{self.name}: threads", 32, 1024, 32)
        except LanguageError as error:
            raise self._error(error) from error

    def _get_cluster(self) -> list[int]:
        """The extents of the decorator's cluster."""
        try:
            extents = static_shape(self.cluster, f"{self.name}: cluster")
        except LanguageError as error:
            raise self._error(error) from error
        return [*extents]

    def _globals(self) -> list[Any]:
        """The numbers and texts outside of the kernel that it depends on."""
        return _typed(scope.get(name) for scope, name in self._captured)

    def _find(self, cache: dict[Any, Any], key: tuple[Any, ...]) -> Any:
        try:
            return cache.get(key)
        except TypeError as error:
            raise self._error(
                LanguageError(
                    f"{self.name}: constexpr parameters have to be hashable ({error})",
                    "use a tuple instead of a list",
                )
            ) from error

    def _specialize(self, bindings: dict[str, Any], **options: Any) -> Specialization:
        try:
            return self.signature.specialize(bindings, **options)
        except LanguageError as error:
            raise self._error(error) from error

    def _error(self, error: LanguageError) -> KernelError:
        code = self.python.__code__
        return KernelError(
            error.message,
            hint=error.hint,
            filename=code.co_filename,
            line=code.co_firstlineno,
            column=1,
        )

    def _build(
        self, specialization: Specialization, threads: int | None, target: str | None
    ) -> ir.Module:
        function = from_python(self.python)
        targets = target_attribute(target)
        line = self.python.__code__.co_firstlineno
        with ir.Context(), ir.Location.file(function.file.name, line, 1):
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                gpu_module = gpu.GPUModuleOp(
                    MODULE_NAME,
                    targets=ir.ArrayAttr.get([ir.Attribute.parse(targets)])
                    if targets
                    else None,
                )
            with ir.InsertionPoint(gpu_module.bodyRegion.blocks.append()):
                op = self._make_kernel(specialization, threads)
            builder = Builder(op, threads is not None, warp_size(target))
            self._fill(builder, function, specialization)
            verify(module, function)
            if builder.schedules:
                check_schedules(module, function, builder.schedules)
        return module

    def _make_kernel(
        self, specialization: Specialization, threads: int | None
    ) -> gpu.GPUFuncOp:
        """The kernel's operation with its attributes and an empty entry block."""
        arguments = specialization.arguments
        inputs = [argument.to_ir() for argument in arguments]
        op = gpu.GPUFuncOp(ir.FunctionType.get(inputs, []), self.name, kernel=True)
        op.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [argument.attributes() for argument in arguments]
        )
        i32 = ir.IntegerType.get_signless(32)
        op.attributes["tile.threads"] = ir.IntegerAttr.get(
            i32, DEFAULT_THREADS if threads is None else threads
        )
        if self.cluster is not None:
            cluster = ir.DenseI32ArrayAttr.get(self._get_cluster())
            op.attributes["tile.cluster"] = cluster
        op.add_entry_block()
        return op

    def _fill(
        self,
        builder: Builder,
        function: SourceFunction,
        specialization: Specialization,
    ) -> None:
        values: dict[str, Any] = dict(specialization.constants)
        for argument, value in zip(
            specialization.arguments, builder.entry.arguments, strict=True
        ):
            if argument.shape is None:
                values[argument.name] = Scalar(value, argument.dtype)
            else:
                values[argument.name] = Buffer(value, argument.name)
        build_body(builder, function, values)

    def __repr__(self) -> str:
        return f"<tilews kernel {self.name}>"


def _typed(values: Iterable[Any]) -> list[Any]:
    """Values and their types, because 1, 1.0 and True are equal."""
    return [item for value in values for item in (type(value), value)]


def _is_large(array: Any) -> bool:
    """Whether offsets in an array need more than 32 bits."""
    return math.prod(array.shape) >= 2**31


def _fingerprint(argument: Any) -> Any:
    """Equal for arguments that need the same specialisation."""
    shape = getattr(argument, "shape", ())
    if not shape:
        return type(argument)
    innermost = shape[-1] % 16 == 0
    return type(argument), argument.dtype, len(shape), innermost, _is_large(argument)


def target_attribute(target: str | None) -> str | None:
    """The target attribute of a chip, None for the CPU.

    Raises:
        CompileError: there is no such kind of chip.
    """
    if target is None or target == "cpu":
        return None
    if re.fullmatch(r"sm_\d+[af]?", target):
        return f'#nvvm.target<chip = "{target}">'
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", target):
        return f'#rocdl.target<chip = "{target}">'
    raise CompileError(
        f"unknown target '{target}'; expected 'cpu', a chip of NVIDIA such as 'sm_90a' "
        "or of AMD such as 'gfx942'"
    )
