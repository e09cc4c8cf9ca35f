"""Small kernels that together cover every part of the lowering.

Each case is a kernel, its arguments and its constants. ``test_lowering.py`` compiles
the cases for every target; ``test_lowering_gpu.py`` runs them on a GPU and compares
the results with the interpreter's.
"""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

import tilews
import tilews.language as tl
from kernels.zoo_kernels import zoo_assembly, zoo_parts
from kernels.zoo_kernels.zoo_case import ZooCase

# --- Matmuls -----------------------------------------------------------------


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["AR, AC", "T"],
    B: tl.Tensor["BR, BC", "T"],
    C: tl.Tensor["M, N", "ACC"],
    TA: tl.constexpr = False,
    TB: tl.constexpr = True,
    BM: tl.constexpr = 64,
    BN: tl.constexpr = 64,
    BK: tl.constexpr = 32,
    TF32: tl.constexpr = False,
    FRAGMENT: tl.constexpr = False,
):
    M, N = C.shape
    K = A.shape[0] if TA else A.shape[1]
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    As = tl.alloc_shared((BK, BM) if TA else (BM, BK), A.dtype)
    Bs = tl.alloc_shared((BN, BK) if TB else (BK, BN), B.dtype)
    acc = tl.zeros((BM, BN), C.dtype)
    for k in tl.range(tl.cdiv(K, BK)):
        if TA:
            tl.copy(A[k * BK, by * BM], As)
        else:
            tl.copy(A[by * BM, k * BK], As)
        if TB:
            tl.copy(B[bx * BN, k * BK], Bs)
        else:
            tl.copy(B[k * BK, bx * BN], Bs)
        lhs = As
        if FRAGMENT:
            lhs = tl.load(As)
        acc = tl.gemm(lhs, Bs, acc, transpose_lhs=TA, transpose_rhs=TB, allow_tf32=TF32)
    C[by * BM, bx * BN] = acc


def _random(random: np.random.Generator, shape: tuple[int, ...], dtype: Any):
    if np.issubdtype(np.dtype(dtype), np.integer):
        return random.integers(-8, 8, shape).astype(dtype)
    return (random.standard_normal(shape)).astype(dtype)


def _gemm_case(
    dtype, acc, m, n, k, ta, tb, tolerance, label="", **constants
) -> ZooCase:
    def arguments(random: np.random.Generator) -> list:
        a = _random(random, (k, m) if ta else (m, k), dtype)
        b = _random(random, (n, k) if tb else (k, n), dtype)
        return [a, b, np.zeros((m, n), acc)]

    transposes = ("T" if ta else "N") + ("T" if tb else "N")
    name = f"gemm-{np.dtype(dtype).name}-{m}x{n}x{k}-{transposes}"
    return ZooCase(
        name + label, gemm, arguments, {"TA": ta, "TB": tb} | constants, tolerance
    )


HALVES = (np.float16, ml_dtypes.bfloat16)


def gemm_cases() -> list[ZooCase]:
    cases = []
    for dtype in HALVES:
        for ta in (False, True):
            for tb in (False, True):
                cases.append(_gemm_case(dtype, np.float32, 128, 192, 96, ta, tb, 1e-5))
                cases.append(_gemm_case(dtype, np.float32, 77, 131, 45, ta, tb, 1e-5))
    half = (np.float16, np.float32)
    more = {
        "wide": dict(BM=128, BN=256, BK=64, threads=256),
        "tall": dict(BM=256, BN=64, BK=64, threads=256),
        "n96": dict(BM=64, BN=96, BK=64),
        "n24": dict(BM=64, BN=24, BK=32),
        "k128": dict(BM=64, BN=64, BK=128),
        "m40": dict(BM=40, BN=48, BK=32),
        "simt": dict(BM=24, BN=40, BK=20),
        "fragment": dict(FRAGMENT=True, BM=64, BN=64, BK=64),
        "warps3": dict(BM=48, BN=48, BK=32, threads=96),
    }
    for label, constants in more.items():
        cases.append(
            _gemm_case(
                *half, 130, 200, 100, False, True, 1e-5, "-" + label, **constants
            )
        )
        if label not in ("fragment",):
            cases.append(
                _gemm_case(
                    *half, 128, 256, 128, False, False, 1e-5, "-" + label, **constants
                )
            )
    cases.append(_gemm_case(np.float16, np.float16, 128, 128, 64, False, True, 2e-2))
    cases.append(_gemm_case(np.float32, np.float32, 70, 90, 50, False, True, 1e-6))
    cases.append(
        _gemm_case(
            np.float32, np.float32, 64, 64, 64, False, True, 2e-3, "-tf32", TF32=True
        )
    )
    cases.append(_gemm_case(np.float64, np.float64, 64, 64, 64, False, True, 1e-12))
    for tb in (False, True):
        cases.append(_gemm_case(np.int8, np.int32, 128, 128, 96, False, tb, 0.0))
    return cases


