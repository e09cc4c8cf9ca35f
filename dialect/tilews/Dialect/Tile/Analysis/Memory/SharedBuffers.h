//===- SharedBuffers.h - Points-to sets of shared buffers -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilews::tile {

/// What one operation does to memory through one operand.
struct SharedAccess {
  mlir::OpOperand *operand;
  AccessKind kind;
  /// The part of the buffer, if the operation says so. A gather does not: its
  /// elements may be anywhere.
  std::optional<TileRegion> region;
  /// Set if the access combines atomically.
  std::optional<AtomicKind> atomic;

  bool reads() const { return kind != AccessKind::Write; }
  bool writes() const { return kind != AccessKind::Read; }
};

/// Returns the accesses to shared memory that `op` itself makes, without those
/// in its regions and without its scratch memory. An operation with unknown
/// effects reads and writes every shared buffer that it takes.
llvm::SmallVector<SharedAccess> getSharedAccesses(mlir::Operation *op);
/// Returns the same for memory that is not shared.
llvm::SmallVector<SharedAccess> getGlobalAccesses(mlir::Operation *op);

/// Returns the bytes of shared memory that the kernel needs if no buffers share
/// any.
int64_t countSharedBytes(mlir::gpu::GPUFuncOp kernel);

/// The allocations that each shared memref of a kernel may be, through views,
/// selections and values that control flow passes on. For
///
/// ```mlir
/// %3 = tile.alloc_shared : memref<64x64xf16, #shared>
/// %4 = tile.alloc_shared : memref<64x64xf16, #shared>
/// %5 = scf.for ... iter_args(%arg1 = %3) -> (memref<64x64xf16, #shared>) {
///   scf.yield %4 : ...
/// ```
///
/// it prints `%5: %3, %4` and `%arg1: %3, %4`.
class SharedBuffers {
public:
  using Roots = llvm::SmallSetVector<AllocSharedOp, 1>;

  explicit SharedBuffers(mlir::Operation *kernel);

  /// Returns the allocations that `buffer` may be, in program order; none for
  /// memory that no `tile.alloc_shared` made.
  const Roots &getRoots(mlir::Value buffer) const;

  void print(llvm::raw_ostream &os) const;

private:
  bool flow(mlir::Value from, mlir::Value to);
  bool visit(mlir::Operation *op);

  llvm::SmallVector<AllocSharedOp> allocs;
  llvm::MapVector<mlir::Value, Roots> roots;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDBUFFERS_H
