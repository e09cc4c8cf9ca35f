//===- WrittenRegions.h - Regions that a run writes to ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_WRITTENREGIONS_H
#define TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_WRITTENREGIONS_H

#include "Verifier/Symbolic/ViewedRegions.h"

#include "llvm/ADT/DenseMap.h"

namespace tilews::verifier {

/// The region of a version of a shared buffer that an operation writes to. Its
/// slot and its offsets may be values.
struct WrittenRegion {
  tile::AllocSharedOp buffer;
  /// Null if the operation names the buffer itself.
  mlir::Value slot;
  /// The type under which the write sees the slot or buffer.
  mlir::MemRefType memory;
  ViewedRegion region;
  /// What a store distributes to threads; null for copies and others.
  mlir::Type stored;

  /// The slot, or 0, and the offsets in each dimension.
  llvm::SmallVector<mlir::OpFoldResult> getNumbers() const;
};

/// The region that `op` writes to; nullopt if it writes to none, or to several,
/// or if the region is not known.
std::optional<WrittenRegion> findWrittenRegion(mlir::Operation *op);

/// Whether two writes overlap, given their numbers, and different threads may
/// make them: two stores of the same elements by the same threads do not
/// count.
bool overlap(const WrittenRegion &a, llvm::ArrayRef<int64_t> numbersOfA,
             const WrittenRegion &b, llvm::ArrayRef<int64_t> numbersOfB);

/// Whether earlier writes of the same task may have ended when it has executed
/// `op`: it waits for something.
bool mayEndWrites(mlir::Operation *op);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_WRITTENREGIONS_H
