//===- SharedLiveness.h - When shared memory is in use ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::tile {

/// A closed interval of program points, those of one role or of all threads.
struct LiveInterval {
  int64_t begin = 0;
  int64_t end = 0;
  /// Null unless only this role is concerned.
  mlir::Operation *role = nullptr;

  bool overlaps(const LiveInterval &other) const {
    // What two roles do happens at any time.
    if (role && other.role && role != other.role)
      return true;
    return begin <= other.end && other.begin <= end;
  }
};

/// The interval of a kernel's operations, numbered in program order, over which
/// each shared buffer holds something: from its first to its last access, and
/// over the whole of a loop that accesses a buffer made outside of it. A loop
/// may read in one turn what it wrote in another. A buffer that several roles
/// access lives as long as the roles do.
class SharedLiveness {
public:
  SharedLiveness(mlir::Operation *kernel, const SharedBuffers &buffers);

  /// A buffer that nothing accesses lives at its allocation.
  LiveInterval getInterval(AllocSharedOp alloc) const;
  /// Of memory that only `op` uses.
  LiveInterval getInterval(mlir::Operation *op) const;

private:
  void number(mlir::Operation *op, int64_t &next);
  void addAccess(AllocSharedOp alloc, mlir::Operation *op);

  /// An operation together with its regions.
  llvm::DenseMap<mlir::Operation *, LiveInterval> extents;
  llvm::DenseMap<mlir::Operation *, LiveInterval> live;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H
