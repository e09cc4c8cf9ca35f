"""The kernels whose synchronization `tilews-mutate` breaks.

The launches reuse slots, run loops with no iteration and with fewer iterations than
slots, and take both branches of guards.
"""

import functools

import numpy as np

import tilews
import tilews.language as tl
from kernels import pipelined_flows as flows
from kernels import pipelined_guards as guards
from kernels import pipelined_loops as loops
from kernels import pipelined_matmuls as matmuls
from kernels import pipelined_zoo as zoo
from kernels.pipelined_case import integers
from tilews.mutate import Subject


@tilews.kernel(threads=128)
def wide(
    A: tl.Tensor["64, K:64", tl.f16],
    B: tl.Tensor["K, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f16],
    steps: tl.index,
):
    """Tiles are wide enough for wgmma, which runs asynchronously."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 64], As)
        tl.copy(B[k * 64, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc.to(tl.f16)


@tilews.kernel(threads=128)
def sequential(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, 32", tl.f16],
    C: tl.Tensor["M, 32", tl.f32],
    n1: tl.index,
    n2: tl.index,
):
    """Two loops share a buffer, to different depths, tile after tile."""
    M, _K = A.shape
    tl.grid(2)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    for y in tl.persistent(tl.cdiv(M, 32)):
        acc = tl.zeros((32, 32), tl.f32)
        for k in tl.range(n1, num_stages=2):
            tl.copy(A[y * 32, k * 16], As)
            tl.copy(B[k * 16, 0], Bs)
            acc = tl.gemm(As, Bs, acc)
        for k in tl.range(n2, num_stages=3):
            tl.copy(A[y * 32, k * 16], As)
            acc = acc * 2.0 + tl.sum(tl.load(As).to(tl.f32))
        C[y * 32, 0] = acc


def _sequential(n1, n2):
    def arguments(random):
        a, b, c, *_ = loops.three_loops_arguments(0, 0, 0)(random)
        return [a, b, c, n1, n2]

    return arguments


def _wide(steps):
    def arguments(random):
        return [
            integers(random, (64, 640)),
            integers(random, (640, 64)),
            np.zeros((64, 64), np.float16),
            steps,
        ]

    return arguments


def _mixed(steps):
    def arguments(random):
        a, b, c, _ = matmuls.one_tile_arguments(np.float32)(random)
        return [np.tile(a, 2), np.tile(b, (2, 1)), c, steps]

    return arguments


def _guarded_part(steps, share):
    """Arguments with a mask that enables `share` eighths of the iterations."""

    def arguments(random):
        mask = random.integers(0, 8, 12) < share
        return [
            integers(random, (32, 192)),
            integers(random, (192, 32)),
            mask,
            np.zeros((32, 32), np.float32),
            np.zeros(12, np.float32),
            steps,
        ]

    return arguments


def _guarded(share):
    def arguments(random):
        a, b, mask, c = guards.mask_arguments("none")(random)
        return [a, b, random.integers(0, 8, mask.shape) < share, c]

    return arguments


def _attention(blocks):
    def arguments(random):
        q, _, _, y = flows.attention_arguments(random)
        keys, values = (integers(random, (16 * blocks, 32)) for _ in range(2))
        return [q, keys, values, y]

    return arguments


def _nested(tiles, steps):
    rows = 32 * max(tiles, 1)

    def arguments(random):
        return [
            integers(random, (rows, 80)),
            integers(random, (rows, 16), np.float32),
            np.zeros((rows, 16), np.float32),
            tiles,
            steps,
        ]

    return arguments


def _around(limit, steps):
    def arguments(random):
        a, _, _, c, n = loops.around_arguments(random)
        return [a, limit, steps, c, n]

    return arguments


def _launches(make, *launches) -> dict:
    """Launches by name; `make` takes the tuples in `launches`."""
    return {" ".join(map(str, each)): make(*each) for each in launches}


#: The case of the zoo that has the kernel, and launches of the kernel.
_KERNELS = {
    "gemm": (
        "gemm-s3",
        _launches(
            matmuls.gemm_arguments, (0, 8), (0, 7), (2, 5), (0, 2), (0, 1), (0, 0)
        ),
    ),
    "mixed": ("cast", _launches(_mixed, (10,), (4,), (2,), (1,), (0,))),
    "guarded": (
        "guard-random-s2",
        _launches(_guarded, (4,), (8,), (1,), (0,), (2,), (6,), (7,)),
    ),
    "guarded-part": (
        "guarded-part",
        _launches(
            _guarded_part, (12, 4), (12, 8), (12, 1), (12, 0), (5, 6), (1, 8), (0, 8)
        ),
    ),
    "attention": ("attention-s2", _launches(_attention, (9,), (4,), (2,), (1,))),
    "nested": (
        "nested",
        _launches(_nested, (4, 5), (7, 1), (6, 0), (5, 2), (1, 4), (0, 3)),
    ),
    "around": (
        "around",
        _launches(_around, (40.0, 4), (40.0, 2), (30.0, 7), (0.0, 4), (9.0, 1)),
    ),
}


def _subject(name: str, target: str) -> Subject:
    first, launches = _KERNELS[name]
    case = next(case for case in zoo.CASES if case.name == first)
    build = functools.partial(case.kernel.build, **case.constants)
    return Subject(name, build, target, launches, case.tolerance)


_OF_OUR_OWN = {
    "sequential": (
        sequential,
        _launches(
            _sequential, (3, 5), (1, 0), (0, 6), (1, 1), (6, 0), (2, 6), (5, 1), (0, 0)
        ),
    ),
    "wide": (wide, _launches(_wide, (10,), (5,), (3,), (2,), (1,), (0,))),
}


SUBJECTS = [
    *(
        _subject(name, target)
        for name in _KERNELS
        for target in ("sm_90a", "sm_80")
        if (name, target) != ("around", "sm_90a")  # The same as for sm_80.
    ),
    *(
        Subject(name, kernel.build, target, launches)
        for name, (kernel, launches) in _OF_OUR_OWN.items()
        for target in ("sm_90a", "sm_80")
    ),
]
