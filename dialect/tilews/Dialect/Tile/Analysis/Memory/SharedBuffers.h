//===- SharedBuffers.h - Who touches which shared buffer --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tilews::tile {

/// What one operation does to shared memory through one operand.
struct SharedAccess {
  mlir::OpOperand *operand;
  AccessKind kind;
  /// The part of the buffer, if the operation says so.
  std::optional<TileRegion> region;
  /// Set if the access combines atomically.
  std::optional<AtomicKind> atomic;

  bool reads() const { return kind != AccessKind::Write; }
  bool writes() const { return kind != AccessKind::Read; }
};

/// The accesses to shared memory that `op` itself makes, without those in its
/// regions and without its scratch memory. An operation that is not known and
/// takes a shared buffer counts as reading and writing it.
llvm::SmallVector<SharedAccess> getSharedAccesses(mlir::Operation *op);
/// The same for memory that is not shared.
llvm::SmallVector<SharedAccess> getGlobalAccesses(mlir::Operation *op);

/// Bytes of shared memory that the kernel needs if no buffers share any.
int64_t countSharedBytes(mlir::gpu::GPUFuncOp kernel);

/// For each shared memref of a kernel the allocations it may be: through views,
/// selections and values that control flow passes on.
class SharedBuffers {
public:
  using Roots = llvm::SmallSetVector<AllocSharedOp, 1>;

  explicit SharedBuffers(mlir::Operation *kernel);

  /// Empty for memory that no `tile.alloc_shared` made.
  const Roots &getRoots(mlir::Value buffer) const;
  /// In program order.
  llvm::ArrayRef<AllocSharedOp> getAllocs() const { return allocs; }

private:
  bool flow(mlir::Value from, mlir::Value to);
  bool visit(mlir::Operation *op);

  llvm::SmallVector<AllocSharedOp> allocs;
  llvm::DenseMap<mlir::Value, Roots> roots;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H
