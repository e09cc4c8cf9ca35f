"""The ``tilews`` command."""

from __future__ import annotations

import pathlib
import sys
import types
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from ._command_line import Group, OutputFile, parse_extents, parse_pairs
from ._support import files
from ._support.source_modules import load_module
from .bundles.bundle_command import bundle_command
from .disk_cache.command import cache_command

if TYPE_CHECKING:
    from .compiler import CompiledKernel

_FORMS = ("mlir", "llvm", "ptx", "cubin", "asm", "object", "hsaco", "manifest")
_SUFFIXES = {form: form for form in _FORMS} | {
    "json": "manifest",
    "ll": "llvm",
    "o": "object",
    "s": "asm",
}


@click.group(cls=Group)
@click.version_option(__version__, prog_name="tilews")
def main() -> None:
    """Compile and inspect tile kernels."""


main.add_command(bundle_command)
main.add_command(cache_command)


def _is_python(source: str) -> bool:
    """Whether a source is ``file.py`` or ``file.py:kernel``."""
    if source.endswith(".py"):
        return True
    return ".py:" in source and not pathlib.Path(source).is_file()


def _is_kernel(value: Any) -> bool:
    try:
        return callable(value.compile) and not isinstance(value, types.ModuleType)
    except Exception:  # Objects of the user may raise anything.
        return False


def _kernel_of_python(
    source: str, target: str | None, values: dict[str, Any], line_info: bool
) -> Any:
    """Compiles ``file.py:kernel``."""
    path, name = source, ""
    if not source.endswith(".py"):
        path, _, name = source.rpartition(".py:")
        path += ".py"
    module = load_module(path)
    kernels = {k: v for k, v in vars(module).items() if _is_kernel(v)}
    if name not in kernels:
        known = ", ".join(kernels) or "none"
        raise click.ClickException(
            f"{path} has no kernel '{name}', only: {known}"
            if name
            else f"name the kernel, as in {path}:NAME; {path} has: {known}"
        )
    return kernels[name].compile(target=target, line_info=line_info, **values)


_CONSTANTS = {"None": None, "True": True, "False": False}


def _parse_constant(text: str) -> Any:
    """A number, None, a bool, an element type such as tl.f16, or the text itself."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith("tl."):
        from . import language

        value = getattr(language, text.removeprefix("tl."), None)
        if not isinstance(value, language.DType):
            raise click.BadParameter(
                f"expected an element type such as tl.f16, found '{text}'"
            )
        return value
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _parse_constants(pairs: tuple[str, ...]) -> dict[str, Any]:
    """The values of ``BM=128``, ``T=tl.f16`` and the like."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"expected NAME=VALUE, found '{pair}'")
        if name in ("target", "line_info"):
            raise click.BadParameter(
                f"'{name}' is no constant of a kernel: use --{name.replace('_', '-')}"
            )
        values[name] = _parse_constant(text)
    return values


def _compile_source(
    source: str,
    target: str | None,
    constants: tuple[str, ...],
    *,
    kernel: str | None = None,
    index_bitwidth: int = 32,
    line_info: bool = True,
) -> CompiledKernel:
    """Compiles an .mlir file or ``file.py:kernel``."""
    from .compiler import compile_file

    if _is_python(source):
        if kernel is not None:
            raise click.UsageError(
                "--kernel is for .mlir files; name a kernel in Python as in "
                f"{source.partition('.py')[0]}.py:{kernel}"
            )
        values = _parse_constants(constants)
        compiled: CompiledKernel = _kernel_of_python(source, target, values, line_info)
        return compiled
    if constants:
        raise click.UsageError("-D is for kernels in Python")
    compiled = compile_file(
        source,
        target,
        kernel=kernel,
        index_bitwidth=index_bitwidth,
        line_info=line_info,
    )
    if kernel is not None:
        # A name that the file does not have is an error for each form of the code.
        _ = compiled.manifest
    return compiled


def _content(compiled: CompiledKernel, form: str) -> bytes:
    import json

    if form == "manifest":
        return (json.dumps(compiled.manifest, indent=2) + "\n").encode()
    content = compiled.mlir() if form == "mlir" else getattr(compiled, form)
    return content.encode() if isinstance(content, str) else content


def _report(compiled: CompiledKernel) -> None:
    """Prints the kernel's resources and the time of each step on stderr."""
    for message in compiled.messages:
        click.echo(message, err=True)
    for name, figure in (compiled.resources or {}).items():
        click.echo(f"{name}: {figure}", err=True)
    for stage, milliseconds in compiled.timings.items():
        click.echo(f"{milliseconds:8.2f} ms  {stage}", err=True)


@main.command("compile")
@click.argument("source")
@click.option("--target", help="Chip or GPU, such as sm_90a, gfx942 or H100.")
@click.option(
    "--to",
    "form",
    type=click.Choice(_FORMS),
    help="What to make; by default the suffix of the output file, or the binary.",
)
@click.option("-o", "--output", default="-", help="Output file; by default stdout.")
@click.option("--kernel", help="Kernel of the manifest; by default the only one.")
@click.option(
    "--index-bitwidth",
    type=click.Choice(["32", "64"]),
    default="32",
    help="64 for arrays of 2^31 elements and more.",
)
@click.option(
    "-D",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    help="A compile-time constant of a Python kernel: a number, True, False, None, an "
    "element type such as tl.f16, or a text.",
)
@click.option(
    "--line-info/--no-line-info",
    default=True,
    help="Whether the code says which source line each instruction is from; by "
    "default it does.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print resources and times.")
