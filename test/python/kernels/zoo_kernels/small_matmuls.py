"""Matmuls of fp8, fp6 and fp4 with scales of 32 elements, and what they compute."""

import ml_dtypes
import numpy as np

import tilews
import tilews.language as tl

#: The types of OCP's MX formats. fp6 is packed in arrays of bytes.
TYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}


@tilews.kernel(threads=128)
def multiply(
    A: tl.Tensor["M, KA", "TA"],
    B: tl.Tensor["N, KB", "TB"],
    SA: tl.Tensor["M, K32", tl.e8m0],
    SB: tl.Tensor["N, K32", tl.e8m0],
    C: tl.Tensor["M, N", tl.f32],
    LHS: tl.constexpr,
    RHS: tl.constexpr,
    BN: tl.constexpr,
):
    """Blocks of 64 x BN, 128 elements along K at a time."""
    i, j = tl.grid(tl.cdiv(C.shape[0], 64), tl.cdiv(C.shape[1], BN))
    WA: tl.constexpr = 128 if LHS is None else 96
    WB: tl.constexpr = 128 if RHS is None else 96
    a, b = tl.alloc_shared((64, WA), A.dtype), tl.alloc_shared((BN, WB), B.dtype)
    acc = tl.zeros((64, BN), tl.f32)
    for k in tl.range(tl.cdiv(SA.shape[1], 4), num_stages=2):
        tl.copy(A[i * 64, k * WA], a)
        tl.copy(B[j * BN, k * WB], b)
        acc = tl.gemm(
            a,
            b,
            acc,
            transpose_rhs=True,
            lhs_scale=tl.load(SA[i * 64, k * 4], (64, 4)),
            rhs_scale=tl.load(SB[j * BN, k * 4], (BN, 4)),
            lhs_type=LHS,
            rhs_type=RHS,
        )
    C[i * 64, j * BN] = acc


class MxMatrix:
    """Random elements of a type with scales, as arrays that a kernel takes.

    Attributes:
        array, scales: the arguments.
        values: what they stand for, in f64.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        rng: np.random.Generator,
        exponents: tuple[int, ...] = tuple(range(122, 133)),
    ) -> None:
        rows, depth = shape
        elements = rng.uniform(-4, 4, shape).astype(TYPES[name])
        codes = rng.choice(exponents, (rows, -(-depth // 32))).astype(np.uint8)
        self.scales = codes.view(ml_dtypes.float8_e8m0fnu)
        self.name = name
        is_packed = name in ("e2m3", "e3m2", "e2m1")
        self.array = tilews.pack_elements(elements) if is_packed else elements
        factors = np.repeat(self.scales.astype(np.float64), 32, axis=1)[:, :depth]
        self.values = elements.astype(np.float64) * factors

    @property
    def dtype(self) -> tl.DType:
        """The element type of the array in the kernel."""
        return tl.u8 if self.packed_type else getattr(tl, self.name)

    @property
    def packed_type(self) -> tl.DType | None:
        """The type that is packed in bytes without the kernel's knowledge."""
        return getattr(tl, self.name) if self.name in ("e2m3", "e3m2") else None


def specialize(lhs: MxMatrix, rhs: MxMatrix, columns: int) -> dict[str, object]:
    """The constexpr arguments of the matmul of two operands."""
    return {
        "TA": lhs.dtype,
        "TB": rhs.dtype,
        "LHS": lhs.packed_type,
        "RHS": rhs.packed_type,
        "BN": columns,
    }
