//===- MemoryAccesses.h - Memory accesses of operations ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses to memory before shared memory is planned. Buffers are distinguished
// by the allocation or the kernel argument that they are made from, never by
// their address. ArgumentAliases.h says which arguments may overlap.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H

#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::tile {

class BriefPrinter;

/// An access to shared or global memory and the operation that makes it.
///
/// Example: `tile.copy %A[%i, 0] to %a` has two. It reads global memory, where
/// `argument` is %A, and writes shared memory, where `roots` has the allocation
/// that %a is a view of.
struct MemoryAccess {
  mlir::Operation *op;
  SharedAccess access;
  bool shared;
  /// For shared memory: the allocations that it may be; none if unknown.
  SharedBuffers::Roots roots;
  /// For global memory: the kernel's argument; null if unknown. An acquire
  /// counts as a write of unknown global memory, a release as a read; for a
  /// fence these have no operand.
  mlir::BlockArgument argument;

  bool reads() const { return access.reads(); }
  bool writes() const { return access.writes(); }
  /// Returns whether both may be accesses to the same buffer.
  bool mayAlias(const MemoryAccess &other) const;
  /// Returns whether the order of the two may matter. Atomic operations of one
  /// kind commute, except exchanges.
  bool conflictsWith(const MemoryAccess &other) const;

  /// Returns why `write` conflicts with this read, if both do not name the same
  /// memory: ": 'C' may overlap 'A' (tile.may_alias)", or that the write stands
  /// for an acquire. Empty otherwise.
  std::string describeAlias(const MemoryAccess &write) const;

  /// Prints "writes shared %3[0, %5] 16x64".
  void print(BriefPrinter &printer) const;
};

/// Returns the allocation that `buffer` is, or is a view of; null for a buffer
/// that control flow passed on.
AllocSharedOp getViewedAlloc(mlir::Value buffer);

/// The accesses of a kernel's operations. For
///
/// ```mlir
/// %3 = tile.alloc_shared : memref<64x64xf16, #shared>
/// tile.copy %arg0[%m, %k] to %3[0, 0] [64, 64] : ...
/// memref.store %x, %3[%i, %j] : ...
/// ```
///
/// it prints
///
/// ```
/// tile.copy %arg0, %m, %k, %3
///   writes shared %3[0, 0] 64x64
///   reads global %arg0[%m, %k] 64x64
/// memref.store %x, %3, %i, %j
///   writes shared %3
/// ```
///
/// A buffer that control flow passed on is followed by all allocations that it
/// may be: `reads shared %7 of %3, %4`.
class MemoryAccesses {
public:
  explicit MemoryAccesses(mlir::Operation *kernel)
      : kernel(kernel), buffers(kernel) {}

  /// Returns the accesses of `op` and of all operations in its regions, in
  /// program order.
  llvm::SmallVector<MemoryAccess, 0> get(mlir::Operation *op) const;
  const SharedBuffers &getBuffers() const { return buffers; }
  /// Returns whether `alloc` and its views are only accessed, not passed on.
  /// Looks at the uses of a buffer once, however many loops ask.
  bool isOnlyAccessed(AllocSharedOp alloc) const;

  void print(llvm::raw_ostream &os) const;

private:
  mlir::Operation *kernel;
  SharedBuffers buffers;
  mutable llvm::DenseMap<mlir::Operation *, bool> onlyAccessed;
};

/// Returns whether `op`, its regions included, changes nothing: it is free of
/// side effects or only reads memory.
bool onlyReads(mlir::Operation *op);

/// A write, and the statement of a loop that it is part of: an ancestor of
/// `access->op`, or that operation itself.
struct Write {
  const MemoryAccess *access;
  mlir::Operation *statement;
};
/// Returns whether the boxes that `writes` write into `alloc` cover everything
/// that `read` reads of it. A write counts for all iterations of the loops
/// between it and its statement together: with a trip count of 4 and steps of
/// 16, the store in
///
/// ```mlir
/// scf.for %i = %c0 to %c64 step %c16 {   // the statement
///   tile.store %x to %a[%i, 0] : tensor<16x64xf16> to memref<64x64xf16, ...>
/// ```
///
/// covers all 64 rows of %a.
bool isCovered(AllocSharedOp alloc, const MemoryAccess &read,
               llvm::ArrayRef<Write> writes);
/// Returns whether two accesses to `alloc` may touch the same elements.
bool mayOverlap(AllocSharedOp alloc, const MemoryAccess &a,
                const MemoryAccess &b);

/// Returns whether an operation may read the elements of `buffer`, itself or
/// through a view.
bool hasReaders(mlir::Value buffer);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H
