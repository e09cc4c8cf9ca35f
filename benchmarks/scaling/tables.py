"""The page about compile times, ``docs/scaling.md``, from measured series."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .axes import AXES
from .series import FLOOR, TOTAL, Series

#: The axis along which kernels do not grow: each pass needs an exponent on another one.
MODULE_AXIS = "functions"
#: A pass grows if a kernel of twice the size costs it this factor, or more.
GROWTH = 1.2
#: Exponents above this need a reason.
LIMIT = 1.3
#: The reason of an exponent that has none in `REASONS`.
UNKNOWN = "not known"


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a pass is not linear on some axes; an empty tuple stands for all."""

    flags: tuple[str, ...]
    axes: tuple[str, ...]
    text: str


REASONS: tuple[Reason, ...] = (
    Reason(
        ("canonicalize",),
        ("if depth", "iter args", "channels", "carried depth", "guard depth"),
        (
            "upstream: patterns look at all results or nested bodies again after "
            "each change; 0.1 to 40 us for each pair of values"
        ),
    ),
    Reason(
        ("tile-defer-gemm-waits", "tile-overlap-products"),
        ("depth", "carried depth", "loop buffers"),
        (
            "each loop is searched for matmuls with all loops in it; 6 instructions "
            "for each pair of loops"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("guard depth",),
        (
            "n states, and in each the conjunctions of up to n conditions are made "
            "for n guards; 1.5 us for each state, guard and condition"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("if depth",),
        (
            "a path is copied at each guard, with the conditions of all guards "
            "around it; 1000 instructions for each pair"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("loop buffers",),
        (
            "the accesses that no barrier orders are joined at each loop; 2.6 us for "
            "each pair of a loop and a buffer"
        ),
    ),
    Reason(
        ("tile-plan-shared-memory", "tile-annotate-instructions", "tile-stage-stores"),
        ("loop buffers", "guard depth"),
        (
            "each access to a buffer visits all operations around it; 10 to 2700 "
            "instructions for each pair of an access and a loop or guard"
        ),
    ),
    Reason(
        ("tile-plan-pipeline", "tile-multi-version", "tile-expand-pipeline"),
        ("guard depth",),
        (
            "what a statement of a pipeline needs includes all guards around it; 3000 "
            "to 15000 instructions for each pair of guards"
        ),
    ),
    Reason(
        ("tile-stage-copies", "tile-assign-registers"),
        ("guard depth",),
        (
            "the set of live values is copied at each guard; 1000 to 3500 instructions "
            "for each pair of guards"
        ),
    ),
    Reason(
        (),
        ("depth", "carried depth", "if depth", "loop buffers", "guard depth"),
        (
            "upstream: whether an operation is dead is asked of each one, and looks "
            "at all that it contains; some ns for each pair of nested operations"
        ),
    ),
    Reason(
        ("convert-tile-to-nvvm", "convert-tile-to-rocdl"),
        ("arguments",),
        (
            "the pairs of arguments that must not overlap are listed for launches; "
            "0.2 us for each pair"
        ),
    ),
    Reason(
        ("tile-plan-shared-memory",),
        ("buffers", "barriers"),
        (
            "each place in shared memory is compared with those before it; 60 "
            "instructions for each pair"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("arguments",),
        (
            "each kind of access to an argument is compared with all others; 50 "
            "instructions for each pair"
        ),
    ),
    Reason(
        ("tile-plan-pipeline",),
        ("matmuls",),
        (
            "what each read of a buffer needs is searched back through the "
            "iteration; 3000 instructions for each pair of matmuls"
        ),
    ),
    Reason(
        ("tile-plan-pipeline", "tile-multi-version", "tile-expand-pipeline"),
        ("channels",),
        (
            "each buffer is looked for among all accesses of the loop; some 1000 "
            "instructions for each pair"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("barriers", "role channels"),
        ("each barrier is proved alone, in a walk of the kernel; 1.4 us for each pair"),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("pipelines", "persistent", "trip counts"),
        (
            "8 n states or more, and the work for each grows with the kernel: 5 us "
            "for each pair of a state and a loop"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("pipeline depth",),
        (
            "which of the loops ran is a part of a state: n^2 states, some "
            "microseconds each"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("while depth",),
        (
            "which of the loops ran is a part of a state: 8 n^2 states, and the work "
            "for each grows with the depth: 8 us for each pair of a state and a loop"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("roles",),
        (
            "orders of roles multiply: 2.5 (n/2)^3 states, 60 us each; a limit on "
            "steps ends the proof with tile-verify-0001 after seconds"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("masks",),
        (
            "paths through guards of one channel multiply: 2^(n+1) states, 60 us "
            "each; a limit on steps ends the proof with tile-verify-0001 after "
            "seconds"
        ),
    ),
    Reason(
        ("tile-verify-schedule",),
        ("ifs",),
        ("n barriers, each proved in a walk of the kernel; 0.2 us for each pair"),
    ),
)

_HEAD = f"""<!-- Made by `make scaling`; edit benchmarks/scaling/tables.py. -->

# How compile times grow

`make scaling` compiles kernels of size n/4, n/2 and n along each axis of
`benchmarks/scaling/axes.py`, pass by pass. The exponent of a pass is the binary
logarithm of count(n) / count(n/2), where a count is of the instructions that the pass
executes: 1 for linear growth, 2 for quadratic growth. Passes below {FLOOR:,}
instructions at size n (about 0.02 ms) have no exponent. Every pass has one on an axis
along which a single kernel grows, if its work grows at all.

Callgrind counts the instructions, because times are noisy: the same pass may show 1.1
in one run and 1.6 in the next. Times (CPU times without threads, the shortest of 5 to
20 runs) can grow faster than instructions when the IR outgrows the caches.

Proofs stop at limits, which [verifier.md](verifier.md) lists.

`test_large_kernels.py` compiles long chains and deep nests with a stack of 8 MiB. The
tools refuse text with more than 1024 nested brackets, because MLIR's parser overflows
that stack at 2500 nested loops. In a kernel's Python source, expressions and chains of
`elif` are limited by Python's limit of recursion; deeper ones are an error with a hint.

The tables stop at the LLVM dialect. LLVM's passes are quadratic in the loops, in the
loads and in the stores with guards of one kernel, and nearly cubic in the depth of
loops, because passes on loops visit all blocks of each one. On one core, for sm_90a:

| kernel | seconds at n = 400 | n = 800 | the most costly passes at n = 800 |
| --- | --- | --- | --- |
| n loops in sequence | 2.4 | 10.7 | `LoopRotate` 2.9, `LoopStrengthReduce` 1.8 |
| n nested loops | 2.9 | 19.3 | `LoopLoadElimination` 5.6, `LICM` 4.1 |
| n stores with guards in sequence | 0.3 | 0.8 | `InstCombine` 0.3, `GVN` 0.1 |
| a sum of n arguments | 1.2 | 6.8 | `CodeGenPrepare` 1.3, `MachineSink` 0.7 |

These are passes of LLVM's `-O3`, and tilews changes none of them. Roll such code into
loops.
"""


def render(found: list[Series]) -> str:
    """The whole page."""
    return "\n".join([_HEAD, render_tables(found)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)])


def find_unmeasured(found: list[Series]) -> list[str]:
    """The passes that grow with kernels, and have no exponent on any such axis."""
    growing: dict[str, bool] = {}
    for series in found:
        if series.axis == MODULE_AXIS:
            continue
        half, full = series.instructions
        is_measured = growing.get(series.flag) is False or series.exponent is not None
        if is_measured or full > GROWTH * half:
            growing[series.flag] = not is_measured
    return [flag for flag, is_unmeasured in growing.items() if is_unmeasured]


def find_reason(series: Series) -> str:
    """One line on an exponent above the limit."""
    for reason in REASONS:
        if (not reason.flags or series.flag in reason.flags) and (
            not reason.axes or series.axis in reason.axes
        ):
            return reason.text
    return UNKNOWN


def _worst(found: list[Series]) -> dict[tuple[str, str], Series]:
    """The series with the largest exponent, by flag and axis."""
    worst: dict[tuple[str, str], Series] = {}
    for series in found:
        place = (series.flag, series.axis)
        before = worst.get(place)
        if before is None or (series.exponent or 0) > (before.exponent or 0):
            worst[place] = series
    return worst


def _cell(series: Series | None) -> str:
    if series is None:
        return ""
    if series.exponent is None:
        return "·"
    text = f"{series.exponent:.1f}"
    return f"**{text}**" if series.exponent > LIMIT else text


def _name(flag: str) -> str:
    return flag if flag == TOTAL else f"`{flag}`"


def _exponents(found: list[Series]) -> str:
    axes = [axis.name for axis in AXES if any(s.axis == axis.name for s in found)]
    flags = dict.fromkeys(s.flag for s in found if s.flag != TOTAL)
    worst = _worst(found)
    rows = [
        [_name(flag), *(_cell(worst.get((flag, axis))) for axis in axes)]
        for flag in [*flags, TOTAL]
    ]
    return _table(["pass", *axes], rows)


def _above(found: list[Series]) -> str:
    rows = [
        [
            _name(s.flag),
            s.axis,
            s.chip,
            str(s.size),
            f"{1e3 * s.seconds[-1]:.0f}",
            f"{s.instructions[-1] / 1e6:.0f}",
            f"{s.exponent:.1f}",
            find_reason(s),
        ]
        for s in _worst(found).values()
        if s.exponent is not None and s.exponent > LIMIT and s.flag != TOTAL
    ]
    head = ["pass", "axis", "chip", "n", "ms at n", "million instructions"]
    return _table([*head, "exponent", "reason"], sorted(rows))


def _totals(found: list[Series]) -> str:
    meanings = {axis.name: axis.meaning for axis in AXES}
    rows = [
        [
            s.axis,
            meanings[s.axis],
            s.chip,
            str(s.size),
            *(f"{1e3 * seconds:.0f}" for seconds in s.seconds),
            f"{s.instructions[-1] / 1e6:.0f}",
            _cell(s),
        ]
        for s in found
        if s.flag == TOTAL
    ]
    head = ["axis", "n is the number of", "chip", "n", "ms at n/4", "n/2", "n"]
    return _table([*head, "million instructions", "exponent"], rows)


def render_tables(found: list[Series]) -> str:
    """The tables alone."""
    return "\n\n".join(
        [
            "## Whole pipelines",
            _totals(found),
            "## Exponents",
            _exponents(found),
            f"## Exponents above {LIMIT}",
            _above(found),
        ]
    )
