"""Kernels of the examples, the benchmarks and the tests, with small arguments."""

import dataclasses
import functools
import importlib
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tilews.language as tl
from benchmarks import attention_kernels, cases, kernels
from benchmarks import sparse_kernels as sparse_benchmarks
from benchmarks.kernels import GemmConfig
from kernels import sparse, zoo
from tilews import ir

sys.path.append(str(pathlib.Path(__file__).parents[3] / "examples"))

HOPPER = "sm_90a"
AMPERE = "sm_80"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A kernel, its targets, and arguments of small extents if it is simulated.

    Attributes:
        name: for test reports.
        build: makes the kernel as written for a target.
        targets: chips that have enough memory for it.
        arguments: makes arrays and numbers from a random generator.
    """

    name: str
    build: Callable[[str], ir.Module]
    targets: tuple[str, ...] = (HOPPER, AMPERE)
    arguments: Callable[[np.random.Generator], list] | None = None


def integers(random: np.random.Generator, shape: Any, dtype: Any = np.float16) -> Any:
    """Small integers, for which matmuls are exact."""
    return random.integers(-2, 3, shape).astype("f4").astype(dtype)


# --- Examples ----------------------------------------------------------------------


def _example(name: str, kernel: str = "", **constants: Any) -> Callable:
    found = getattr(importlib.import_module(name), kernel or name)
    return functools.partial(found.build, **constants)


def _products(*shapes: tuple[int, ...], out: Any = np.float16) -> Callable:
    """Arrays of integers, and a result of zeros of the last shape."""
    return lambda random: [
        *(integers(random, shape) for shape in shapes[:-1]),
        np.zeros(shapes[-1], out),
    ]


def _biased(random: np.random.Generator) -> list:
    a, b, c = _products((100, 136), (120, 136), (100, 120))(random)
    return [a, b, integers(random, 120, np.float32), c]


def _masked(shape: tuple[int, ...], *products: tuple[int, ...]) -> Callable:
    def arguments(random: np.random.Generator) -> list:
        a, b, c = _products(*products)(random)
        return [a, b, random.integers(0, 2, shape).astype(bool), c]

    return arguments


def _heads(length: int, depth: int, *more: Any) -> Callable:
    shape = (1, length, 1, depth)
    return lambda random: [*_products(*[shape] * 4)(random), *more]


EXAMPLES = [
    Entry("example-gemm", _example("gemm", T=tl.f16), arguments=_biased),
    Entry(
        "example-custom-pipeline",
        _example("custom_pipeline", "gemm"),
        arguments=_products((72, 136), (136, 72), (72, 72), out=np.float32),
    ),
    Entry(
        "example-block-sparse",
        _example("block_sparse", T=tl.f16, BLOCKS=2),
        arguments=_masked((2, 1, 6), (128, 384), (384, 64), (128, 64)),
    ),
    *(
        Entry(
            f"example-attention{'-causal' * causal}",
            _example("attention", T=tl.f16, causal=causal),
            arguments=_heads(136, 64),
        )
        for causal in (False, True)
    ),
    Entry("example-debug-a-hang", _example("debug_a_hang", "gemm")),
]


# --- Benchmarks ----------------------------------------------------------------------


def _gemm(
    dtype: str,
    layout: str,
    config: GemmConfig,
    divisors: tuple[int, ...] = (16, 16, 16),
) -> Callable:
    kernel = kernels.gemm_kernel(layout, divisors, config.blocks > 0, config.cluster)
    return functools.partial(kernel.build, **kernels.gemm_bindings(dtype, config))


def _attention(causal: bool, config: attention_kernels.AttentionConfig) -> Callable:
    kernel = attention_kernels.attention_kernel(config.blocks > 0)
    bindings = attention_kernels.attention_bindings("f16", causal, config)
    return functools.partial(kernel.build, **bindings)


def _sparse(kind: str, config: GemmConfig) -> Callable:
    kernel = sparse_benchmarks.sparse_kernel(kind, config)
    bindings = sparse_benchmarks.sparse_bindings(kind, "f16", config)
    return functools.partial(kernel.build, **bindings)


_LARGE = (4096, 4096, 4096)
#: The configurations that are measured. Few of the large tiles are simulated.
BENCHMARKS = [
    *(
        Entry(
            f"gemm-{config.label}",
            _gemm("f16", "NN", config),
            (HOPPER,),
            _products((272, 336), (336, 272), (272, 272))
            if config.cluster != (1, 1) or config.blocks == 132
            else None,
        )
        for shape in ((1024, 1024, 1024), _LARGE)
        for config in kernels.gemm_configs(shape, "f16")
    ),
    *(
        Entry(f"gemm-{dtype}-{layout}", _gemm(dtype, layout, config), (HOPPER,))
        for dtype, layout in (("f16", "NT"), ("f16", "TN"), ("e4m3", "NT"))
        for config in kernels.gemm_configs(_LARGE, dtype)[1:2]
    ),
    *(
        Entry(
            f"gemm-{layout}-ragged",
            _gemm("f16", layout, GemmConfig(64, 64, 32, 128, 4), divisors),
            arguments=_products(
                (37, 80) if layout[0] == "T" else (80, 37),
                (71, 37) if layout[1] == "T" else (37, 71),
                (80, 71),
            ),
        )
        for layout in cases.LAYOUTS
        for divisors in [kernels.divisors(cases.RAGGED)]
    ),
    *(
        Entry(
            f"attention-{config.label}-{causal}", _attention(causal, config), (HOPPER,)
        )
        for config in attention_kernels.CONFIGS
        for causal in (False, True)
    ),
    *(
        Entry(f"sparse-{kind}-{config.label}", _sparse(kind, config), (HOPPER,))
        for kind in ("2:4", "blocks")
        for config in sparse_benchmarks.configs(_LARGE, kind)
    ),
]


def _structured(random: np.random.Generator) -> list:
    case = sparse.SparseCase((64, 64, 512), (64, 64, 128))
    a, e, b, _ = case.data()[0]
    return [a, e, b, np.zeros((64, 64), np.float16)]


#: The same kernels in small tiles.
SMALL = [
    *(
        Entry(
            f"gemm-{layout}-small-b{blocks}",
            _gemm("f16", layout, GemmConfig(64, 64, 32, 128, 3, blocks)),
            arguments=_products(
                (160, 80) if layout[0] == "T" else (80, 160),
                (96, 160) if layout[1] == "T" else (160, 96),
                (80, 96),
            ),
        )
        for layout, blocks in (("NN", 0), ("NT", 2), ("TN", 0))
    ),
    *(
        Entry(
            f"attention-small-{causal}-b{blocks}",
            _attention(
                causal, attention_kernels.AttentionConfig(64, 32, 128, 2, blocks)
            ),
            arguments=_heads(128, 128, 0.1),
        )
        for causal, blocks in ((True, 0), (False, 1))
    ),
    Entry(
        "sparse-blocks-small",
        _sparse("blocks", GemmConfig(64, 64, 32, 128, 4)),
        arguments=_masked((1, 1, 7), (64, 224), (224, 128), (64, 128)),
    ),
    Entry(
        "sparse-2:4-small",
        _sparse("2:4", GemmConfig(64, 64, 128, 128, 2)),
        arguments=_structured,
    ),
]


# --- Tests --------------------------------------------------------------------------


def _sparse_data(case: sparse.SparseCase, random: np.random.Generator) -> list:
    return case.data()[0]


SPARSE = [
    Entry(
        f"sp-{case.name}",
        case.build,
        tuple(target for target in (HOPPER, AMPERE) if case.runs_on(target)),
        functools.partial(_sparse_data, case) if case in sparse.SMALL else None,
    )
    for case in (*sparse.SMALL, *sparse.LARGE)
]


def _of_zoo(case: zoo.ZooCase) -> Callable[[str], ir.Module]:
    def build(target: str) -> ir.Module:
        arguments = case.arguments(np.random.default_rng(0))
        constants = case.constants_for(target)
        return case.kernel.build_for(*arguments, target=target, **constants)

    return build


#: These have barriers but no pipelines.
ZOO = [
    Entry(f"zoo-{case.name}", _of_zoo(case), targets, case.arguments)
    for cases_of_zoo, targets in (
        ((*zoo.gemm_cases(), *zoo.other_cases()), (HOPPER, AMPERE)),
        ((*zoo.fp8_cases(), *zoo.fp8_other_cases()), (HOPPER,)),
    )
    for case in cases_of_zoo
]

ALL = [*EXAMPLES, *BENCHMARKS, *SMALL, *SPARSE, *ZOO]
