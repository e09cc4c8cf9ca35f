"""Kernels that gather and scatter, with pipelines, as seeds of random mutants."""

import functools
from collections.abc import Callable, Iterator

import numpy as np

import tilews
import tilews.language as tl
from kernels import gathers
from kernels.pipelined_case import integers
from tilews import ir
from tilews.mutate import Subject

_TARGETS = ("sm_80", "sm_90a")
#: Numbers of columns, of which tiles are 32 or 16. The most iterations are 8: with them
#: each slot, also of a loop that copies ahead, is used at least twice.
_COLUMNS = (256, 160, 64, 32, 8)


@tilews.kernel(threads=128)
def scattered_sums(
    X: tl.Tensor["M, K:8", tl.f16],
    Ids: tl.Tensor["32", tl.i32],
    Mask: tl.Tensor["B", tl.i1],
    Y: tl.Tensor["M, K:8", tl.f32],
):
    """Adds rows, of the tiles that the mask enables, to the rows of another array."""
    tl.grid(1)
    ids = tl.load(Ids)
    S = tl.alloc_shared((32, 32), tl.f16)
    for k in tl.range(tl.cdiv(X.shape[1], 32), num_stages=3):
        if tl.load(Mask[k]):
            tl.copy(X[ids, k * 32 : k * 32 + 32], S)
            x = tl.load(S).to(tl.f32)
            tl.atomic_add(x * 2.0, Y[ids, k * 32 : k * 32 + 32])


@tilews.kernel
def gathered_by_role(
    X: tl.Tensor["M, K:32", tl.f16],
    Ids: tl.Tensor["32", tl.i32],
    Y: tl.Tensor["32, K:32", tl.f16],
    steps: tl.index,
):
    """One role gathers rows to shared memory, another one stores them."""
    tl.grid(1)
    S = tl.alloc_shared((32, 32), tl.f16, versions=2)
    gathered = tl.channel(S)
    with tl.specialize():
        with tl.role("store", warps=4):
            q = gathered.cursor()
            for k in tl.range(steps):
                gathered.wait(q)
                Y[0, k * 32] = tl.load(tl.slot(S, q))
                gathered.release(q)
                q = gathered.advance(q)
        with tl.role("gather", warps=4):
            ids = tl.load(Ids)
            p = gathered.cursor()
            for k in tl.range(steps):
                x = tl.load(X[ids, k * 32 : k * 32 + 32])
                gathered.acquire(p)
                tl.store(x, tl.slot(S, p))
                gathered.commit(p)
                p = gathered.advance(p)


def _sums(columns: int, share: float, random: np.random.Generator) -> list:
    mask = random.random(-(-columns // 32)) < share
    ids = random.integers(-2, 44, 32).astype(np.int32)
    x = integers(random, (40, columns))
    return [x, ids, mask, np.zeros(x.shape, np.float32)]


def _by_role(steps: int, random: np.random.Generator) -> list:
    ids = random.integers(-2, 44, 32).astype(np.int32)
    x = integers(random, (40, 256))
    return [x, ids, np.zeros((32, 256), np.float16), steps]


def _rows(columns: int, random: np.random.Generator) -> list:
    ids = random.integers(-2, 44, 32).astype(np.int32)
    x = integers(random, (40, columns))
    return [x, ids, np.zeros((32, columns), np.float16)]


def _sequences(columns: int, random: np.random.Generator) -> list:
    x = integers(random, (60, columns))
    return [x, np.array([3, 40, 40], np.int32), np.zeros((2, 48, columns), np.float16)]


def _product(columns: int, random: np.random.Generator) -> list:
    ids = random.integers(-2, 44, 64).astype(np.int32)
    x, w = integers(random, (40, columns)), integers(random, (2, columns, 64))
    return [x, w, ids, np.ones(1, np.int32), np.zeros((64, 64), np.float32)]


def subjects() -> Iterator[Subject]:
    """The kernels with their launches."""
    by_columns: list[tuple[str, Callable[..., list], Callable[[str], ir.Module]]] = [
        ("copied_rows", _rows, functools.partial(gathers.copied_rows.build, BK=32)),
        ("copied_sequences", _sequences, gathers.copied_sequences.build),
        ("gathered_product", _product, gathers.gathered_product.build),
    ]
    for target in _TARGETS:
        for name, make, build in by_columns:
            launches = {str(n): functools.partial(make, n) for n in _COLUMNS}
            yield Subject(name, build, target, launches)
        launches = {
            f"{columns} {share}": functools.partial(_sums, columns, share)
            for columns, share in (
                *((224, 0.5), (224, 0.2)),
                *((160, 1.0), (160, 0.0), (32, 1.0)),
            )
        }
        yield Subject("scattered_sums", scattered_sums.build, target, launches)
    launches = {str(n): functools.partial(_by_role, n) for n in (5, 7, 2, 1, 0)}
    yield Subject("gathered_by_role", gathered_by_role.build, "sm_90a", launches)
