"""The cases of each group of benchmarks."""

from __future__ import annotations

import dataclasses
from typing import Any

RAGGED = (1000, 1031, 517)
#: How A and B are stored: N as in A (M, K) and B (K, N), T transposed.
LAYOUTS = ("NN", "NT", "TN", "TT")
CHIPS = ("sm_80", "sm_90a", "gfx942", "gfx1100")


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem that every implementation solves.

    Attributes:
        group: ``gemm``, ``sparse``, ``attention`` or ``softmax``.
        shape: M, N, K of a matmul; batches, heads, length and depth of an attention;
            rows and columns of a softmax.
        dtype: element type of the inputs, by its name in ``tilews.language``.
        layout: one of :data:`LAYOUTS` for a matmul, ``2:4`` or ``blocks`` for a sparse
            matmul, ``full`` or ``causal`` for an attention.
    """

    group: str
    shape: tuple[int, ...]
    dtype: str
    layout: str = ""

    @property
    def title(self) -> str:
        """The case in a few words."""
        shape = "x".join(map(str, self.shape))
        return " ".join(filter(None, (self.group, shape, self.dtype, self.layout)))

    def to_json(self) -> dict[str, Any]:
        """The case as a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Case:
        """The case of :meth:`to_json`."""
        return cls(**{**fields, "shape": tuple(fields["shape"])})


def _cube(n: int) -> tuple[int, int, int]:
    return (n, n, n)


def gemm_cases(quick: bool) -> list[Case]:
    """The matmuls; fp8 only in the layout that tensor cores read."""
    if quick:
        return [
            Case("gemm", _cube(8192), "f16", "NT"),
            Case("gemm", _cube(4096), "e4m3", "NT"),
            Case("gemm", RAGGED, "bf16", "NN"),
        ]
    plain = [
        Case("gemm", shape, dtype, "NT")
        for dtype in ("f16", "bf16", "e4m3")
        for shape in (_cube(8192), _cube(4096), RAGGED)
    ]
    depths = [
        Case("gemm", (8192, 8192, depth), "f16", "NT")
        for depth in (256, 512, 1024, 2048, 4096, 16384)
    ]
    small = [Case("gemm", _cube(2048), dtype, "NT") for dtype in ("f16", "bf16")]
    transposed = [
        Case("gemm", shape, "f16", layout)
        for layout in LAYOUTS
        for shape in (_cube(4096), RAGGED)
    ]
    return list(dict.fromkeys(plain + small + depths + transposed))


def sparse_cases(quick: bool) -> list[Case]:
    """Matmuls with a 2:4 sparse left operand, and matmuls that skip blocks."""
    sizes = (4096,) if quick else (4096, 8192, 1024)
    structured = [Case("sparse", _cube(n), "f16", "2:4") for n in sizes]
    return [*structured, Case("sparse", _cube(1024), "f16", "blocks")]


def attention_cases(quick: bool) -> list[Case]:
    """The forward attentions."""
    shapes = (
        ((8, 32, 4096, 128),) if quick else ((8, 32, 4096, 128), (4, 16, 8192, 128))
    )
    return [
        Case("attention", shape, "bf16", mask)
        for shape in shapes
        for mask in ("full", "causal")
    ]


def softmax_cases(quick: bool) -> list[Case]:
    """The row softmaxes."""
    dtypes = ("f16",) if quick else ("f16", "bf16", "f32")
    return [Case("softmax", (4096, 8192), dtype) for dtype in dtypes]


def compile_chips(quick: bool) -> tuple[str, ...]:
    """The chips that the compile-time benchmark compiles for."""
    return ("sm_90a", "gfx942") if quick else CHIPS
