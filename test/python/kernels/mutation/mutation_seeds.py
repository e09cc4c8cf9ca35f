"""The kernels whose random mutants `tilews-mutate --random` judges.

They are those of :mod:`kernels.mutation_corpus`, schedules that were written by hand,
and kernels with operations that those do not have.
"""

import functools
import pathlib
import re
from collections.abc import Iterator

import numpy as np

from kernels import (
    gemm,
    mutation_corpus,
    ping_pong,
    pipelined_masks,
    pipelined_views,
    role_copies,
    roles,
)
from kernels.mutation import mutation_gathers, mutation_roles
from kernels.pipelined_case import PipelinedCase, integers
from tilews import ir, sim
from tilews.mutate import Subject

HOPPER = "sm_90a"
_INPUTS = pathlib.Path(__file__).parents[3] / "lit/Verifier/Inputs"

#: Kernels of the tests of the verifier. Left out are those that have to be planned
#: first and cannot be, and those that read what was never written.
_FILES = """
alternating_roles attention attention_channels copied_mask copy_groups
cp_async_arrivals guarded large_steps late_release mask_ahead masked_gemm memory_plan
moving_bound nested_loops odd_iterations one_role peeled persistent_gemm
persistent_gemm_sm80 planned_matmul scratch shared_atomics shared_copies shared_mask
single_use stores_then_copies stores_to_slots two_buffers two_channels two_halves
two_slots
""".split()
#: The numbers that these kernels are called with, such as two trip counts.
_NUMBERS = ((5, 3), (1, 4), (0, 2), (4, 0), (7, 1))
#: The launches: with masks at random, all true and all false, and with larger integers
#: and other extents. The extents are enough for these numbers, and divisible.
_VARIANTS = {
    "": _NUMBERS,
    "enabled": _NUMBERS[:2],
    "disabled": _NUMBERS[:1],
    "larger": ((5, 3), (12, 2)),
    "fewer": ((7, 3),),
}
_EXTENTS = {"larger": 192, "fewer": 64}
_EXTENT = 128
_DTYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "index": np.int64}


def _read(text: str, target: str) -> ir.Module:
    """The kernel of a text, with a grid of one block or one cluster."""
    module = ir.Module.parse(text, context=ir.Context())
    kernel = sim.find_kernel(module, None)
    if "tile.grid" not in kernel.attributes:
        types = _types_of(kernel)
        symbols = sum(t.count("?") if "memref" in t else t == "index" for t in types)
        names = ", ".join(f"s{i}" for i in range(symbols))
        grid = 2 if "tile.cluster" in kernel.attributes else 1
        with module.context:
            kernel.attributes["tile.grid"] = ir.Attribute.parse(
                f"affine_map<()[{names}] -> ({grid})>"
            )
    return module


def _types_of(kernel: ir.Operation) -> list[str]:
    type_ = ir.TypeAttr(kernel.attributes["function_type"]).value
    return [str(each) for each in ir.FunctionType(type_).inputs]


@functools.cache
def _types_of_text(text: str) -> list[str]:
    return _types_of(sim.find_kernel(ir.Module.parse(text, ir.Context()), None))


def _make_argument(
    type_: str, variant: str, numbers: list[int], random: np.random.Generator
):
    """An argument of a type; integers are taken from `numbers`."""
    if "memref" not in type_:
        return numbers.pop(0) if type_ == "index" else 2.0
    extents, dtype = re.match(r"memref<((?:[\d?]+x)*)(\w+)", type_).groups()
    extent = _EXTENTS.get(variant, _EXTENT)
    shape = [extent if e == "?" else int(e) for e in extents.split("x")[:-1]]
    if dtype == "i1":
        return (random.integers(0, 4, shape) < 2) & (variant != "disabled")
    if dtype in ("i32", "index"):
        low, high = {"larger": (0, 16), "disabled": (0, 1)}.get(variant, (-3, 4))
        return random.integers(low, high, shape).astype(_DTYPES[dtype])
    return random.integers(-3, 4, shape).astype(_DTYPES[dtype])


def _enable(argument):
    """A mask of integers or flags that enables everything; another argument itself."""
    is_mask = getattr(argument, "dtype", None) in (bool, np.int32)
    return np.ones_like(argument) if is_mask else argument


def _disable(argument):
    """A mask of flags that enables nothing; another argument itself."""
    is_mask = getattr(argument, "dtype", None) in (bool,)
    return np.zeros_like(argument) if is_mask else argument


def _of_file(name: str) -> Subject:
    text = (_INPUTS / f"{name}.mlir").read_text()

    def arguments(variant: str, numbers: tuple[int, ...], random) -> list:
        left = list(numbers)
        made = [
            _make_argument(each, variant, left, random) for each in _types_of_text(text)
        ]
        return list(map(_enable, made)) if variant == "enabled" else made

    launches = {
        " ".join(map(str, [*each, variant])).strip(): functools.partial(
            arguments, variant, each
        )
        for variant, chosen in _VARIANTS.items()
        for each in chosen
    }
    chip = re.search(r'chip = "(\w+)"', text)[1]
    return Subject(f"lit-{name}", functools.partial(_read, text), chip, launches)


