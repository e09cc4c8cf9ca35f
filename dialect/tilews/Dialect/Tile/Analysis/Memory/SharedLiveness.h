//===- SharedLiveness.h - Liveness of shared buffers ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::tile {

/// A closed interval of program points, either of one role or of all threads.
///
/// Example: a buffer that is stored at point 3 and loaded last at point 9 lives
/// in [3, 9]. It overlaps [9, 12], and [20, 25] only if both belong to roles,
/// and to different ones.
struct LiveInterval {
  int64_t begin = 0;
  int64_t end = 0;
  /// The role that the interval belongs to; null if it is for all threads.
  mlir::Operation *role = nullptr;

  bool overlaps(const LiveInterval &other) const {
    // Roles run concurrently: nothing orders the points of two of them.
    if (role && other.role && role != other.role)
      return true;
    return begin <= other.end && other.begin <= end;
  }

  /// Prints `[3, 17]`, or `[3, 17] in @load`.
  void print(llvm::raw_ostream &os) const;
};

/// The interval during which each shared buffer holds data: from its first to
/// its last access. Program points are a kernel's operations, numbered in
/// program order. Two rules extend the interval:
///
/// * A loop that accesses a buffer allocated outside of it counts as a whole:
///   an iteration may read what an earlier one wrote.
/// * A buffer that several roles access lives as long as the roles do.
///
/// ```mlir
/// %3 = tile.alloc_shared ...            //  1
/// %4 = tile.alloc_shared ...            //  2
/// tile.store %x to %3[...]              //  3   %3: [3, 8]
/// scf.for %i = %c0 to %n step %c1 {     //  4
///   tile.store %y to %4[...]            //  5   %4: [4, 8]
///   %5 = tile.load %4[...]              //  6
///   %6 = tile.load %3[...]              //  7
/// }                                     //  8 is the scf.yield
/// ```
class SharedLiveness {
public:
  SharedLiveness(mlir::Operation *kernel, const SharedBuffers &buffers);

  /// Returns the interval of a buffer. One that nothing accesses lives at its
  /// allocation.
  LiveInterval getInterval(AllocSharedOp alloc) const;
  /// Returns the interval of memory that only `op` uses.
  LiveInterval getInterval(mlir::Operation *op) const;

  /// Prints the interval of each buffer that is accessed, with the operations
  /// at its ends, in program order of the allocations:
  /// `%3: [3, 8] from tile.store %x, %3 to scf.yield`.
  void print(llvm::raw_ostream &os) const;

private:
  void number(mlir::Operation *op, int64_t &next);
  void addAccess(AllocSharedOp alloc, mlir::Operation *op);

  mlir::Operation *kernel;
  /// The points of an operation together with its regions.
  llvm::DenseMap<mlir::Operation *, LiveInterval> extents;
  llvm::DenseMap<mlir::Operation *, LiveInterval> live;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDLIVENESS_H
