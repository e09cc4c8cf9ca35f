"""Compiling MLIR modules to device code."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import _observers, _tilews, ir
from ._observers import on_messages
from ._support import files, tool_path
from ._support.chips import find_chip
from ._support.compiler_options import CompilerOptions
from ._support.forks import make_locks
from ._support.kept import KeptProperty
from .disk_cache.entries import CacheEntry
from .disk_cache.place import CachePlace, find_place, follow_shortcut
from .errors import CompileError
from .runtime import LoadedKernel
from .runtime.pairs import pair

__all__ = [
    "FORMS",
    "PHASES",
    "CompileError",
    "CompiledKernel",
    "compile_file",
    "compile_module",
    "find_ptxas",
    "on_messages",
    "targets",
]

FORMS = ("ptx", "cubin", "asm", "object", "hsaco", "llvm")
"""The forms of device code that :meth:`CompiledKernel.save` writes."""

PHASES = ("tile", "planned", "laid_out", "barriers", "target")
"""The phases of the IR that :meth:`CompiledKernel.mlir` prints."""


# --- compiled kernels ----------------------------------------------------------


class CompiledKernel:
    """A kernel that was lowered for a chip.

    Each form of device code is generated once, when it is first read. A property raises
    :class:`CompileError` with the compiler's messages if generating its form fails.
    """

    def __init__(
        self,
        compile: Callable[[], _tilews.Compilation],
        kernel: str | None,
        place: CachePlace | None = None,
        entry: CacheEntry | None = None,
    ) -> None:
        self._compile = compile
        self._made: _tilews.Compilation | None = None
        self._launched: LoadedKernel | None = None
        self._kernel = kernel or ""
        self._place = place
        self._entry = entry
        self._parse_time: float | None = None
        self._reported = 0
        make_locks(self, CompiledKernel._make_lock)
        self._chip = entry.chip if entry else self._compilation.chip
        self._report()

    def _make_lock(self) -> None:
        self._lock = threading.RLock()

    @property
    def _compilation(self) -> _tilews.Compilation:
        """The compiler's state. A kernel from the disk needs it for further forms."""
        with self._lock:
            if self._made is None:
                self._made = self._compile()
            return self._made

    def _report(self) -> None:
        """Passes new messages to the functions of :func:`on_messages`."""
        with self._lock:
            messages = self.messages[self._reported :]
            self._reported += len(messages)
        _observers.report(messages)

    def _get(self, output: str) -> bytes:
        """Generates an output of the compiler, such as ``BINARY``."""
        result = self._compilation.get(getattr(_tilews.Output, output))
        self._report()
        return result

    def _get_kept(self, form: str, output: str) -> bytes:
        """Code from the disk; otherwise it is generated, and kept there."""
        if self._place is None:
            return self._get(output)
        if self._entry and form in self._entry.forms:
            return self._entry.forms[form]
        with self._place.compiling():
            # Another process may have compiled it meanwhile.
            entry = self._place.get()
            if entry and form in entry.forms:
                return entry.forms[form]
            code = self._get(output)
            forms = {**(entry.forms if entry else {}), form: code}
            self._place.put(self._chip, self.manifest, self.messages, forms)
        return code

    def _require(self, vendor: str, form: str) -> None:
        if self.vendor != vendor:
            raise CompileError(
                f"{self.target} has no {form}; it has "
                + ("ptx and cubin" if self.vendor == "nvidia" else "asm and hsaco")
            )

    @property
    def target(self) -> str:
        """The chip, such as ``sm_90a``."""
        return self._chip

    @property
    def vendor(self) -> str:
        """``nvidia`` or ``amd``."""
        return "nvidia" if self.target.startswith("sm_") else "amd"

    def mlir(self, phase: str = "target") -> str:
        """The text of the module in one of :data:`PHASES`.

        Raises:
            CompileError: the phase is unknown.
        """
        text = self._compilation.print(phase)
        self._report()
        return text

    @KeptProperty
    def llvm(self) -> str:
        """Optimized LLVM IR."""
        return self._get("LLVM").decode()

    @KeptProperty
    def asm(self) -> str:
        """Assembly: PTX or GCN."""
        return self._get("ASSEMBLY").decode()

    @property
    def ptx(self) -> str:
        """NVIDIA: PTX."""
        self._require("nvidia", "PTX")
        return self.asm

    @KeptProperty
    def object(self) -> bytes:
        """AMD: the relocatable object."""
        self._require("amd", "relocatable object")
        return self._get("OBJECT")

    @KeptProperty
    def binary(self) -> bytes:
        """The cubin or the HSACO."""
        return self._get_kept("binary", "BINARY")

    @property
    def cubin(self) -> bytes:
        """NVIDIA: the cubin. Needs ``ptxas``."""
        self._require("nvidia", "cubin")
        return self.binary

    @property
    def hsaco(self) -> bytes:
        """AMD: the loadable code object."""
        self._require("amd", "HSACO")
        return self.binary

    @KeptProperty
    def manifest(self) -> dict[str, Any]:
        """How to launch the kernel; ``docs/launch.md`` describes the fields."""
        if self._entry is not None:
            return self._entry.manifest
        text = self._compilation.manifest(self._kernel)
        self._report()
        manifest: dict[str, Any] = json.loads(text)
        return manifest

    @property
    def resources(self) -> dict[str, Any] | None:
        """Registers, shared memory and spills; None if ``ptxas`` is missing."""
        return self.manifest["resources"]

    @property
    def messages(self) -> list[str]:
        """Warnings and remarks so far.

        For example, why an instruction was not chosen, or that ``ptxas`` serialized
        asynchronous matmuls.
        """
        if self._entry is not None and self._made is None:
            return list(self._entry.messages)
        return self._compilation.messages

    @property
    def timings(self) -> dict[str, float]:
        """The time of each step so far in milliseconds, in order of execution.

        The steps are parsing, each pass, and the steps of code generation. Steps with
        the same name are added up. A kernel from the disk has no such steps.
        """
        times: dict[str, float] = {}
        if self._parse_time is not None:
            times["parse"] = self._parse_time
        for stage, milliseconds in self._made.times if self._made else ():
            times[stage] = times.get(stage, 0.0) + milliseconds
        return times

    @KeptProperty
    def image(self) -> bytes:
        """What is loaded to run the kernel: the binary, or PTX without ``ptxas``.

        The driver compiles PTX whenever a process loads it.
        """
        kept = self._entry.forms if self._entry else ()
        needs_ptx = "binary" not in kept and self.vendor == "nvidia"
        if needs_ptx and ("ptx" in kept or not find_ptxas()):
            return self._get_kept("ptx", "ASSEMBLY")
        return self.binary

    @property
    def loaded(self) -> LoadedKernel:
        """The kernel, to be launched: the same object for all threads."""
        with self._lock:
            if self._launched is None:
                self._launched = LoadedKernel(self.manifest, self.image)
            return self._launched

    def __call__(
        self, *args: Any, grid: Sequence[int] | None = None, stream: Any = None
    ) -> None:
        """Runs the kernel: see :meth:`tilews.runtime.LoadedKernel.__call__`."""
        self.loaded(*args, grid=grid, stream=stream)

    def __copy__(self) -> CompiledKernel:
        return self  # Nothing that a user sees of it changes.

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledKernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the code and the manifest: a :class:`tilews.runtime.LoadedKernel`."""
        return self.loaded.__reduce__()

    def save(self, path: str | pathlib.Path, form: str | None = None) -> None:
        """Writes device code, and the launch manifest beside it.

        Args:
            path: the file; the manifest has the same name with the suffix ``.json``. A
                device or a pipe gets no manifest.
            form: ``ptx``, ``cubin``, ``asm``, ``object``, ``hsaco`` or ``llvm``; the
                binary by default.

        Each has the hash of the other, which :func:`tilews.runtime.load` checks: the
        code ends with a comment, and the manifest has a key.
        If something fails, files that were there before stay as they were.

        Raises:
            CompileError: the chip has no such form, generating it fails, or `path`
                names no file, or that of the manifest.
            OSError: a file cannot be written.
        """
        if form not in (None, *FORMS):
            raise CompileError(
                f"form: expected one of {', '.join(FORMS)}, found {form!r}"
            )
        content = getattr(self, form or "binary")
        data = content.encode() if isinstance(content, str) else content
        data, manifest = pair(data, self.manifest, ";" if form == "llvm" else "//")
        if not files.has_name(path):
            raise CompileError(
                f"cannot write code to {str(path)!r:.80}: it is a folder, or has a "
                "NUL character"
            )
        path = pathlib.Path(path)
        contents: dict[str | os.PathLike[str], files.Content] = {path: data}
        if not files.is_special(path):
            beside = path.with_suffix(".json")
            if os.path.realpath(beside) == os.path.realpath(path):
                raise CompileError(
                    f"cannot write code to '{path}', because its manifest has that "
                    f"name ('{beside}' is the same file): choose another one"
                )
            contents[beside] = json.dumps(manifest, indent=2) + "\n"
        files.write_all(contents)


# --- entry points --------------------------------------------------------------


def find_ptxas() -> str | None:
    """The path of NVIDIA's assembler; None if there is none.

    It is looked for on PATH, in ``CUDA_HOME`` or ``CUDA_PATH``, and in the Python
    package ``nvidia-cuda-nvcc``.
    """
    return _tilews.find_ptxas(tool_path.directories())


def targets() -> list[dict[str, Any]]:
    """The supported chips, with the properties of each.

    Returns:
        Dictionaries with ``chip``, ``vendor`` ('nvidia' or 'amd'), ``warp_size``,
        ``max_threads`` of a block, ``max_shared_bytes``, and booleans for instructions
        such as ``tma``.
    """
    context = ir.Context()
    with context:
        return _tilews.targets(context)


@functools.cache
def warp_size(target: str | None) -> int:
    """The threads of a warp of a chip; 32 for unknown chips and without one."""
    sizes = {info["chip"]: info["warp_size"] for info in targets()}
    return sizes.get(target, 32)


def compile_module(
    module: ir.Module,
    target: str | None = None,
    *,
    kernel: str | None = None,
    index_bitwidth: int = 32,
    pipeline: str | None = None,
    line_info: bool = True,
) -> CompiledKernel:
    """Compiles the only ``gpu.module`` in ``module``, which may be in any phase.

    Args:
        module: the module; it is not changed.
        target: a chip such as ``sm_90a`` or ``gfx942``, or a GPU such as
            ``H100``; by default the target that the ``gpu.module`` names.
        kernel: the kernel to make the manifest of; by default the only one.
        index_bitwidth: width of index arithmetic, 32 or 64. Arrays with 2^31 or more
            elements need 64.
        pipeline: passes on a ``gpu.module``, separated by commas, that bring the
            kernel to phase 4: layouts, a memory plan and barriers; by default those
            of ``tilews.passes.to_nvvm`` or ``to_rocdl``. The target is set before.
        line_info: whether the code says which line of the source each instruction is
            from, for profilers and debuggers. The instructions are the same.

    Raises:
        CompileError: with the compiler's messages and where they belong.
        TypeError: `module` is no module.
    """
    if kernel is not None and not (isinstance(kernel, str) and kernel.isprintable()):
        raise CompileError(f"kernel: expected the name of a kernel, found {kernel!a}")
    options = CompilerOptions(
        find_chip(target) if target else "", index_bitwidth, pipeline or "", line_info
    )
    options.check()
    # MLIR's writer of bytecode crashes on some operations.
    if not isinstance(module, ir.Module):
        raise TypeError(f"expected an ir.Module, found {type(module).__name__}")
    return _compile(module, options, kernel, None, None)


def compile_kernel(
    build: Callable[[], ir.Module],
    options: CompilerOptions,
    kernel: str,
    shortcut: str | None,
    check: Callable[[str, str], None] | None = None,
) -> CompiledKernel:
    """Finds a kernel on the disk by a shortcut, or else builds and compiles it.

    Args:
        build: makes its module.
        options: as for :func:`compile_module`.
        kernel: its name.
        shortcut: see :func:`.disk_cache.place.find_shortcut`.
        check: is called with the kernel's name and the chip if the disk does not have
            the kernel, before it is compiled.

    Raises:
        CompileError: as :func:`compile_module`, and what `build` and `check` raise.
    """
    if shortcut and (found := follow_shortcut(shortcut)):
        place, entry = found
        return CompiledKernel(
            lambda: options.start(place.parse()), kernel, place, entry
        )
    options.check()
    return _compile(build(), options, kernel, shortcut, check)


def _compile(
    module: ir.Module,
    options: CompilerOptions,
    kernel: str | None,
    shortcut: str | None,
    check: Callable[[str, str], None] | None,
) -> CompiledKernel:
    """Finds a kernel on the disk by its module, or compiles it."""
    assembler = None if options.chip.startswith("gfx") else find_ptxas()
    asked = (*dataclasses.astuple(options), kernel)
    place = find_place(module, asked, assembler, shortcut)
    entry = place.get() if place else None
    if place and entry:
        place.put_shortcut()
    elif check:
        check(kernel or "", options.chip)

    def compile() -> _tilews.Compilation:
        # Who has a kernel from the disk may have changed the module since.
        return options.start(place.parse() if place and entry else module)

    return CompiledKernel(compile, kernel, place, entry)


def _text(error: ir.MLIRError) -> str:
    """The parser's messages, in the form of the compiler's."""
    lines = []
    for diagnostic in error.error_diagnostics:
        place = str(diagnostic.location).removeprefix("loc(").removesuffix(")")
        start = "" if place == "unknown" else f"{place}: error: "
        lines.append(f"{start}{diagnostic.message}".replace('"', ""))
    return "\n".join(lines)


def parse_file(path: str | pathlib.Path, context: ir.Context) -> ir.Module:
    """Parses an ``.mlir`` file.

    Raises:
        CompileError: with the messages of the parser.
        OSError: the file cannot be read.
    """
    # The parser would not say why. A pipe can be opened once only.
    if not (path := pathlib.Path(path)).is_fifo():
        path.open("rb").close()
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise CompileError(
            f"cannot parse {str(path)!a}: expected a file name in UTF-8; "
            "rename the file"
        ) from None
    try:
        with context:
            return ir.Module.parseFile(str(path), context)
    except ir.MLIRError as error:
        raise CompileError(_text(error)) from None


def compile_file(
    path: str | pathlib.Path, target: str | None = None, **options: Any
) -> CompiledKernel:
    """Compiles an ``.mlir`` file; the options are those of :func:`compile_module`.

    Raises:
        CompileError: with the messages of the parser or the compiler.
        OSError: the file cannot be read.
    """
    start = time.perf_counter()
    module = parse_file(path, ir.Context())
    parse_time = 1e3 * (time.perf_counter() - start)
    compiled = compile_module(module, target, **options)
    compiled._parse_time = parse_time
    return compiled
