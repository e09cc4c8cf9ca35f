"""Copies in hand-written roles: those that fill channels, and others."""

import numpy as np
import pytest
import simulating
from pipelined_case import integers

import tilews
import tilews.language as tl
from tilews import passes, sim

STEPS = passes.expand("tilews-to-nvvm{chip=sm_90a}")
ROLES = next(i for i, x in enumerate(STEPS) if x.startswith("tile-specialize-warps"))
SCHEDULED = STEPS[: ROLES + 1]


@tilews.func
def load_tiles(ch, A, slots):
    """Fills the channel with the tiles of a row of them."""
    p = ch.cursor()
    for k in tl.range(tl.cdiv(A.shape[1], 64)):
        ch.acquire(p)
        tl.copy(A[0, k * 64], tl.slot(slots, p))
        ch.commit(p)
        p = ch.advance(p)


@tilews.func
def add_tiles(ch, A, slots, acc):
    """Adds up what the channel delivers."""
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
    """The consumer fetches a tile for itself."""
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
    """All threads fetch a tile, in front of the roles."""
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
    """The producer doubles a tile for the channel, between those that TMA brings."""
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
    """A loop with stages in a role runs turn by turn: its copies are waited for."""
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
    """A loop with stages in front of roles."""
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
    """Slots of bytes, seen as tiles."""
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
    """All versions of bytes at once, seen as tiles."""
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


@pytest.mark.parametrize("k", [64, 336])
@pytest.mark.parametrize(("kernel", "what"), KERNELS, ids=lambda x: x.__name__)
def test_every_form_and_timing(kernel, what, k):
    """At each step up to barriers in memory, as numpy computes."""
    module = kernel.build("sm_90a")
    for step in ["canonicalize", *STEPS[: STEPS.index("tile-lower-channels") + 1]]:
        passes.run(module, step)
        for timing in simulating.TIMINGS:
            a, d, c = operands(k)
            sim.run(module, None, [a, d, c], **timing)
            np.testing.assert_array_equal(
                c, expect(a, d, what), err_msg=f"{step} {timing}"
            )


@pytest.mark.parametrize(("kernel", "what"), KERNELS, ids=lambda x: x.__name__)
def test_they_are_proved_and_compiled(kernel, what):
    module = kernel.build("sm_90a")
    for begin, end in (
        (0, len(SCHEDULED)),
        (len(SCHEDULED), STEPS.index("tile-lower-channels") + 1),
    ):
        passes.run(module, ",".join(STEPS[begin:end]))
        remarks = passes.run(module, "tile-verify-schedule{report=true}")
        assert f"tile-verify-0002: schedule of @{kernel.name} is proved" in remarks[0]
    text = str(module)
    # What no channel waits for is copied by threads.
    assert text.count("inst<tma>") == 1
    assert text.count("inst<cp_async>") == 1
    compiled = kernel.compile("sm_90a")
    assert "cp.async.bulk.tensor" in compiled.ptx
    assert "cp.async.cg.shared.global" in compiled.ptx
    if tilews.compiler.find_ptxas():
        assert compiled.cubin
