"""The kernels whose synchronization `tilews-mutate` breaks.

Each is launched so that slots are used again, that loops have no turn and fewer turns
than slots, and that guards take either way.
"""

import functools

import numpy as np
import pipelined_zoo as zoo

import tilews
import tilews.language as tl
from tilews.mutate import Subject


@tilews.kernel(threads=128)
def wide(
    A: tl.Tensor["64, K:64", tl.f16],
    B: tl.Tensor["K, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f16],
    steps: tl.index,
):
    """Wide enough for wgmma, whose products run on."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 64], As)
        tl.copy(B[k * 64, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc.to(tl.f16)


def _wide(steps):
    def arguments(random):
        return [
            zoo.integers(random, (64, 320)),
            zoo.integers(random, (320, 64)),
            np.zeros((64, 64), np.float16),
            steps,
        ]

    return arguments


def _case(name: str) -> zoo.Case:
    return next(case for case in zoo.CASES if case.name == name)


#: A case of the zoo for the kernel and the first launch, others for more launches.
_CASES = {
    "gemm": ("gemm-s3", ["gemm-s2-t8", "gemm-s2-t1", "gemm-s2-t2", "gemm-s2-t0"]),
    "mixed": ("cast", []),
    "guarded": ("guard-random-s2", ["guard-all-s2", "guard-none-s2"]),
    "guarded-part": ("guarded-part", []),
    "attention": ("attention-s2", ["attention-s3"]),
    "sequential": ("loops-3-5-4", ["loops-1-0-2", "loops-0-6-1"]),
    "nested": ("nested", []),
    "around": ("around", []),
}


def _subject(name: str, target: str) -> Subject:
    first, others = _CASES[name]
    case = _case(first)
    launches = {each: _case(each).arguments for each in (first, *others)}
    build = functools.partial(case.kernel.build, **case.constants)
    return Subject(name, build, target, launches, case.tolerance)


SUBJECTS = [
    *(_subject(name, target) for name in _CASES for target in ("sm_90a", "sm_80")),
    *(
        Subject("wide", wide.build, target, {f"t{n}": _wide(n) for n in (5, 0, 1, 2)})
        for target in ("sm_90a", "sm_80")
    ),
]
