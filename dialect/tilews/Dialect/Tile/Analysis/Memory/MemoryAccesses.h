//===- MemoryAccesses.h - What operations do to memory ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory before it is planned: buffers are told apart by the allocation or the
// kernel argument they are made from, never by their place.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::tile {

/// An access to shared or global memory and the operation that makes it.
struct MemoryAccess {
  mlir::Operation *op;
  SharedAccess access;
  bool shared;
  /// Shared memory: the allocations it may be, none if they are not known.
  SharedBuffers::Roots roots;
  /// Global memory: the kernel's argument, null if it is not known.
  mlir::Value argument;

  bool reads() const { return access.reads(); }
  bool writes() const { return access.writes(); }
  /// Whether both may mean the same buffer.
  bool mayAlias(const MemoryAccess &other) const;
  /// Whether the order of the two may matter. Arguments that are written do not
  /// overlap others; atomic combinations of one kind commute.
  bool conflictsWith(const MemoryAccess &other) const;
};

/// The allocation that `buffer` is, or is a view of; null for a buffer that
/// control flow passed on.
AllocSharedOp getViewedAlloc(mlir::Value buffer);

/// The slot that `buffer` is, or is a view of; null if it is none.
SlotOp getViewedSlot(mlir::Value buffer);

/// The channel that hands on `buffer`, an allocation; null if there is none.
ChannelOp getChannelOf(mlir::Value buffer);

/// The accesses of a kernel's operations.
class MemoryAccesses {
public:
  explicit MemoryAccesses(mlir::Operation *kernel) : buffers(kernel) {}

  /// The accesses of `op` and of all operations in its regions, in order.
  llvm::SmallVector<MemoryAccess, 0> get(mlir::Operation *op) const;
  const SharedBuffers &getBuffers() const { return buffers; }

private:
  SharedBuffers buffers;
};

/// Whether `op`, its regions included, changes nothing: it is free of side
/// effects or only reads memory.
bool onlyReads(mlir::Operation *op);

/// Whether the boxes that `writes` write into `alloc` cover everything that
/// `read` reads of it. A write counts for what all turns of the loops between
/// it and `statement`, its ancestor or itself, write together.
struct Write {
  const MemoryAccess *access;
  mlir::Operation *statement;
};
bool isCovered(AllocSharedOp alloc, const MemoryAccess &read,
               llvm::ArrayRef<Write> writes);

/// Whether two accesses to `alloc` may touch the same elements.
bool mayOverlap(AllocSharedOp alloc, const MemoryAccess &a,
                const MemoryAccess &b);

/// Whether an operation may read the elements of `buffer`; views of it count.
bool hasReaders(mlir::Value buffer);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_MEMORYACCESSES_H
