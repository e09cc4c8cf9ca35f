"""Hand-written roles with copies that fill channels, and with other copies."""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import integers


@tilews.func
def load_tiles(ch, A, slots):
    """Fills the channel with the tiles of a row."""
    p = ch.cursor()
    for k in tl.range(tl.cdiv(A.shape[1], 64)):
        ch.acquire(p)
        tl.copy(A[0, k * 64], tl.slot(slots, p))
        ch.commit(p)
        p = ch.advance(p)


@tilews.func
def add_tiles(ch, A, slots, acc):
    """Adds the channel's tiles to `acc`."""
    q = ch.cursor()
    for _k in tl.range(tl.cdiv(A.shape[1], 64)):
        ch.wait(q)
        acc = acc + tl.load(tl.slot(slots, q)).to(tl.f32)
        ch.release(q)
        q = ch.advance(q)
    return acc


@tilews.kernel
def in_a_role(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """The consumer copies a tile for itself."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16, versions=3)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            tl.copy(D[0, 0], Ds)
            C[0, 0] = add_tiles(ch, A, As, tl.load(Ds).to(tl.f32))
        with tl.role("load", warps=1):
            load_tiles(ch, A, As)


@tilews.kernel
def before_roles(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """All threads copy a tile before the roles."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16, versions=3)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    tl.copy(D[0, 0], Ds)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            C[0, 0] = add_tiles(ch, A, As, tl.load(Ds).to(tl.f32))
        with tl.role("load", warps=1):
            load_tiles(ch, A, As)


@tilews.kernel
def in_the_producer(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """The producer doubles a tile and fills a second channel with it."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16, versions=2)
    Es = tl.alloc_shared((64, 64), tl.f16, versions=1)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    ch = tl.channel(As)
    extra = tl.channel(Es)
    with tl.specialize():
        with tl.role("math", warps=4):
            acc = add_tiles(ch, A, As, tl.zeros((64, 64), tl.f32))
            q = extra.cursor()
            extra.wait(q)
            C[0, 0] = acc + tl.load(tl.slot(Es, q)).to(tl.f32) * 0.5
            extra.release(q)
        with tl.role("load", warps=4):
            load_tiles(ch, A, As)
            tl.copy(D[0, 0], Ds)
            p = extra.cursor()
            extra.acquire(p)
            tl.store(tl.load(Ds) * 2.0, tl.slot(Es, p))
            extra.commit(p)


@tilews.kernel
def in_a_loop(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """A loop with stages in a role is not pipelined; the role waits for each copy."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16, versions=3)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4, registers=232):
            acc = add_tiles(ch, A, As, tl.zeros((64, 64), tl.f32))
            Ds = tl.alloc_shared((16, 64), tl.f16)
            for k in tl.range(4, num_stages=3):
                tl.copy(D[k * 16 : k * 16 + 16, 0:64], Ds)
                acc = acc + tl.sum(tl.load(Ds).to(tl.f32), 0)[None, :]
            C[0, 0] = acc
        with tl.role("load", warps=4, registers=40):
            load_tiles(ch, A, As)


@tilews.kernel
def before_roles_in_a_loop(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """A loop with stages before the roles."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16, versions=3)
    Ds = tl.alloc_shared((16, 64), tl.f16)
    Es = tl.alloc_shared((64,), tl.f32)
    ch = tl.channel(As)
    total = tl.zeros((64,), tl.f32)
    for k in tl.range(4, num_stages=3):
        tl.copy(D[k * 16 : k * 16 + 16, 0:64], Ds)
        total = total + tl.sum(tl.load(Ds).to(tl.f32), 0)
    tl.store(total, Es)
    with tl.specialize():
        with tl.role("math", warps=4):
            acc = tl.zeros((64, 64), tl.f32) + tl.load(Es)[None, :]
            C[0, 0] = add_tiles(ch, A, As, acc)
        with tl.role("load", warps=1):
            load_tiles(ch, A, As)


@tilews.kernel
def views_of_slots(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """Views of slots of bytes as tiles."""
    tl.grid(1)
    Raw = tl.alloc_shared((8192,), tl.i8, versions=3)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    ch = tl.channel(Raw)
    with tl.specialize():
        with tl.role("math", warps=4):
            tl.copy(D[0, 0], Ds)
            acc = tl.load(Ds).to(tl.f32)
            q = ch.cursor()
            for _k in tl.range(tl.cdiv(A.shape[1], 64)):
                ch.wait(q)
                tile = tl.view(tl.slot(Raw, q), (64, 64), tl.f16)
                acc = acc + tl.load(tile).to(tl.f32)
                ch.release(q)
                q = ch.advance(q)
            C[0, 0] = acc
        with tl.role("load", warps=1):
            p = ch.cursor()
            for k in tl.range(tl.cdiv(A.shape[1], 64)):
                ch.acquire(p)
                tl.copy(A[0, k * 64], tl.view(tl.slot(Raw, p), (64, 64), tl.f16))
                ch.commit(p)
                p = ch.advance(p)


@tilews.kernel
def slots_of_views(
    A: tl.Tensor["64, K:16", tl.f16],
    D: tl.Tensor["64, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """A view of all versions of a buffer of bytes as tiles."""
    tl.grid(1)
    Raw = tl.alloc_shared((8192,), tl.i8, versions=3)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    As = tl.view(Raw, (3, 64, 64), tl.f16)
    ch = tl.channel(Raw)
    tl.copy(D[0, 0], Ds)
    with tl.specialize():
        with tl.role("math", warps=4):
            C[0, 0] = add_tiles(ch, A, As, tl.load(Ds).to(tl.f32))
        with tl.role("load", warps=1):
            load_tiles(ch, A, As)


def whole(d):
    return d


def columns(d):
    return d.sum(0, keepdims=True)


KERNELS = [
    (in_a_role, whole),
    (before_roles, whole),
    (in_the_producer, whole),
    (in_a_loop, columns),
    (before_roles_in_a_loop, columns),
    (views_of_slots, whole),
    (slots_of_views, whole),
]


def operands(k):
    random = np.random.default_rng(0)
    a, d = integers(random, (64, k)), integers(random, (64, 64))
    return a, d, np.zeros((64, 64), np.float32)


def expect(a, d, what):
    tiles = np.pad(a.astype("f4"), [(0, 0), (0, -a.shape[1] % 64)])
    return tiles.reshape(64, -1, 64).sum(1) + what(d.astype("f4"))
