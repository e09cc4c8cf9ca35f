"""Loops of a kernel: run-time, pipelined, unrolled, and over output tiles."""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import LanguageError
from ..arithmetic import is_number
from ..integers import as_integer, check_integer
from ..unloaded import load_hint
from ..values import Scalar, Value, describe


@dataclasses.dataclass(frozen=True)
class Range:
    """Bounds of a run-time loop, made by :func:`range`."""

    start: Any
    stop: Any
    step: Any
    num_stages: int | None
    split_k: int | None = None
    stream_k: bool = False
    stage: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    def __iter__(self) -> Iterator[int]:
        """The indices as Python integers, for comprehensions and Python functions."""
        bounds = self.start, self.stop, self.step
        return iter(builtins.range(*map(operator.index, bounds)))


@dataclasses.dataclass(frozen=True)
class Persistent:
    """Extents of a loop over output tiles, made by :func:`persistent`."""

    extents: tuple[Any, ...]
    rasterize: tuple[str, int] | None
    ping_pong: bool

    def __iter__(self) -> Iterator[Any]:
        """Refuses what is no loop of a kernel, where the tiles have coordinates."""
        raise LanguageError("tl.persistent works only in a for loop of a kernel")


def range(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    num_stages: int | None = None,
    split_k: int | None = None,
    stream_k: bool = False,
) -> Range:
    """The indices of a run-time loop: ``for k in tl.range(n):``.

    Python's ``range`` in a kernel means the same. Bounds are integers or integer
    scalars; the step is positive.

    Args:
        start, stop, step: as in Python; integers or integer scalars.
        num_stages: the number of stages of the loop's software pipeline.
        split_k: the number of blocks that share the iterations. The loop may only
            accumulate, starting with zeros, and its sums must go to global memory
            through :func:`atomic_add`, to a buffer that the caller filled with zeros.
        stream_k: the blocks of the launch share the iterations of all tiles of a
            :func:`persistent` loop evenly. The conditions of `split_k` apply, and the
            bounds must not depend on the tile.

    Raises:
        LanguageError: a bound is no integer, the step is not positive, or an option has
            the wrong type or excludes another one.

    Example:
        >>> total = tl.zeros((2,), tl.i32)
        >>> for i in tl.range(1, 5):
        ...     total += i * tl.arange(2)
        >>> total
        [0, 10]
    """
    if stop is None:
        start, stop = 0, start
    for bound in (start, stop, step):
        is_int = isinstance(bound, int) or is_number(bound)
        if isinstance(bound, float) or not (
            is_int or (isinstance(bound, Scalar) and bound.dtype.is_int)
        ):
            raise LanguageError(
                f"tl.range: expected integers, found {describe(bound)}",
                load_hint(bound),
            )
    if is_number(step) and step < 1:
        raise LanguageError(
            f"tl.range: the step has to be positive, found {step}",
            "count upwards and compute the index: n - 1 - i",
        )
    if num_stages is not None:
        num_stages = check_integer(num_stages, "tl.range: num_stages")
    if split_k is not None:
        split_k = check_integer(split_k, "tl.range: split_k")
    if not isinstance(stream_k, bool):
        raise LanguageError(
            f"tl.range: stream_k is True or False, found {describe(stream_k)}"
        )
    if stream_k and split_k is not None:
        raise LanguageError(
            "tl.range: split_k and stream_k both share the loop's iterations",
            "use one of them",
        )
    return Range(start, stop, step, num_stages, split_k, stream_k)