def fp8_cases() -> list[ZooCase]:
    """Matmuls for targets with the OCP formats."""
    cases = []
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        cases.append(_gemm_case(dtype, np.float32, 128, 128, 128, False, True, 1e-3))
    return cases


@tilews.kernel(threads=128)
def gemm_sp(
    A: tl.Tensor["M, KC", tl.f16],
    E: tl.Tensor["M, KE", tl.i16],
    B: tl.Tensor["K, N", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
):
    As = tl.alloc_shared((32, 32), tl.f16)
    Es = tl.alloc_shared((32, 4), tl.i16)
    Bs = tl.alloc_shared((64, 48), tl.f16)
    tl.grid(1)
    tl.copy(A[0, 0], As)
    tl.copy(E[0, 0], Es)
    tl.copy(B[0, 0], Bs)
    C[0, 0] = tl.gemm_sp(As, Es, Bs, tl.zeros((32, 48), tl.f32))


def _sparse_arguments(random: np.random.Generator) -> list:
    pairs = np.array([i | j << 2 for i in range(4) for j in range(i + 1, 4)], np.uint16)
    nibbles = random.choice(pairs, (32, 4, 4))
    words = np.zeros((32, 4), np.uint16)
    for i in range(4):
        words |= nibbles[:, :, i] << np.uint16(4 * i)
    return [
        _random(random, (32, 32), np.float16),
        words.view(np.int16),
        _random(random, (64, 48), np.float16),
        np.zeros((32, 48), np.float32),
    ]


# --- Elementwise, shapes and reductions --------------------------------------


@tilews.kernel(threads=128)
def elementwise(X: tl.Tensor["M, N", "T"], Y: tl.Tensor["M, N", "T"]):
    M, N = X.shape
    by, bx = tl.grid(tl.cdiv(M, 32), tl.cdiv(N, 40))
    x = tl.load(X[by * 32, bx * 40], (32, 40)).to(tl.f32)
    y = tl.exp(-tl.abs(x)) + tl.log(tl.abs(x) + 1.5) + tl.tanh(x) * tl.sin(x)
    y = y + tl.sqrt(tl.abs(x)) + tl.where(x > 0.25, x, tl.erf(x)) + tl.rsqrt(x * x + 1)
    Y[by * 32, bx * 40] = y.to(Y.dtype)


@tilews.kernel(threads=256)
def softmax(X: tl.Tensor["M, N", "T"], Y: tl.Tensor["M, N", "T"], BN: tl.constexpr):
    M, _N = X.shape
    row = tl.grid(M)
    x = tl.load(X[row, 0], (1, BN), pad=float("-inf")).to(tl.f32)
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    Y[row, 0] = (e / tl.sum(e, axis=1)[:, None]).to(Y.dtype)


@tilews.kernel(threads=128)
def reductions(
    X: tl.Tensor["M, N", "T"],
    R: tl.Tensor["5, M", "T"],
    Q: tl.Tensor["5, N", "T"],
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X[0, 0], (BM, BN))
    R[0, 0] = tl.sum(x, axis=1)[None, :]
    R[1, 0] = tl.max(x, axis=1)[None, :]
    R[2, 0] = tl.min(x, axis=1)[None, :]
    R[3, 0] = tl.absmax(x, axis=1)[None, :]
    R[4, 0] = tl.absmin(x, axis=1)[None, :]
    Q[0, 0] = tl.sum(x, axis=0)[None, :]
    Q[1, 0] = tl.max(x, axis=0)[None, :]
    Q[2, 0] = tl.min(x, axis=0)[None, :]
    Q[3, 0] = tl.absmax(x, axis=0)[None, :]
    Q[4, 0] = tl.absmin(x, axis=0)[None, :]


@tilews.kernel(threads=64)
def bits(X: tl.Tensor["48, 40", tl.i32], Y: tl.Tensor["4, 48", tl.i32]):
    tl.grid(1)
    x = tl.load(X)
    Y[0, 0] = tl.reduce_and(x, axis=1)[None, :]
    Y[1, 0] = tl.reduce_or(x, axis=1)[None, :]
    Y[2, 0] = tl.reduce_xor(x, axis=1)[None, :]
    both = tl.any(x > 6, axis=1).to(tl.i32) + tl.all(x < 7, axis=1).to(tl.i32) * 2
    Y[3, 0] = both[None, :]


@tilews.kernel(threads=128)
def scans(X: tl.Tensor["M, N", "T"], Y: tl.Tensor["3, M, N", "T"]):
    tl.grid(1)
    x = tl.load(X[0, 0], (24, 40))
    Y[0, 0, 0] = tl.cumsum(x, axis=1)[None, :, :]
    Y[1, 0, 0] = tl.cummax(x, axis=0)[None, :, :]
    Y[2, 0, 0] = tl.cumsum(x, axis=0, reverse=True)[None, :, :]


@tilews.kernel(threads=128)
def shapes(
    X: tl.Tensor["32, 48", "T"],
    Y: tl.Tensor["48, 32", "T"],
    Z: tl.Tensor["64, 24", "T"],
):
    tl.grid(1)
    x = tl.load(X)
    i = tl.iota((32, 48), axis=0).to(X.dtype)
    j = tl.iota((32, 48), axis=1).to(X.dtype)
    Y[0, 0] = tl.transpose(x + i * 3 + j)
    Z[0, 0] = tl.reshape(x, (64, 24))


@tilews.kernel(threads=128)
def slices(
    X: tl.Tensor["32, 48", "T"],
    Y: tl.Tensor["32, 24", "T"],
    Z: tl.Tensor["8, 12", "T"],
):
    tl.grid(1)
    x = tl.load(X)
    Y[0, 0] = x[:, 24:] - x[:, :24]
    Z[0, 0] = (x + x)[16:24, 12:24]


@tilews.kernel(threads=128)
def copies(X: tl.Tensor["B, M, N", "T"], Y: tl.Tensor["B, M, N", "T"]):
    B, M, N = X.shape
    b, m, n = tl.grid(B, tl.cdiv(M, 16), tl.cdiv(N, 48))
    s = tl.alloc_shared((16, 48), X.dtype)
    t = tl.alloc_shared((16, 48), X.dtype)
    tl.copy(X[b, m * 16 - 3, n * 48 + 5], s)
    tl.copy(s, t)
    tl.copy(t, Y[b, m * 16, n * 48])


@tilews.kernel(threads=128)
def atomics(X: tl.Tensor["M, N", "T"], S: tl.Tensor["2, N", "T"]):
    M, _N = X.shape
    row = tl.grid(M)
    x = tl.load(X[row, 0], (1, 200))
    tl.atomic_add(x, S[0, 0])
    tl.atomic_max(x, S[1, 0])


@tilews.kernel(threads=128)
def loops(X: tl.Tensor["M, N", tl.f32], Y: tl.Tensor["M, N", tl.f32], n: tl.i32):
    M, N = X.shape
    by = tl.grid(tl.cdiv(M, 16))
    total = tl.zeros((16, 64), tl.f32)
    count = tl.cdiv(N, 64)
    for i in tl.range(count):
        x = tl.load(X[by * 16, i * 64], (16, 64))
        if i > n:
            total = total + x
        else:
            total = total - x * 2.0
    steps = 0
    while steps < n:
        total = total * 1.5
        steps = steps + 1
    Y[by * 16, 0] = total


@tilews.kernel(threads=128)
def persistent(X: tl.Tensor["M, N", tl.f32], Y: tl.Tensor["M, N", tl.f32]):
    M, N = X.shape
    tl.grid(5)
    buffer = tl.alloc_shared((16, 32), tl.f32)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 16), order="row", panel=3):
        tl.copy(X[y * 16, x * 32], buffer)
        Y[y * 16, x * 32] = tl.load(buffer) * 2.0