def compile_command(
    source: str,
    target: str | None,
    form: str | None,
    output: str,
    kernel: str | None,
    index_bitwidth: str,
    constants: tuple[str, ...],
    line_info: bool,
    verbose: bool,
) -> None:
    """Compile SOURCE, an .mlir file in any phase or file.py:kernel.

    A binary or assembly written to a file gets its launch manifest beside it, in a
    file of the same name that ends in .json; tilews.runtime.load takes both.

    \b
    tilews compile gemm.mlir --target sm_90a -o gemm.cubin
    tilews compile gemm.py:gemm --target gfx942 -D T=tl.f16 -D BM=64 --to asm
    """
    from .errors import CompileError

    if output != "-":
        OutputFile().convert(output, None, None)
    form = form or _SUFFIXES.get(pathlib.Path(output).suffix.removeprefix("."))
    try:
        compiled = _compile_source(
            source,
            target,
            constants,
            kernel=kernel,
            index_bitwidth=int(index_bitwidth),
            line_info=line_info,
        )
        form = form or ("cubin" if compiled.vendor == "nvidia" else "hsaco")
        content = _content(compiled, form)
        launchable = form in ("ptx", "cubin", "asm", "hsaco")
        if output == "-":
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        elif launchable:
            compiled.save(output, form)
        else:
            files.write(output, content)
        if verbose:
            _report(compiled)
    except (CompileError, OSError) as error:
        raise click.ClickException(str(error)) from None


@main.command("cycles")
@click.argument("source")
@click.option("--target", required=True, help="Chip: gfx90a, gfx942 or gfx950.")
@click.option(
    "-D",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    help="A compile-time constant of a Python kernel.",
)
@click.option(
    "--arg",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A number, or an array in a .npy file; other arrays are random.",
)
@click.option(
    "--dim",
    "extents",
    multiple=True,
    metavar="NAME=EXTENT",
    help="An extent of random arrays, such as M=512 or A.0=512.",
)
@click.option("--seed", default=0, help="Of random arrays.")
@click.option(
    "--block",
    type=click.IntRange(min=0),
    nargs=3,
    default=(0, 0, 0),
    metavar="X Y Z",
    help="The block to execute; by default the first one.",
)
@click.option(
    "--blocks",
    type=click.IntRange(min=1),
    help="Blocks of a compute unit at the same time; by default as many as fit.",
)
@click.option(
    "--latency",
    "latencies",
    type=click.IntRange(min=1),
    multiple=True,
    help="Of global memory, in cycles; can be repeated. By default 500 and 790.",
)
def cycles_command(
    source: str,
    target: str,
    constants: tuple[str, ...],
    given: tuple[str, ...],
    extents: tuple[str, ...],
    seed: int,
    block: tuple[int, int, int],
    blocks: int | None,
    latencies: tuple[int, ...],
) -> None:
    """Model how busy SOURCE keeps the matrix units of an AMD GPU.

    SOURCE is as for `tilews compile`. One block is executed on the simulator of machine
    code, and replayed on a model of a compute unit. The figures rank schedules of one
    kernel; they do not predict its speed.

    \b
    tilews cycles gemm.py:gemm --target gfx942 -D T=tl.f16 --dim K=1024
    tilews cycles gemm.mlir --target gfx950 --latency 500 --blocks 1
    """
    from . import ir, sim
    from .errors import CompileError
    from .runtime import LaunchError
    from .sim import amdgcn
    from .sim._arguments import make_arguments

    try:
        compiled = _compile_source(source, target, constants)
        with ir.Context():
            module = ir.Module.parse(compiled.mlir("tile"))
            arguments = make_arguments(
                sim.find_kernel(module, compiled.manifest["kernel"]),
                parse_pairs(given, "NAME=VALUE"),
                parse_extents(extents),
                seed,
            )
        recording = amdgcn.record(compiled, list(arguments.values()), block)
        for latency in latencies or amdgcn.GLOBAL_LATENCIES:
            click.echo(amdgcn.model_cycles(recording, latency, blocks))
    except (CompileError, LaunchError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except (amdgcn.MachineError, amdgcn.KernelTrap) as error:
        raise click.ClickException(f"the simulator of machine code: {error}") from None
    except ValueError as error:
        # Arguments or a block do not fit the kernel.
        raise click.UsageError(str(error)) from None


@main.command("targets")
def targets_command() -> None:
    """List the chips that kernels can be compiled for."""
    from rich.console import Console
    from rich.table import Table

    from .compiler import targets

    features = ("cp_async", "tma", "wgmma", "mfma", "wmma")
    table = Table("chip", "vendor", "warp", "shared KiB", "instructions", box=None)
    for target in targets():
        table.add_row(
            target["chip"],
            target["vendor"],
            str(target["warp_size"]),
            str(target["max_shared_bytes"] // 1024),
            " ".join(f for f in features if target[f]),
        )
    try:
        Console().print(table)
    except OSError as error:
        raise click.ClickException(str(error)) from None


def _forward(tool: str, arguments: tuple[str, ...]) -> None:
    from ._tools import run

    run(tool, arguments)


_PASS_ON = {"ignore_unknown_options": True, "help_option_names": []}


@main.command("opt", context_settings=_PASS_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def opt_command(arguments: tuple[str, ...]) -> None:
    """Run passes on an .mlir file: tilews-opt."""
    _forward("tilews-opt", arguments)


@main.command("translate", context_settings=_PASS_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def translate_command(arguments: tuple[str, ...]) -> None:
    """Translate an .mlir file: tilews-translate."""
    _forward("tilews-translate", arguments)