def _of_roles() -> Iterator[Subject]:
    """Roles by hand, in the language."""
    for kernel, make in (
        (mutation_roles.relay, mutation_roles.relay_arguments),
        (mutation_roles.two_readers, mutation_roles.two_readers_arguments),
        (mutation_roles.narrow_guards, mutation_roles.narrow_guards_arguments),
        (mutation_roles.histogram, mutation_roles.histogram_arguments),
    ):
        launches = {str(steps): make(steps) for steps in (5, 7, 2, 1, 0)}
        yield Subject(kernel.__name__, kernel.build, HOPPER, launches)
    for kernel, _ in role_copies.KERNELS:
        launches = {str(k): functools.partial(_sums, k) for k in (320, 192, 64, 16)}
        yield Subject(kernel.__name__, kernel.build, HOPPER, launches)
    for kernel in (roles.by_roles, roles.persistent_roles):
        is_masked = kernel is roles.persistent_roles
        launches = {
            " ".join(map(str, each)): functools.partial(_matmul, is_masked, *each)
            for each in ((136, 48, 208), (64, 112, 96), (32, 16, 32))
        }
        if is_masked:
            first = launches["136 48 208"]
            launches["enabled"] = lambda r, first=first: list(map(_enable, first(r)))
            launches["disabled"] = lambda r, first=first: list(map(_disable, first(r)))
        yield Subject(kernel.__name__, kernel.build, HOPPER, launches)


def _sums(k: int, random: np.random.Generator) -> list:
    a, d = integers(random, (64, k)), integers(random, (64, 64))
    return [a, d, np.zeros((64, 64), np.float32)]


def _matmul(is_masked: bool, m: int, n: int, k: int, random: np.random.Generator):
    blocks = (-(-m // gemm.BM), -(-k // roles.BK))
    mask = [random.integers(0, 4, blocks) < 2] if is_masked else []
    a, b = integers(random, (m, k)), integers(random, (k, n))
    return [a, b, *mask, np.zeros((m, n), np.float32)]


#: Some cases of each kernel, and fewer columns of their tiles, or fewer iterations.
_CASES = {
    "view-raw-bytes": (256, 192, 128, 64, 0),
    "view-prelude": (256, 192, 128, 64, 0),
    "view-parts": (192, 128, 64, 0),
    "mask-of-a-tile": (80, 48, 32, 16, 0),
    "mask-and-tile": (80, 48, 32, 16, 0),
    "any-of-a-tile": (80, 48, 32, 16, 0),
    "mask-of-an-iteration": (),
    "guarded-by-sum": (3, 1, 0),
    "bounded-by-sum": (3, 1, 0),
}


def _of_cases() -> Iterator[Subject]:
    """Kernels that are pipelined."""
    for case in (*pipelined_views.CASES, *pipelined_masks.CASES):
        if case.name not in _CASES:
            continue
        build = functools.partial(case.kernel.build, **case.constants)
        launches = {
            "": case.arguments,
            "other": lambda _, case=case: case.arguments(np.random.default_rng(1)),
            "enabled": lambda r, case=case: list(map(_enable, case.arguments(r))),
            **{
                str(size): functools.partial(_shorten, case, size)
                for size in _CASES[case.name]
            },
        }
        if case.name.endswith("by-sum"):  # Sums enable a block that waits for all.
            launches["zeros"] = lambda r, case=case: _zero(case.arguments(r))
        if case.name == "mask-of-an-iteration":  # No iteration enters its guard.
            launches["disabled"] = lambda r, case=case: _zero(case.arguments(r), "i")
        for target in (HOPPER, "sm_80"):
            yield Subject(case.name, build, target, launches, case.tolerance)


def _zero(arguments: list, kinds: str = "biuf") -> list:
    """The arguments with zeros in all arrays of some kinds of element types."""
    return [
        a * 0 if isinstance(a, np.ndarray) and a.dtype.kind in kinds else a
        for a in arguments
    ]


def _shorten(case: PipelinedCase, size: int, random: np.random.Generator) -> list:
    """Arguments with fewer columns of the tiles, or with a smaller number, and with
    masks that enable everything."""
    arguments = list(map(_enable, case.arguments(random)))
    if any(isinstance(each, int) for each in arguments):
        return [size if isinstance(each, int) else each for each in arguments]
    halves = [each for each in arguments if each.dtype == np.float16]
    columns = max(extent for each in halves for extent in each.shape)
    return [
        each[tuple(slice(size if e == columns else e) for e in each.shape)].copy()
        for each in arguments
    ]


def _of_ping_pong() -> Iterator[Subject]:
    """Two roles that compute tiles alternately."""
    matmuls = "one-tile two-tiles odd-tiles no-steps one-step".split()
    cases = {case.name: case for case in ping_pong.CASES}
    guarded = [
        ping_pong.make_guarded(f"share-{share}", share, 1) for share in (0.5, 0.0, 1.0)
    ]
    for name, group in (
        ("gemm", [cases[each] for each in matmuls]),
        ("guarded", guarded),
        ("chained", [cases["chained"]]),
        ("counted", [cases["counted"]]),
    ):
        build = functools.partial(group[0].kernel.build, **group[0].constants)
        launches = {case.name: lambda _, case=case: case.arguments() for case in group}
        yield Subject(f"ping-pong-{name}", build, HOPPER, launches)


SUBJECTS = [
    *mutation_corpus.SUBJECTS,
    *map(_of_file, _FILES),
    *_of_roles(),
    *_of_cases(),
    *_of_ping_pong(),
    *mutation_gathers.subjects(),
]
