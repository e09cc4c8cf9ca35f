//===- RowCopies.h - Loops that copy one part at a time ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ROWCOPIES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ROWCOPIES_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

class Divisibility;

/// A copy that fills a part of a shared buffer in each iteration of a loop, so
/// that few of the threads copy, while one copy of all parts would use more.
struct RowCopy {
  CopyOp copy;
  mlir::scf::ForOp loop;
  /// The elements of an iteration, and how many threads have a vector of them.
  int64_t elements = 0;
  int64_t busyThreads = 0;
  /// The dimensions of the source along which the parts are at indices that do
  /// not grow evenly, such as those that the loop loads. None if the parts are
  /// one region.
  llvm::SmallVector<unsigned> indexedDims;
};

/// Returns what `copy` does as a part of such a loop. For
///
/// ```mlir
/// scf.for %r = %c0 to %c64 step %c1 {
///   %i = memref.load %ids[%r] : memref<?xindex>
///   tile.copy %A[%i, 0] [1, 64] to %s[%r, 0] [1, 64] : memref<?x64xf16> to ...
/// }
/// ```
///
/// 8 of 128 threads are busy with 64 elements, and dimension 0 is indexed. One
/// copy can have the same effect, so that the loop accesses the buffer in no
/// other way, writes nothing that the copy or its indices are read from, and
/// carries no values to them.
std::optional<RowCopy> findRowCopy(CopyOp copy, Divisibility &divisibility);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ROWCOPIES_H