@tilews.kernel(threads=128)
def fp8_cast(
    X: tl.Tensor["M, N", tl.f32],
    Y: tl.Tensor["M, N", "F8"],
    Z: tl.Tensor["M, N", tl.f32],
):
    M, _N = X.shape
    by = tl.grid(tl.cdiv(M, 8))
    small = tl.load(X[by * 8, 0], (8, 48)).to(Y.dtype)
    Y[by * 8, 0] = small
    Z[by * 8, 0] = small.to(tl.f32) * 2.0


def _given(shape, *outputs, dtype):
    """A function that makes one random input, and zeros for the outputs."""
    return lambda random: [
        _random(random, shape, dtype),
        *(np.zeros(output, dtype) for output in outputs),
    ]


def _pair(m, n, dtype):
    return _given((m, n), (m, n), dtype=dtype)


def _loop_arguments(n):
    return lambda random: [*_pair(30, 200, np.float32)(random), n]


def _elementwise_cases() -> Iterator[ZooCase]:
    for dtype, tolerance in ((np.float32, 2e-6), (np.float16, 1e-3)):
        name = np.dtype(dtype).name
        yield ZooCase(
            f"elementwise-{name}", elementwise, _pair(70, 99, dtype), {}, tolerance
        )
        for n, bn in ((1000, 1024), (64, 64), (33, 40)):
            yield ZooCase(
                f"softmax-{name}-{n}",
                softmax,
                _pair(9, n, dtype),
                {"BN": bn},
                tolerance,
            )


