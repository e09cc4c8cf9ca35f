"""Roles that were written by hand, with operations that pipelines seldom have.

They are seeds of random mutants: see :mod:`kernels.mutation.mutation_seeds`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import integers


@tilews.kernel
def relay(
    A: tl.Tensor["32, K:32", tl.f16],
    C: tl.Tensor["32, K:32", tl.f16],
    steps: tl.index,
):
    """Three roles: one loads, one doubles, one stores by TMA."""
    tl.grid(1)
    As = tl.alloc_shared((32, 32), tl.f16, versions=3)
    Bs = tl.alloc_shared((32, 32), tl.f16, versions=2)
    loaded, doubled = tl.channel(As), tl.channel(Bs)
    with tl.specialize():
        with tl.role("double", warps=4):
            q = loaded.cursor()
            p = doubled.cursor()
            for _k in tl.range(steps):
                loaded.wait(q)
                x = tl.load(tl.slot(As, q))
                loaded.release(q)
                doubled.acquire(p)
                tl.store(x * 2.0, tl.slot(Bs, p))
                doubled.commit(p)
                q = loaded.advance(q)
                p = doubled.advance(p)
        with tl.role("load", warps=1):
            p = loaded.cursor()
            for k in tl.range(steps):
                loaded.acquire(p)
                tl.copy(A[0, k * 32], tl.slot(As, p))
                loaded.commit(p)
                p = loaded.advance(p)
        with tl.role("store", warps=1):
            q = doubled.cursor()
            for k in tl.range(steps):
                doubled.wait(q)
                tl.copy(tl.slot(Bs, q), C[0, k * 32])
                doubled.release(q)
                q = doubled.advance(q)


def relay_arguments(steps):
    def arguments(random):
        a = integers(random, (32, 256))
        return [a, np.zeros_like(a), steps]

    return arguments


@tilews.kernel
def two_readers(
    A: tl.Tensor["32, K:32", tl.f16],
    C: tl.Tensor["32, 32", tl.f32],
    D: tl.Tensor["32", tl.f32],
    steps: tl.index,
):
    """Two consumers of each slot. One sums its rows in shared memory of its own."""
    tl.grid(1)
    As = tl.alloc_shared((32, 32), tl.f16, versions=2)
    Own = tl.alloc_shared((32, 32), tl.f32)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("add", warps=4):
            q = ch.cursor()
            acc = tl.zeros((32, 32), tl.f32)
            for _k in tl.range(steps):
                ch.wait(q)
                acc = acc + tl.load(tl.slot(As, q)).to(tl.f32)
                ch.release(q)
                q = ch.advance(q)
            C[0, 0] = acc
        with tl.role("rows", warps=4):
            q = ch.cursor()
            rows = tl.zeros((32,), tl.f32)
            for _k in tl.range(steps):
                ch.wait(q)
                tl.store(tl.load(tl.slot(As, q)).to(tl.f32), Own)
                ch.release(q)
                rows = rows + tl.sum(tl.load(Own), 1)
                q = ch.advance(q)
            D[0] = rows
        with tl.role("load", warps=1):
            p = ch.cursor()
            for k in tl.range(steps):
                ch.acquire(p)
                tl.copy(A[0, k * 32], tl.slot(As, p))
                ch.commit(p)
                p = ch.advance(p)


def two_readers_arguments(steps):
    def arguments(random):
        sums = np.zeros((32, 32), np.float32), np.zeros(32, np.float32)
        return [integers(random, (32, 256)), *sums, steps]

    return arguments


@tilews.kernel
def narrow_guards(
    A: tl.Tensor["32, K:32", tl.f16],
    kinds: tl.Tensor["KB", tl.i8],
    C: tl.Tensor["32, 32", tl.f32],
    steps: tl.index,
):
    """Sums of bytes, which wrap around, decide which tiles are copied."""
    tl.grid(1)
    As = tl.alloc_shared((32, 32), tl.f16, versions=2)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            q = ch.cursor()
            acc = tl.zeros((32, 32), tl.f32)
            for k in tl.range(steps):
                if tl.load(kinds[k]) + tl.load(kinds[k + 1]) > 0:
                    ch.wait(q)
                    acc = acc * 2.0 + tl.load(tl.slot(As, q)).to(tl.f32)
                    ch.release(q)
                    q = ch.advance(q)
            C[0, 0] = acc
        with tl.role("load", warps=1):
            p = ch.cursor()
            for k in tl.range(steps):
                if tl.load(kinds[k]) + tl.load(kinds[k + 1]) > 0:
                    ch.acquire(p)
                    tl.copy(A[0, k * 32], tl.slot(As, p))
                    ch.commit(p)
                    p = ch.advance(p)


def narrow_guards_arguments(steps):
    def arguments(random):
        kinds = random.integers(-128, 128, 9).astype(np.int8)
        c = np.zeros((32, 32), np.float32)
        return [integers(random, (32, 256)), kinds, c, steps]

    return arguments


@tilews.kernel
def histogram(
    A: tl.Tensor["32, K:32", tl.f16],
    C: tl.Tensor["32, 32", tl.f32],
    steps: tl.index,
):
    """Two consumers of a channel each add to one table in shared memory atomically;
    a third role waits for both and stores the table."""
    tl.grid(1)
    As = tl.alloc_shared((32, 32), tl.f16, versions=2)
    Table = tl.alloc_shared((32, 32), tl.f32, versions=1)
    ch, out = tl.channel(As), tl.channel(Table)
    with tl.specialize():
        with tl.role("add", warps=4):
            q, p = ch.cursor(), out.cursor()
            out.acquire(p)
            tl.store(tl.zeros((32, 32), tl.f32), tl.slot(Table, p))
            for _k in tl.range(steps):
                ch.wait(q)
                tl.atomic_add(tl.load(tl.slot(As, q)).to(tl.f32), tl.slot(Table, p))
                ch.release(q)
                q = ch.advance(q)
            out.commit(p)
        with tl.role("store", warps=4):
            q = out.cursor()
            out.wait(q)
            C[0, 0] = tl.load(tl.slot(Table, q))
            out.release(q)
        with tl.role("load", warps=1):
            p = ch.cursor()
            for k in tl.range(steps):
                ch.acquire(p)
                tl.copy(A[0, k * 32], tl.slot(As, p))
                ch.commit(p)
                p = ch.advance(p)


def histogram_arguments(steps):
    def arguments(random):
        return [integers(random, (32, 256)), np.zeros((32, 32), np.float32), steps]

    return arguments
