"""A kernel: finds or makes what runs a call, and runs it.

A call goes this way::

    arguments --bind--> BoundCall --key--> cache of calls --hit--> compiled kernel
                                               | miss
                        Specialization --key--> cache of compiled kernels
                                               | miss
                        tile IR --> CompiledKernel (GPU) or InterpretedKernel (CPU)

:mod:`.specialize` does the first step and makes the specialization, :mod:`.build` the
tile IR, :mod:`.compiler` and :mod:`.interpreted` what runs.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from . import ir
from ._launch import CallPlan, HotCall
from ._support.call_recorder import current_recorder
from ._support.chips import find_chip
from ._support.compiler_options import CompilerOptions
from ._support.make_cache import MakeCache
from .bundles.jit_mode import check_call
from .call_plans import CallForm
from .compiler import CompiledKernel, compile_kernel
from .disk_cache.place import find_shortcut
from .errors import CompileError, LanguageError
from .frontend.source import captured_names
from .language.integers import check_integer, static_shape
from .runtime import device_target
from .runtime.reach import is_within_reach
from .specialize import BoundCall, Specialization, Specializer, with_types

#: How many compiled kernels one :class:`Kernel` keeps, the last used ones (LRU).
MAX_COMPILED = 256
#: For how many different kinds of calls it remembers the compiled kernel (LRU).
MAX_CALLS = 4096

if TYPE_CHECKING:
    from .interpreted import InterpretedKernel

    Executable = CompiledKernel | InterpretedKernel


@dataclasses.dataclass(frozen=True)
class _Request:
    """All that a compiled kernel depends on besides the source and its globals."""

    specialization: Specialization
    target: str
    threads: int | None
    index_bitwidth: int
    pipeline: str | None = None
    line_info: bool = True

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for equal requests, whose constants have the same types, too."""
        return (self, *with_types(value for _, value in self.specialization.constants))


