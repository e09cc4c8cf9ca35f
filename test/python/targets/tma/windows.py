"""Copies of run-time sizes by TMA, in both directions, and what they have to do."""

import numpy as np

import tilews
import tilews.language as tl
from tilews import compiler, ir


@tilews.kernel(threads=128)
def load_rows(
    X: tl.Tensor["M, K:8", tl.f16],
    Y: tl.Tensor["R, N", tl.f16],
    first: tl.i32,
    n: tl.i32,
    BM: tl.constexpr = 64,
    BK: tl.constexpr = 64,
):
    """Y = X[first : first + n], with zeros after the rows and the columns."""
    tl.grid(1)
    S = tl.alloc_shared((BM, BK), tl.f16)
    for k in tl.range(tl.cdiv(Y.shape[1], BK), num_stages=2):
        tl.copy(X[first : first + n, k * BK : k * BK + BK], S)
        Y[0, k * BK] = tl.load(S)


@tilews.kernel(threads=128)
def load_batch(
    X: tl.Tensor["B, M, K:8", tl.f16],
    Y: tl.Tensor["C, R, N", tl.f16],
    start: tl.i32,
    first: tl.i32,
    n: tl.i32,
    BM: tl.constexpr = 64,
    BK: tl.constexpr = 64,
):
    """Y[b] = X[start + b, first : first + n], also where X has no `start + b`."""
    tl.grid(1)
    S = tl.alloc_shared((BM, BK), tl.f16)
    for b in tl.range(Y.shape[0], num_stages=2):
        tl.copy(X[start + b, first : first + n, 0:BK], S)
        Y[b, 0:BM, 0:BK] = tl.load(S)


#: Y[first : end, column:] = X, for 512 rows in two boxes.
STORE_ROWS = """
#wg = #gpu.address_space<workgroup>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @store_rows(
      %X: memref<512x32xf32> {tile.name = "X"},
      %Y: memref<?x?xf32> {tile.name = "Y", tile.divisible = array<i64: 1, 4>},
      %first: index {tile.name = "first"}, %end: index {tile.name = "end"},
      %column: index {tile.name = "column"})
      kernel attributes {tile.threads = 256 : i32,
                         tile.grid = affine_map<()[s0, s1, s2, s3, s4] -> (1)>} {
    %x = tile.load %X[0, 0] : memref<512x32xf32> -> tensor<512x32xf32>
    %S = tile.alloc_shared : memref<512x32xf32, #wg>
    tile.store %x to %S : tensor<512x32xf32> to memref<512x32xf32, #wg>
    tile.copy %S to %Y[%first, %column] limit(0 = %end) {tile.inst = #tile.inst<tma>}
      : memref<512x32xf32, #wg> to memref<?x?xf32>
    gpu.return
  }
}
"""


def compile_store_rows(index_bitwidth: int = 32) -> compiler.CompiledKernel:
    with ir.Context():
        return compiler.compile_module(
            ir.Module.parse(STORE_ROWS), "sm_90a", index_bitwidth=index_bitwidth
        )


def rows_of(x: np.ndarray, first: int, n: int, shape: tuple[int, int]) -> np.ndarray:
    """A region of a matrix that starts at row `first` and has n rows at most."""
    found = np.zeros(shape, x.dtype)
    if first >= 0 and n > 0:
        part = x[first : first + n][: shape[0], : shape[1]]
        found[: part.shape[0], : part.shape[1]] = part
    return found


def places(rows: int, tile: int) -> list[tuple[int, int]]:
    """First rows and numbers of rows, for an array of `rows` and tiles of `tile` rows.

    There are none, one, some and all, before the array, at its edges and after it.
    """
    return [
        (first, n)
        for first in (-1000, -3, 0, 5, rows - 2, rows, rows + 7)
        for n in (-3, 0, 1, tile // 2, tile)
    ]
