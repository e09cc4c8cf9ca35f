"""Integers that kernels are built with. Other numbers, and integers that are too
large, are errors at their line; they are not rounded or wrapped."""

import numpy as np
import pytest

import tilews
import tilews.language as tl


def in_a_kernel(build):
    """A kernel that calls `build` with the number and a buffer."""

    @tilews.kernel(threads=128)
    def kernel(A: tl.Tensor["64, 64", tl.f16], N: tl.constexpr):
        tl.grid(1)
        S = tl.alloc_shared((64, 64), tl.f16)
        build(N, A, S)

    return kernel


def loop(make):
    """A function of the kernel that loops over what `make` returns."""

    @tilews.func
    def build(n, A, S):
        x = tl.zeros((64, 64), tl.f16)
        for _k in make(n):
            tl.copy(A, S)
            x = x + tl.load(S)
        A[0, 0] = x

    return build


#: Functions that take an integer, and a part of their error.
PLACES = {
    "num_stages": (loop(lambda n: tl.range(4, num_stages=n)), "tl.range: num_stages"),
    "pipelined": (loop(lambda n: tl.pipelined(4, num_stages=n)), "num_stages"),
    "split_k": (loop(lambda n: tl.range(4, split_k=n)), "tl.range: split_k"),
    "stage": (
        loop(lambda n: tl.pipelined(4, num_stages=3, stage=[0, n], order=[0, 1])),
        "tl.pipelined: ",
    ),
    "order": (
        loop(lambda n: tl.pipelined(4, num_stages=3, stage=[0, 2], order=[0, n])),
        "tl.pipelined: order",
    ),
    "rasterize": (lambda n, *_: tl.rasterize("row", n), "rasterization: the panel"),
    "swizzle": (lambda n, *_: tl.use_swizzle(n), "rasterization: the panel"),
    "persistent": (
        loop(lambda n: tl.persistent(4, order="row", panel=n)),
        "rasterization: the panel",
    ),
    "shape": (lambda n, *_: tl.zeros((n,), tl.f16), "tl.zeros: an extent"),
    "shared": (lambda n, *_: tl.alloc_shared((n,), tl.f16), "an extent"),
    "alignment": (
        lambda n, *_: tl.alloc_shared((8,), tl.f16, alignment=n),
        "tl.alloc_shared: the alignment",
    ),
    "versions": (
        lambda n, *_: tl.alloc_shared((8,), tl.f16, versions=n),
        "tl.alloc_shared: versions",
    ),
    "depth": (lambda n, *_: tl.channel((), n), "tl.channel: the depth"),
    "registers": (
        lambda n, *_: tl.role_registers(math=n, load=40),
        "tl.role_registers: math is a multiple of 8",
    ),
    "axis": (lambda n, A, S: tl.sum(tl.load(S), n), "tl.sum: the axis"),
    "block": (lambda n, *_: tl.block_id(n), "tl.block_id: the axis"),
    "arange": (lambda n, *_: tl.arange(n), "tl."),
}

#: Wrong for all functions. The large ones would wrap to 3 and 64 in 32 or 64 bits.
WRONG = [True, 2.5, "3", [3], 2**32 + 3, 2**64 + 64, -(10**30)]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("name", PLACES)
def test_numbers_that_are_no_count(name, wrong):
    build, message = PLACES[name]
    with pytest.raises(tilews.KernelError) as caught:
        in_a_kernel(build).compile("sm_90a", N=as_constexpr(wrong))
    assert caught.value.filename == __file__
    assert message in caught.value.message or "tile.iota" in caught.value.message
    assert "incompatible function arguments" not in str(caught.value)
    assert "TypeError" not in str(caught.value)


def as_constexpr(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("wrong", [*WRONG, 0, 100, 2**32 + 128], ids=repr)
@pytest.mark.parametrize("where", ["kernel", "build", "compile"])
def test_threads(where, wrong):
    def kernel(A: tl.Tensor["64", tl.f16]):
        A[0] = tl.zeros((64,), tl.f16)

    wrong = as_constexpr(wrong)
    with pytest.raises(tilews.KernelError, match="threads is a multiple of 32 from 32"):
        if where == "kernel":
            tilews.kernel(kernel, threads=wrong).build("sm_90a")
        else:
            getattr(tilews.kernel(kernel), where)("sm_90a", threads=wrong)


@pytest.mark.parametrize("wrong", [(True, 1, 1), (2**32 + 2, 1, 1), ("2", 1, 1), "x"])
def test_clusters(wrong):
    def kernel(A: tl.Tensor["64", tl.f16]):
        A[0] = tl.zeros((64,), tl.f16)

    with pytest.raises(tilews.KernelError, match="kernel: cluster: "):
        tilews.kernel(kernel, cluster=wrong).build("sm_90a")


def test_extents_and_indices():
    @tilews.kernel
    def kernel(A: tl.Tensor["K", tl.f16], N: tl.constexpr = 0):
        A[N] = tl.zeros((64,), tl.f16)

    for wrong in (True, 0, 2.5, "3", 2**64):
        with pytest.raises(
            tilews.KernelError, match="'K' is an extent or a stride, which is"
        ):
            kernel.build("sm_90a", K=wrong)
    with pytest.raises(tilews.KernelError, match="an index is an integer from"):
        kernel.build("sm_90a", N=2**64)


def test_integers_of_numpy():
    three = np.int64(3)
    for name in ("num_stages", "split_k", "rasterize", "shape", "versions", "depth"):
        in_a_kernel(PLACES[name][0]).build("sm_90a", N=three)
    text = in_a_kernel(PLACES["stage"][0]).mlir("sm_90a", N=np.int32(2))
    assert "tile.stage = 2 : i32" in text