def _reduction_cases() -> Iterator[ZooCase]:
    for dtype, tolerance in ((np.float32, 1e-6), (np.int32, 0.0), (np.float64, 1e-12)):
        name = np.dtype(dtype).name
        for m, n in ((32, 64), (24, 40), (3, 500)):
            yield ZooCase(
                f"reductions-{name}-{m}x{n}",
                reductions,
                _given((m, n), (5, m), (5, n), dtype=dtype),
                {"BM": m, "BN": n},
                tolerance,
            )
        yield ZooCase(
            f"scans-{name}",
            scans,
            _given((24, 40), (3, 24, 40), dtype=dtype),
            {},
            tolerance,
        )


def _bit_arguments(random: np.random.Generator) -> list:
    numbers = random.integers(-100, 100, (48, 40)).astype(np.int32)
    return [numbers, np.zeros((4, 48), np.int32)]


def _copy_arguments(dtype):
    shape = (3, 37, 101)
    return lambda random: [_random(random, shape, dtype), np.ones(shape, dtype)]


def _shape_cases() -> Iterator[ZooCase]:
    for dtype in (np.float32, np.float16, np.int8):
        name = np.dtype(dtype).name
        arguments = _given((32, 48), (48, 32), (64, 24), dtype=dtype)
        yield ZooCase(f"shapes-{name}", shapes, arguments, {}, 0.0)
        arguments = _given((32, 48), (32, 24), (8, 12), dtype=dtype)
        yield ZooCase(f"slices-{name}", slices, arguments, {}, 0.0)
        yield ZooCase(f"copies-{name}", copies, _copy_arguments(dtype), {}, 0.0)


def _control_cases() -> Iterator[ZooCase]:
    for dtype in (np.float32, np.int32):
        name = f"atomics-{np.dtype(dtype).name}"
        arguments = _given((50, 190), (2, 190), dtype=dtype)
        yield ZooCase(name, atomics, arguments, {}, 1e-6)
    for n in (0, 2):
        yield ZooCase(f"loops-{n}", loops, _loop_arguments(n), {}, 1e-6)
    yield ZooCase("persistent", persistent, _pair(70, 130, np.float32), {}, 0.0)


def other_cases() -> list[ZooCase]:
    return [
        ZooCase("gemm-sp", gemm_sp, _sparse_arguments, {}, 1e-5),
        *_elementwise_cases(),
        *_reduction_cases(),
        ZooCase("bits", bits, _bit_arguments, {}, 0.0),
        *_shape_cases(),
        *_control_cases(),
        *zoo_assembly.cases(),
        *zoo_parts.cases(),
        *zoo_parts.scaled_cases(),
    ]


def fp8_other_cases() -> list[ZooCase]:
    return [
        ZooCase(
            f"cast-{np.dtype(dtype).name}",
            fp8_cast,
            lambda random, dtype=dtype: [
                # Some numbers are too large for e4m3.
                _random(random, (20, 48), np.float32) * 300,
                np.zeros((20, 48), dtype),
                np.zeros((20, 48), np.float32),
            ],
            {},
            0.0,
        )
        for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
    ]


def all_cases() -> list[ZooCase]:
    return gemm_cases() + fp8_cases() + other_cases() + fp8_other_cases()