class Kernel(HotCall):
    """A tile kernel, to be compiled or called.

    It can be called from several threads; a kernel that several of them need is
    compiled once. It keeps the :data:`MAX_COMPILED` compiled kernels that were used
    last, and drops others, which are compiled again when they are needed.

    Example:
        @tilews.kernel
        def double(X: tl.Tensor["N", "T"]):
            i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
            X[i] = 2 * tl.load(X[i], (256,))

        x = np.ones(1000, np.float32)
        double(x)  # compiled for this array, and run
        assert (x == 2).all()
        assert "tile.load" in double.mlir(T=tl.f32)
        module = double.build("sm_90a", T=tl.f32, N=4096)  # an ir.Module
        assert "tile.load" in str(double.build_for(x))
        assert ".entry double" in double.compile("sm_90a", T=tl.f16).ptx
        assert ".entry double" in double.compile_for(x, target="sm_80").ptx
    """

    __name__: str
    is_tilews_kernel = True

    def __init__(
        self,
        function: Callable[..., Any],
        threads: int | None,
        cluster: tuple[int, int, int] | None,
        source: str | None = None,
        specialize: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"expected a Python function, found {function!r:.80}")
        if source is not None and not isinstance(source, str):
            raise TypeError(
                f"{function.__name__}: source= is the text of the kernel, found a "
                f"{type(source).__name__}"
            )
        if not isinstance(specialize, (list, tuple)) or not all(
            isinstance(each, Mapping) for each in specialize
        ):
            raise TypeError(
                f"{function.__name__}: specialize= is a list of dictionaries with the "
                f"arguments of compile_for, found {specialize!r:.80}"
            )
        functools.update_wrapper(self, function)
        self.python = function
        self.specialize = tuple(specialize)
        self.threads = threads
        self.cluster = cluster
        self.name = function.__name__
        self._source = source
        self._specializer = Specializer(function)
        self._captured = captured_names(function)
        self._compiled: MakeCache[Executable] = MakeCache(MAX_COMPILED)
        self._called: MakeCache[Executable] = MakeCache(MAX_CALLS)
        self._plans = self._specializer.make_plans()
        self._watch(self._captured)

    def __reduce__(self) -> str:
        return self.python.__qualname__  # As functions: pickled as its name.

    # ===--- For values that are given by name ---=== #

    def build(self, target: str | None = None, **bindings: Any) -> ir.Module:
        """Builds the kernel's tile IR, verified.

        Args:
            target: a chip such as 'sm_90a' or 'gfx942', or a GPU such as 'H100';
                None or 'cpu' for none.
            bindings: values of constexpr parameters; extents and element types that
                the kernel is specialised for; `threads`.

        Returns:
            A module with a gpu.module @kernels that holds the kernel.

        Raises:
            KernelError: with the place in the kernel's source.
        """
        threads = self._get_threads(bindings.pop("threads", None))
        return self._build(self._specializer.specialize(bindings), threads, target)

    def mlir(self, target: str | None = None, **bindings: Any) -> str:
        """The kernel's tile IR as text; arguments as for :meth:`build`."""
        return str(self.build(target, **bindings))

    def compile(
        self,
        /,
        target: str | None = None,
        *,
        backend: str | None = None,
        threads: int | None = None,
        index_bitwidth: int = 32,
        pipeline: str | None = None,
        line_info: bool = True,
        **bindings: Any,
    ) -> Executable:
        """Compiles the kernel, or finds it compiled.

        Args:
            target: a chip such as 'sm_90a' or 'gfx942', a GPU such as 'H100', or
                'cpu' for the reference interpreter; by default that of this machine's
                GPU, if there is one.
            backend: 'cpu', which is the same as the target 'cpu'.
            threads: of a block, instead of the decorator's.
            index_bitwidth: 64 for arrays of 2^31 elements and more.
            pipeline: passes that bring the kernel to phase 4 in place of the default
                ones: see :func:`tilews.compiler.compile_module`.
            line_info: whether the code says which line of the kernel each instruction
                is from, for profilers and debuggers.
            bindings: values of constexpr parameters; extents and element types that
                the kernel is specialised for.

        Raises:
            CompileError: with the place in the kernel's source, where it has one.
            TypeError: the backend is another one, or contradicts the target.
        """
        target = self._choose_target(target, backend)
        specialization = self._specializer.specialize(bindings)
        return self._compile(
            _Request(
                specialization,
                find_chip(target or device_target()),
                self._get_threads(threads),
                index_bitwidth,
                pipeline,
                line_info,
            )
        )

    # ===--- For the arguments of a call ---=== #

    def __getitem__(self, grid: Any) -> NoReturn:
        """Refuses the launches of Triton.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"{self.name}[...] launches nothing: call {self.name}(...); the kernel "
            "sets its grid by tl.grid, or the call does by grid=(8, 1)"
        )

    def _call_anew(
        self,
        *args: Any,
        target: str | None = None,
        backend: str | None = None,
        threads: int | None = None,
        grid: Sequence[int] | None = None,
        stream: Any = None,
        run: str | None = None,
        **kwargs: Any,
    ) -> tuple[None, CallPlan | None]:
        """Runs the kernel, compiled for the types of these arguments.

        Args:
            args, kwargs: the kernel's parameters. Extents that are given by name,
                too, are compiled in.
            target: as for :meth:`compile`; by default the interpreter runs the kernel
                if all arrays are in host memory: those of numpy, torch or JAX, in any
                element type.
            backend: 'cpu' says explicitly that the arrays are in host memory and that
                the interpreter runs the kernel.
            threads: of a block, instead of the decorator's.
            grid: blocks in up to three dimensions; by default as the kernel says.
            stream: of the arrays' library; by default its current one.
            run: 'sim' executes the machine code for an AMD `target` on the CPU, with
                arrays in host memory: see :func:`tilews.sim.amdgcn.launch`.

        Raises:
            CompileError: the kernel cannot be built for these arguments.
            TypeError: its parameters do not take these arguments.
            LaunchError: an argument does not fit the kernel; nothing was started.
        """
        target = self._choose_target(target, backend)
        kind = None
        if run is not None:
            self._check_simulation(run, target, stream)
        elif grid is None:
            kind = self._plans.describe(args, kwargs, target, threads, *self._globals())
            if kind and (family := self._plans.launch(kind, stream)):
                return None, family.native
        if kind is None and (recorder := current_recorder()):
            recorder.give_up()
        call = self._specializer.bind(args, kwargs)
        key = (target, threads, *call.key, *self._globals())
        compiled = self._find(
            self._called,
            key,
            lambda: self._compile_call(call, target, threads, check_call),
        )
        if self._is_too_narrow(compiled, call):
            compiled = self._find(
                self._called,
                ("wide", *key),
                lambda: self._compile_call(
                    call, target, threads, check_call, index_bitwidth=64
                ),
            )
        if run == "sim":
            from .sim import amdgcn

            assert isinstance(compiled, CompiledKernel)
            amdgcn.launch(compiled, tuple(call.arguments.values()), grid=grid)
        elif kind and isinstance(compiled, CompiledKernel):
            plan = compiled.loaded.plan_and_launch(kind.arguments, None, stream)
            return None, self._plans.add(kind, compiled.loaded, plan).native
        else:
            compiled(*call.arguments.values(), grid=grid, stream=stream)
        return None, None

    def _describe_form(self, count: int, names: tuple[str, ...]) -> CallForm | None:
        """What the arguments of a call are: see :meth:`CallPlans.describe_form`."""
        return self._plans.describe_form(count, names)

    def compile_for(
        self,
        *args: Any,
        target: str | None = None,
        backend: str | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> Executable:
        """Compiles the kernel as a call with these arguments does; runs nothing.

        Args:
            args, kwargs, target, backend, threads: as for a call.

        Raises:
            CompileError: the kernel cannot be built for these arguments.
            TypeError: its parameters do not take these arguments.
        """
        target = self._choose_target(target, backend)
        call = self._specializer.bind(args, kwargs)
        compiled = self._compile_call(call, target, threads)
        if self._is_too_narrow(compiled, call):
            return self._compile_call(call, target, threads, index_bitwidth=64)
        return compiled

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
            TypeError: its parameters do not take these arguments.
        """
        call = self._specializer.bind(args, kwargs)
        specialization = self._specializer.specialize_call(call)
        return self._build(specialization, self._get_threads(threads), target)

    # ===--- Building and compiling ---=== #

    def _choose_target(self, target: str | None, backend: str | None) -> str | None:
        """The target that a request names, or its backend."""
        if backend is None:
            return target
        if backend != "cpu":
            raise TypeError(
                f"{self.name}: expected backend='cpu', found {backend!r}; GPUs are "
                "targets such as target='sm_90a' or target='gfx942'"
            )
        if target not in (None, "cpu"):
            raise TypeError(
                f"{self.name}: found backend='cpu' and target={target!r}; give one"
            )
        return "cpu"

    def _check_simulation(self, run: str, target: str | None, stream: Any) -> None:
        """Checks a request to simulate machine code."""
        if run != "sim":
            raise TypeError(f"{self.name}: expected run='sim', found {run!r}")
        if target is None or not find_chip(target).startswith("gfx"):
            raise TypeError(
                f"{self.name}: run='sim' executes machine code of AMD GPUs: expected a "
                f"target such as 'gfx942', found {target!r}; target='cpu' interprets "
                "the kernel as written"
            )
        if stream is not None:
            raise TypeError(f"{self.name}: run='sim' has no streams")

    @staticmethod
    def _is_too_narrow(compiled: Executable, call: BoundCall) -> bool:
        """Whether the arrays need wider offsets than a kernel has."""
        if not isinstance(compiled, CompiledKernel) or compiled.vendor != "amd":
            return False
        arguments = tuple(call.arguments.values())
        return not is_within_reach(compiled.manifest, arguments)

    def _compile_call(
        self,
        call: BoundCall,
        target: str | None,
        threads: int | None,
        check: Callable[[str, str], None] | None = None,
        index_bitwidth: int = 32,
    ) -> Executable:
        """Compiles the kernel for the arguments of a call, at least that wide.

        `check` is as for :func:`.compile_kernel`.
        """
        specialization = self._specializer.specialize_call(call)
        if target is None and call.is_on_cpu:
            target = "cpu"
        return self._compile(
            _Request(
                specialization,
                find_chip(target or device_target()),
                self._get_threads(threads),
                max(index_bitwidth, call.index_bitwidth),
            ),
            check,
        )

    def _compile(
        self, request: _Request, check: Callable[[str, str], None] | None = None
    ) -> Executable:
        """Finds a kernel in the cache of compiled ones, or compiles it."""
        key = (*request.key, *self._globals())
        return self._find(self._compiled, key, lambda: self._make(request, check))

    def _make(
        self, request: _Request, check: Callable[[str, str], None] | None
    ) -> Executable:
        specialization, target = request.specialization, request.target
        if target == "cpu" and request.pipeline is not None:
            raise CompileError(
                "the target 'cpu' runs the kernel as written and takes no pipeline"
            )

        def build() -> ir.Module:
            return self._build(specialization, request.threads, target)

        if target == "cpu":
            from .interpreted import InterpretedKernel

            return InterpretedKernel(build(), self.name, specialization)
        options = CompilerOptions(
            target, request.index_bitwidth, request.pipeline or "", request.line_info
        )
        captured = (self.python, request, self._get_cluster())
        shortcut = find_shortcut(captured, self._source)
        return compile_kernel(build, options, self.name, shortcut, check)

    def _build(
        self, specialization: Specialization, threads: int | None, target: str | None
    ) -> ir.Module:
        from .build import BlockShape, build_module

        block = BlockShape(threads, self._get_cluster())
        chip = None if target is None else find_chip(target)
        return build_module(self.python, specialization, block, chip, self._source)

    def _find(
        self,
        cache: MakeCache[Executable],
        key: tuple[Hashable, ...],
        make: Callable[[], Executable],
    ) -> Executable:
        try:
            hash(key)
        except TypeError as error:
            raise self._specializer.error(
                LanguageError(
                    f"{self.name}: constexpr parameters have to be hashable ({error})",
                    "use a tuple instead of a list",
                )
            ) from error
        return cache.get_or_make(key, make)

    def _globals(self) -> list[Any]:
        """The numbers and texts outside of the kernel that it depends on."""
        return with_types(scope.get(name) for scope, name in self._captured)

    def _get_threads(self, threads: int | None) -> int | None:
        """The threads of a block: those given, or the decorator's."""
        threads = self.threads if threads is None else threads
        if threads is None:
            return None
        try:
            return check_integer(threads, f"{self.name}: threads", 32, 1024, 32)
        except LanguageError as error:
            raise self._specializer.error(error) from error

    def _get_cluster(self) -> tuple[int, ...] | None:
        """The extents of the decorator's cluster."""
        if self.cluster is None:
            return None
        try:
            return static_shape(self.cluster, f"{self.name}: cluster")
        except LanguageError as error:
            raise self._specializer.error(error) from error

    def __repr__(self) -> str:
        return f"<tilews kernel {self.name}>"
