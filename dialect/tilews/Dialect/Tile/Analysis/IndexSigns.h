//===- IndexSigns.h - Index values that are not negative --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a region of a buffer can begin before the buffer.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_INDEXSIGNS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_INDEXSIGNS_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {

/// Finds integer values that are never negative, through arithmetic, affine
/// maps and loop-carried values. Index arithmetic is assumed not to overflow.
///
/// ```mlir
/// %block = gpu.block_id x
/// %m = arith.muli %block, %c128 : index            // is not negative
/// scf.for %k = %c0 to %n step %c32 {               // is not negative
///   %before = arith.subi %k, %c1 : index           // may be
/// ```
class IndexSigns {
public:
  /// Returns whether `value` is 0 or more whenever it is computed.
  bool isNonNegative(mlir::Value value);
  bool isNonNegative(mlir::OpFoldResult value);

  /// Prints the facts found so far. The example prints, among others,
  ///
  /// ```
  /// %k: 0 or more
  /// %before: any
  /// ```
  void print(llvm::raw_ostream &os) const;

private:
  /// Whether a value may be negative.
  llvm::MapVector<mlir::Value, bool> known;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_INDEXSIGNS_H
