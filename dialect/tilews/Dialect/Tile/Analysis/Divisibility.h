//===- Divisibility.h - Known divisors of index values ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What index values are multiples of, and how wide a region of a buffer can
// therefore be accessed.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H
#define TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"

namespace tilews::tile {

/// Known divisors of integer values. Index arithmetic is taken not to overflow.
/// A divisor of 0 stands for the value zero, which everything divides.
class Divisibility {
public:
  int64_t getDivisor(mlir::Value value);
  int64_t getDivisor(mlir::OpFoldResult value);
  /// The divisor of a buffer's extent: from its type, or from the kernel
  /// argument's `tile.divisible`.
  int64_t getExtentDivisor(mlir::Value buffer, int64_t dim);

  /// Alignment in bytes of a buffer's element at `offsets`; never more than
  /// that of the buffer itself.
  int64_t getAlignment(mlir::Value buffer,
                       llvm::ArrayRef<mlir::OpFoldResult> offsets);

  /// The largest power of two `v` with `v` elements in at most 16 bytes so that
  /// each run of `v` elements along the region's last dimension, starting at a
  /// multiple of `v`, is adjacent and aligned in memory, and lies inside the
  /// buffer entirely or not at all.
  int64_t getVectorElements(mlir::Value buffer, const TileRegion &region);

private:
  /// What is known of the places of a buffer's elements, in bits.
  struct Placement {
    int64_t base;                       // alignment of the first element
    llvm::SmallVector<int64_t> strides; // divisor of each dimension's stride
    int64_t run; // adjacent elements along the last dimension
  };
  Placement getPlacement(mlir::Value buffer);
  int64_t compute(mlir::Value value);
  int64_t computeArgument(mlir::BlockArgument argument);
  int64_t computeCarried(mlir::BlockArgument argument, mlir::Value init,
                         mlir::Value next);

  llvm::DenseMap<mlir::Value, int64_t> known;
  /// Divisors of loop-carried values that a computation under way assumes.
  llvm::DenseMap<mlir::Value, int64_t> assumed;
};

/// The widest elements a copy can move at a time: what both of its regions
/// allow.
int64_t getCopyVectorElements(CopyOp op, Divisibility &divisibility);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H
