"""All kernels of the tests, the examples and the benchmarks, by name."""

import functools
import pathlib
from collections.abc import Callable, Iterator

import tilews.language as tl
from benchmarks import kernels as benchmarks
from kernels import (
    gemm,
    hopper,
    mutation_corpus,
    ping_pong,
    pipelined_zoo,
    role_copies,
    roles,
    scheduled,
)
from kernels.cooperating import split_k
from tilews import ir

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"

#: Makes the module of a kernel, as the kernel is written, for a chip.
Build = Callable[[str], ir.Module]


def _only_for(targets: tuple[str, ...], build: Build, target: str) -> ir.Module:
    if target not in targets:
        raise ValueError(f"compiled for {', '.join(targets)} only")
    return build(target)


def _build_hopper(options: dict, target: str) -> ir.Module:
    with ir.Context():
        module = ir.Module.parse(hopper.gemm(**options))
        hopper.lower(module)
        return module


def _parse(path: pathlib.Path, target: str) -> ir.Module:
    with ir.Context() as context:
        return ir.Module.parseFile(str(path), context)


def _softmaxes() -> Iterator[tuple[str, Build]]:
    yield "example-softmax", scheduled._example("softmax")
    for config in benchmarks.softmax_configs((4096, 8192)):
        kernel = benchmarks.softmax_row if config.whole else benchmarks.softmax_tiles
        yield (
            f"softmax-{config.columns}-t{config.threads}",
            functools.partial(
                kernel.build, T=tl.f16, COLUMNS=config.columns, threads=config.threads
            ),
        )


def _by_hand() -> Iterator[tuple[str, Build]]:
    """Roles, split loops and schedules that are written by hand."""
    for name, options in hopper.VARIANTS.items():
        build = functools.partial(_build_hopper, options)
        yield f"hopper-{name}", functools.partial(_only_for, ("sm_90a",), build)
    for kernel in (roles.by_roles, roles.persistent_roles):
        yield f"roles-{kernel.name}", kernel.build
    for kernel, _ in role_copies.KERNELS:
        yield f"role-copies-{kernel.name}", kernel.build
    for kernel, constants in (
        (split_k.gemm, {"SPLITS": 3}),
        (split_k.persistent, {"SPLITS": 2}),
        (split_k.streamed, {"BLOCKS": 5}),
    ):
        yield f"split-{kernel.name}", functools.partial(kernel.build, **constants)


def _builds() -> Iterator[tuple[str, Build]]:
    yield "plain-gemm", gemm.gemm.build
    for path in sorted(EXAMPLES.glob("*.mlir")):
        yield f"file-{path.stem}", functools.partial(_parse, path)
    for entry in scheduled.ALL:
        build = entry.build
        if entry in scheduled.BENCHMARKS:  # They are large, so compilation is slow.
            build = functools.partial(_only_for, ("sm_90a", "gfx942"), build)
        yield entry.name, build
    for group, cases in (
        ("pipelined", pipelined_zoo.CASES),
        ("ping-pong", ping_pong.CASES),
    ):
        for case in cases:
            build = functools.partial(case.kernel.build, **case.constants)
            yield f"{group}-{case.name}", build
    for kernel in (mutation_corpus.wide, mutation_corpus.sequential):
        yield f"mutated-{kernel.name}", kernel.build
    yield from _softmaxes()
    yield from _by_hand()


def builds() -> dict[str, Build]:
    """The functions that make each kernel, by the kernel's name."""
    found: dict[str, Build] = {}
    for title, build in _builds():
        name = title.replace(" ", "-")
        if name in found:
            raise ValueError(f"two kernels have the name {name!r}")
        found[name] = build
    return found
