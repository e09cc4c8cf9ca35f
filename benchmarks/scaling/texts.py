"""Pieces of the text of a kernel."""

from __future__ import annotations

from collections.abc import Callable

TYPES = """
#wg = #gpu.address_space<workgroup>
!G = memref<?x64xf16>
!V = memref<?xf16>
!s = memref<64x64xf16, #wg>
!v = memref<64xf16, #wg>
!t = tensor<64xf16>
!a = tensor<64x64xf32>
"""
ARGUMENTS = (
    "%A: !G {tile.divisible = array<i64: 8, 8>}, "
    "%B: !G {tile.divisible = array<i64: 8, 8>}, "
    "%X: !V {tile.divisible = array<i64: 8>}, "
    "%C: memref<64x64xf32>, %Y: memref<64xf16>, %n: index, %on: i1"
)
CONSTANTS = """
%zero = arith.constant dense<0.0> : !a
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c3 = arith.constant 3 : index
%c64 = arith.constant 64 : index
"""


def function(
    body: str,
    name: str = "kernel",
    arguments: str = ARGUMENTS,
    attributes: str = "",
) -> str:
    """A kernel; `attributes` are added to its own, each after a comma."""
    attributes = f"{{tile.threads = 128 : i32{attributes}}}"
    return (
        f"gpu.func @{name}({arguments}) kernel attributes {attributes} {{\n"
        f"{CONSTANTS}{body}\ngpu.return\n}}\n"
    )


def module(functions: str, types: str = TYPES) -> str:
    return f"{types}\ngpu.module @kernels {{\n{functions}}}\n"


def repeat(size: int, line: Callable[[int], str]) -> str:
    return "\n".join(line(i) for i in range(size))


def join(size: int, item: Callable[[int], str]) -> str:
    return ", ".join(item(i) for i in range(size))
