"""Inline assembly: kernels of the zoo."""

from collections.abc import Iterator

import numpy as np

import tilews
import tilews.language as tl
from kernels.zoo_kernels.zoo_case import ZooCase

POWER = {
    "nvidia": ("ex2.approx.ftz.f32 $0, $1;", "=f,f"),
    "amd": ("v_exp_f32 $0, $1", "=v,v"),
}
#: Two results, and a temporary name that is local to each use.
WIDE_PRODUCT = {
    "nvidia": (
        "{ .reg .u64 %p; mul.wide.u32 %p, $2, $3; mov.b64 {$0, $1}, %p; }",
        "=r,=r,r,r",
    ),
    "amd": (
        "v_mul_lo_u32 $0, $2, $3\nv_mul_hi_u32 $1, $2, $3",
        "=&v,=v,v,v",
    ),
}
LARGER = {
    "nvidia": ("max.f16 $0, $1, $2;", "=h,h,h"),
    "amd": ("v_pk_max_f16 $0, $1, $2", "=v,v,v"),
}
FUSED = {
    "nvidia": ("fma.rn.f64 $0, $1, $2, $0;", "=d,d,d,0"),
    "amd": ("v_fma_f64 $0, $1, $2, $0", "=v,v,v,0"),
}
#: An integer in a register of floating point, and the class of a chip.
MOVE = {
    "nvidia": ("mov.b32 $0, $1;", "=f,f"),
    "gfx942": ("v_mov_b32 $0, $1", "=v,v"),
}


@tilews.kernel
def functions(
    X: tl.Tensor["M, N", tl.f32],
    Y: tl.Tensor["M, N", tl.f32],
    Z: tl.Tensor["M, N", tl.f32],
    shift: tl.f32,
):
    row = tl.grid(tl.cdiv(X.shape[0], 16))
    x = tl.load(X[row * 16, 0], (16, 80))
    Y[row * 16, 0] = tl.asm(POWER, x, tl.f32, python=tl.exp2) + 1.0
    # Only NVIDIA has a template with three operands, of which one is a scalar.
    sums = {"nvidia": ("fma.rn.f32 $0, $1, $3, $2;", "=f,f,f,f")}
    column = tl.load(X[row * 16, 3], (16, 1))
    Z[row * 16, 0] = tl.asm(
        sums, (x, column, shift), tl.f32, python=lambda a, b, c: tl.fma(a, c, b) * 1.0
    )


@tilews.kernel
def integers(
    A: tl.Tensor["M, 48", tl.u32],
    LOW: tl.Tensor["M, 48", tl.u32],
    HIGH: tl.Tensor["M, 48", tl.u32],
    KEY: tl.Tensor["M, 48", tl.i32],
):
    row = tl.grid(tl.cdiv(A.shape[0], 16))
    a = tl.load(A[row * 16, 0], (16, 48))
    low, high = tl.asm(
        WIDE_PRODUCT,
        (a, a ^ 0x5A5A5A5A),
        (tl.u32, tl.u32),
        python=lambda x, y: (x * y, tl.umulhi(x, y)),
    )
    LOW[row * 16, 0] = low
    HIGH[row * 16, 0] = high
    moved = tl.asm(MOVE, a, tl.i32, pure=False, python=lambda x: x.to(tl.i32))
    KEY[row * 16, 0] = moved


@tilews.kernel
def widths(
    X: tl.Tensor["M, 32", tl.f16],
    Y: tl.Tensor["M, 32", tl.f16],
    D: tl.Tensor["M, 32", tl.f64],
):
    """Elements of 16 and of 64 bits, in a loop that carries them."""
    row = tl.grid(tl.cdiv(X.shape[0], 8))
    x = tl.load(X[row * 8, 0], (8, 32))
    d = tl.load(D[row * 8, 0], (8, 32))
    best = x
    for i in tl.range(4):
        best = tl.asm(LARGER, (best, x * i.to(tl.f16)), tl.f16, python=tl.maximum)
        d = tl.asm(
            FUSED, (d, d, x.to(tl.f64)), tl.f64, python=lambda a, b, c: a * b + c
        )
    Y[row * 8, 0] = best
    D[row * 8, 0] = d


def _integers(random: np.random.Generator) -> list:
    a = random.integers(0, 2**32, (37, 48), np.uint32)
    return [a, np.zeros_like(a), np.zeros_like(a), np.zeros(a.shape, np.int32)]


def _widths(random: np.random.Generator) -> list:
    x = random.integers(-2, 3, (20, 32)).astype(np.float16)
    return [x, np.zeros_like(x), random.integers(-2, 3, (20, 32)).astype(np.float64)]


def cases() -> Iterator[ZooCase]:
    def floats(random: np.random.Generator) -> list:
        x = random.uniform(-3, 3, (37, 80)).astype(np.float32)
        return [x, np.zeros_like(x), np.zeros_like(x), np.float32(0.75)]

    yield ZooCase("asm-functions", functions, floats, {}, 1e-6)
    yield ZooCase("asm-integers", integers, _integers, {}, 0.0)
    yield ZooCase("asm-widths", widths, _widths, {}, 0.0)