def pipelined(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    num_stages: int,
    stage: Sequence[int] | None = None,
    order: Sequence[int] | None = None,
) -> Range:
    """The indices of a pipelined loop: ``for k in tl.pipelined(n, num_stages=3):``.

    Like :func:`range`, but the caller can give the plan of the pipeline. Iteration `t`
    of the pipelined loop executes each statement for iteration ``t - stage`` of the
    original loop, in ascending `order`. A plan covers the statements that copy, store
    or make fragments. Statements in an ``if`` around copies count one by one; any other
    compound statement counts as one.

    For example, ``stage=(0, 2), order=(1, 0)`` starts the copy of iteration `t` after
    the computation of iteration ``t - 2``.

    Args:
        start, stop, step: as for :func:`range`.
        num_stages: the number of stages; no stage and no number of versions of a buffer
            exceeds it.
        stage: a number from 0 to `num_stages` for each statement, in program order.
        order: the place of each statement, a permutation of 0, 1, ...

    Raises:
        LanguageError: `stage` or `order` is missing or is no list of such numbers.
        KernelError: the lists do not fit the body, or a statement would come before
            one that it depends on.

    Example:
        @tilews.kernel
        def sum_tiles(A: tl.Tensor["64, K:8", tl.f16], C: tl.Tensor["64, 64", tl.f32]):
            tl.grid(1)
            As = tl.alloc_shared((64, 64), tl.f16)
            acc = tl.zeros((64, 64), tl.f32)
            n = tl.cdiv(A.shape[1], 64)
            for k in tl.pipelined(n, num_stages=3, stage=[0, 2], order=[0, 1]):
                tl.copy(A[0, k * 64], As)  # stage 0
                acc += tl.load(As).to(tl.f32)  # stage 2
            C[0, 0] = acc

        a, c = np.ones((64, 512), np.float16), np.zeros((64, 64), np.float32)
        sum_tiles(a, c)
        assert (c == 8).all()
    """
    bounds = range(start, stop, step, num_stages=num_stages)
    if num_stages is None:
        raise LanguageError("tl.pipelined: num_stages is missing")
    if (stage is None) != (order is None):
        raise LanguageError("tl.pipelined: stage and order go together")
    if stage is None:
        return bounds
    stage, order = _numbers(stage, "stage"), _numbers(order, "order")
    if max(stage, default=0) > num_stages:
        raise LanguageError(
            f"tl.pipelined: a stage is at most num_stages = {num_stages}, found "
            f"{list(stage)}"
        )
    return dataclasses.replace(bounds, stage=stage, order=order)


def _numbers(given: Any, name: str) -> tuple[int, ...]:
    """The stages or orders of a plan."""
    if isinstance(given, (list, tuple)):
        found = [as_integer(number) for number in given]
        numbers = [number for number in found if number is not None and number >= 0]
        if len(numbers) == len(given):
            return tuple(numbers)
    raise LanguageError(
        f"tl.pipelined: {name} is a list of integers from 0 on, found {given!r}"
    )


def static_range(*bounds: int) -> Sequence[int]:
    """The indices of a loop that is unrolled when the kernel is built.

    Args:
        bounds: as for Python's ``range``.

    Raises:
        LanguageError: a bound is known only at run time.

    Example:
        >>> rows = tuple(tl.arange(3) + i for i in tl.static_range(2))
        >>> tl.stack(rows)
        [[0, 1, 2], [1, 2, 3]]
    """
    for bound in bounds:
        if isinstance(bound, Value):
            raise LanguageError(
                "tl.static_range: bounds have to be known when the kernel is built",
                "use tl.range for a run-time loop",
            )
    # A plain range would be a run-time loop.
    return _StaticRange(builtins.range(*bounds))


class _StaticRange(tuple[int, ...]):
    """Numbers to unroll over."""


def persistent(
    *extents: Any,
    order: str | None = None,
    panel: int | None = None,
    ping_pong: bool = False,
) -> Persistent:
    """The output tiles of a block: ``for x, y in tl.persistent(nx, ny):``.

    Block `b` of `n` computes the tiles `b`, `b + n`, ... By default the first
    coordinate of a tile changes fastest.

    Args:
        extents: one to three numbers of tiles.
        order, panel: number the tiles in panels of `panel` rows ('row') or columns
            ('col') of tiles.
        ping_pong: whether two groups of the kernel's threads compute tiles alternately,
            so that one group stores its results while the other multiplies. No tile may
            read what the kernel writes for another one.

    Raises:
        LanguageError: an argument has the wrong type, or only one of `order` and
            `panel` is given.

    Example:
        @tilews.kernel
        def number_tiles(C: tl.Tensor["M, N", tl.i32]):
            tl.grid(4)  # four blocks for any number of tiles
            nx, ny = tl.cdiv(C.shape[1], 8), tl.cdiv(C.shape[0], 8)
            for x, y in tl.persistent(nx, ny):
                C[y * 8, x * 8] = tl.full((8, 8), tl.block_id().to(tl.i32), tl.i32)

        c = np.zeros((24, 16), np.int32)
        number_tiles(c)  # two tiles in a row, three rows of tiles
        assert (c[::8, ::8] == [[0, 1], [2, 3], [0, 1]]).all()
    """
    if not 1 <= len(extents) <= 3:
        raise LanguageError(f"tl.persistent takes 1 to 3 extents, found {len(extents)}")
    if (order is None) != (panel is None):
        raise LanguageError("tl.persistent: order and panel go together")
    if not isinstance(ping_pong, bool):
        raise LanguageError(
            f"tl.persistent: ping_pong is True or False, found {describe(ping_pong)}"
        )
    rasterize = None if order is None or panel is None else (order, panel)
    return Persistent(extents, rasterize, ping_pong)
