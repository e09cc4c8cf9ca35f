//===- IterationRegions.h - Regions that move with a loop -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ITERATIONREGIONS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ITERATIONREGIONS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Returns by how much `value` grows with each iteration of `loop`, if that is
/// a constant: 32 for `%iv * 16 + %x` in a loop with a step of 2, and 0 for a
/// value from outside of the loop.
std::optional<int64_t> getGrowth(mlir::Value value, mlir::scf::ForOp loop);

/// A loop in each of whose iterations a region is somewhere else. Two regions
/// with one `offset` along one `dim` are disjoint in different iterations of
/// one `loop`.
struct IterationRegion {
  mlir::scf::ForOp loop;
  /// The offset that moves, along dimension `dim` of the buffer.
  mlir::Value offset;
  unsigned dim = 0;
  int64_t growth = 0;
};

/// Returns the innermost loop around `op` with which an offset of `region`
/// moves, if it moves by at least the size of the region. For
///
/// ```mlir
/// scf.for %i = %c0 to %c64 step %c1 {
///   %m = arith.muli %i, %c4 : index
///   tile.store %x to %a[%m, 0] : tensor<4x64xf32> to memref<256x64xf32, ...>
/// ```
///
/// that is the loop, with the offset %m along dimension 0. With an offset of %i
/// the stores of two iterations would have rows in common, and the result is
/// none.
std::optional<IterationRegion> getIterationRegion(const TileRegion &region,
                                                  mlir::Operation *op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ITERATIONREGIONS_H
