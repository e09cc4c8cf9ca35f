//===- Divisibility.h - Known divisors of index values ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which constants divide an index value, and how wide a region of a buffer can
// therefore be accessed.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H
#define TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"

namespace tilews::tile {

/// Finds constants that divide integer values, through arithmetic, affine maps
/// and loop-carried values. Index arithmetic is assumed not to overflow. A
/// divisor of 0 stands for the value zero, which every number divides.
///
/// ```mlir
/// %base = arith.muli %row, %c64 : index                // 64
/// scf.for %k = %c0 to %n step %c32                     // 32
///     iter_args(%offset = %base) -> (index) {          // 16
///   %next = arith.addi %offset, %c48 : index           // 16 = gcd(16, 48)
///   tile.copy %a[%k, %offset] to %b[%c0, %c0] ...
/// ```
///
/// The copy may then move 16 elements of 1 byte at a time, if the rows of both
/// buffers are as well aligned.
class Divisibility {
public:
  /// Returns a constant that divides `value` whenever it is computed.
  int64_t getDivisor(mlir::Value value);
  int64_t getDivisor(mlir::OpFoldResult value);
  /// Returns a divisor of a buffer's extent: the extent itself if it is static,
  /// otherwise what the kernel argument's `tile.divisible` promises.
  int64_t getExtentDivisor(mlir::Value buffer, int64_t dim);

  /// Returns the alignment in bytes of a buffer's element at `offsets`. It is
  /// never more than that of the buffer itself.
  int64_t getAlignment(mlir::Value buffer,
                       llvm::ArrayRef<mlir::OpFoldResult> offsets);

  /// Returns the largest power of two `v` by which the region can be accessed
  /// in vectors: `v` elements have at most 16 bytes. Each run of `v` elements
  /// along the last dimension that starts at a multiple of `v` is contiguous
  /// and aligned in memory. It lies entirely inside or entirely outside the
  /// buffer. The last two hold for whatever indices the region has along other
  /// dimensions.
  int64_t getVectorElements(const AccessRegion &access);

  /// Prints the divisors found so far.
  void print(llvm::raw_ostream &os) const;

private:
  /// Alignments of a buffer's elements, in bits.
  struct Placement {
    int64_t base;                       // alignment of the first element
    llvm::SmallVector<int64_t> strides; // divisor of each dimension's stride
    int64_t run; // contiguous elements along the last dimension
  };
  Placement getPlacement(mlir::Value buffer);

  llvm::MapVector<mlir::Value, int64_t> known;
  int64_t numEvaluations = 0;
};

/// Returns how many elements a copy can move at a time: the fewer of those that
/// its two regions allow.
int64_t getCopyVectorElements(CopyOp op, Divisibility &divisibility);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_DIVISIBILITY_H
