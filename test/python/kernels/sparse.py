"""Matmuls with a 2:4 sparse left operand, and data for them."""

import dataclasses
import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

import tilews
import tilews.language as tl

#: The types of operands by their names in `tilews.language`.
OPERANDS = {
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i8": np.dtype("int8"),
}
#: The nibbles that name two of four elements.
PAIRS = [i | j << 2 for i in range(4) for j in range(i + 1, 4)]


@functools.cache
def matmul(bits: int, divisor: int, transposed: bool, held: str = "") -> Any:
    """The kernel of C = A @ B.

    Args:
        bits: the width of a word of metadata.
        divisor: divides the number of words in a row.
        transposed: whether B is (N, K).
        held: the operand in registers, if any: ``lhs`` or ``metadata``.
    """

    @tilews.kernel(threads=128)
    def gemm_sp(
        A: tl.Tensor["M, KC:16", "T"],
        E: tl.Tensor[f"M, KE:{divisor}", "V"],
        B: tl.Tensor["N, K:16" if transposed else "K, N:16", "T2"],
        C: tl.Tensor["M, N:16", "U"],
        BM: tl.constexpr,
        BN: tl.constexpr,
        BK: tl.constexpr,
        STAGES: tl.constexpr,
        POLICY: tl.constexpr = "square",
    ):
        M, KC = A.shape
        N = B.shape[0 if transposed else 1]
        bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
        As = tl.alloc_shared((BM, BK // 2), A.dtype)
        Es = tl.alloc_shared((BM, BK // bits), E.dtype)
        Bs = tl.alloc_shared((BN, BK) if transposed else (BK, BN), B.dtype)
        acc = tl.zeros((BM, BN), C.dtype)
        for k in tl.range(tl.cdiv(KC, BK // 2), num_stages=STAGES):
            lhs, metadata = As, Es
            if held == "lhs":
                lhs = tl.load(A[by * BM, k * (BK // 2)], (BM, BK // 2))
            else:
                tl.copy(A[by * BM, k * (BK // 2)], As)
            if held == "metadata":
                metadata = tl.load(E[by * BM, k * (BK // bits)], (BM, BK // bits))
            else:
                tl.copy(E[by * BM, k * (BK // bits)], Es)
            tl.copy(B[bx * BN, k * BK] if transposed else B[k * BK, bx * BN], Bs)
            acc = tl.gemm_sp(
                lhs, metadata, Bs, acc, transpose_rhs=transposed, policy=POLICY
            )
        C[by * BM, bx * BN] = acc

    return gemm_sp


@dataclasses.dataclass(frozen=True)
class SparseCase:
    """A matmul of extents `shape` (M, N, K) in tiles of extents `tile`.

    Its operands have the types `lhs` and `rhs`; words of metadata have `bits` bits."""

    shape: tuple[int, int, int]
    tile: tuple[int, int, int]
    lhs: str = "f16"
    rhs: str = ""
    bits: int = 16
    transposed: bool = True
    held: str = ""
    stages: int = 3
    threads: int = 128
    policy: str = "square"

    @property
    def name(self) -> str:
        """All fields, for test reports."""
        shape, tile = ("x".join(map(str, e)) for e in (self.shape, self.tile))
        layout = "NT" if self.transposed else "NN"
        types = f"{self.lhs}{self.rhs and '-' + self.rhs}-e{self.bits}"
        form = f"s{self.stages}-t{self.threads}-{self.policy}"
        return "-".join(filter(None, (shape, tile, types, layout, form, self.held)))

    def runs_on(self, target: str) -> bool:
        """Whether the target has such operands, and room for such tiles."""
        if target == "sm_90a":
            return True
        bm, bn, bk = self.tile
        size = OPERANDS[self.lhs].itemsize
        slot = (bm * bk // 2 + bn * bk) * size + bm * bk // 8
        memory = 99 if target == "sm_89" else 163
        fits = bm * bn // self.threads <= 64 and self.stages * slot <= memory * 1024
        return fits and (target != "sm_80" or self.lhs not in ("e4m3", "e5m2"))

    @property
    def output(self) -> str:
        """The type of the result."""
        return "i32" if self.lhs == "i8" else "f32"

    def compile(self, target: str) -> Any:
        """The compiled kernel."""
        return self._kernel.compile(target, **self._bindings)

    def build(self, target: str) -> Any:
        """The kernel as written."""
        return self._kernel.build(target, **self._bindings)

    @property
    def _kernel(self) -> Any:
        divisor = math.gcd(self.shape[2], 128) // self.bits
        return matmul(self.bits, divisor, self.transposed, self.held)

    @property
    def _bindings(self) -> dict[str, Any]:
        bm, bn, bk = self.tile
        return dict(
            T=_dtype(self.lhs), T2=_dtype(self.rhs or self.lhs),
            V=getattr(tl, f"i{self.bits}"), U=_dtype(self.output), BM=bm, BN=bn, BK=bk,
            STAGES=self.stages, POLICY=self.policy, threads=self.threads,
        )  # fmt: skip

    def data(self, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
        """The arguments and the result.

        Values are small integers, so that sums are exact in any order."""
        m, n, k = self.shape
        random = np.random.default_rng(seed)
        a = _integers(random, (m, k // 2), self.lhs)
        nibbles = random.choice(np.array(PAIRS), (m, k // 4))
        b = _integers(random, (k, n), self.rhs or self.lhs)
        dense = expand(a, nibbles)
        result = (dense @ b.astype(np.float64)).astype(
            "i4" if self.output == "i32" else "f4"
        )
        given = np.ascontiguousarray(b.T) if self.transposed else b
        arguments = [a, pack(nibbles, self.bits), given, np.zeros_like(result)]
        return arguments, result


def _dtype(name: str) -> Any:
    return getattr(tl, name)


def _integers(random: np.random.Generator, shape, operand: str) -> np.ndarray:
    return random.integers(-2, 3, shape).astype("f4").astype(OPERANDS[operand])


def expand(values: np.ndarray, nibbles: np.ndarray) -> np.ndarray:
    """The dense matrix in float64."""
    m, groups = nibbles.shape
    places = np.stack([nibbles & 3, nibbles >> 2], -1)
    dense = np.zeros((m, groups, 4))
    pairs = values.astype(np.float64).reshape(m, groups, 2)
    np.put_along_axis(dense, places, pairs, -1)
    return dense.reshape(m, 4 * groups)


def pack(nibbles: np.ndarray, bits: int) -> np.ndarray:
    """The nibbles in words of `bits` bits, the first nibble in the lowest bits."""
    per_word = bits // 4
    words = nibbles.astype("u8").reshape(len(nibbles), -1, per_word)
    words = (words << np.arange(0, bits, 4, dtype="u8")).sum(-1)
    return words.astype(f"u{bits // 8}").view(f"i{bits // 8}")


#: Cases that the interpreter runs and assemblers take.
SMALL = [
    SparseCase((64, 64, 128), (64, 64, 64)),
    SparseCase((64, 64, 256), (64, 64, 128), bits=8),
    SparseCase((128, 48, 256), (64, 48, 64), bits=32, lhs="bf16"),
    SparseCase((64, 64, 192), (64, 32, 64), transposed=False),
    SparseCase((100, 80, 96), (64, 64, 64), threads=256),
    SparseCase((64, 64, 256), (64, 64, 128), lhs="i8", bits=32),
    SparseCase((64, 64, 256), (64, 64, 128), lhs="e4m3", rhs="e5m2"),
    SparseCase((64, 64, 128), (64, 64, 64), held="lhs", stages=1),
    SparseCase((64, 64, 128), (64, 64, 64), held="metadata", stages=1),
]
#: Tiles whose instructions, warps and schedules differ.
LARGE = [
    SparseCase((512, 512, 1024), (128, 256, 128), threads=256, stages=2),
    SparseCase((512, 512, 1024), (128, 128, 64), threads=256, stages=4),
    SparseCase((512, 512, 1024), (128, 128, 64), threads=128, stages=4),
    SparseCase((512, 512, 1024), (256, 128, 128), threads=256, stages=2),
    SparseCase((512, 512, 1024), (64, 256, 128), threads=128, policy="full_col"),
    SparseCase((512, 512, 1024), (128, 128, 96), lhs="bf16", threads=256),
    SparseCase((512, 512, 1024), (128, 128, 128), threads=256, transposed=False),
    SparseCase((300, 272, 416), (128, 64, 128), threads=256),
    SparseCase((300, 272, 416), (64, 64, 32), threads=128, transposed=False),
    SparseCase((300, 272, 416), (48, 80, 96), threads=64),
    SparseCase((512, 512, 1024), (128, 128, 128), bits=8, threads=256),
    SparseCase((512, 512, 1024), (128, 128, 128), bits=32, threads=256),
    SparseCase((512, 512, 1024), (128, 128, 32), bits=32, threads=256),
    SparseCase((512, 512, 1024), (128, 128, 128), lhs="e4m3", threads=256),
    SparseCase(
        (512, 512, 1024), (128, 64, 256), lhs="e5m2", bits=8, threads=256, stages=2
    ),
    SparseCase((512, 512, 1024), (128, 64, 64), lhs="e4m3", rhs="e5m2", bits=32),
    SparseCase((512, 512, 1024), (128, 128, 128), lhs="i8", threads=256),
    SparseCase(
        (512, 512, 1024), (128, 128, 256), lhs="i8", bits=32, threads=256, stages=2
    ),
    SparseCase((300, 272, 416), (64, 64, 64), lhs="i8", bits=8, transposed=False),
    SparseCase((512, 512, 1024), (128, 128, 64), held="lhs", stages=1, threads=256),
    SparseCase(
        (512, 512, 1024), (128, 128, 64), held="metadata", stages=1, threads=256
    ),
    SparseCase((512, 512, 1024), (128, 64, 64), held="metadata", stages=1, bits=32),
    SparseCase((512, 512, 1024), (128, 128, 64), stages=1, threads=256),
]
