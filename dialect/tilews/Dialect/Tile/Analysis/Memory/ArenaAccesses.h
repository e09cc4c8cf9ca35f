//===- ArenaAccesses.h - Accesses to planned shared memory ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory after `--tile-plan-shared-memory`: operations access ranges of
// bytes, whether through one buffer or through several that share them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSES_H

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaState.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::tile {

/// Returns the bytes of the arena that `access` to the allocation `root` may
/// touch, if `root` is at `offset`.
ArenaAccess getArenaBytes(AllocSharedOp root, int64_t offset,
                          const SharedAccess &access);

/// The accesses of each operation of a kernel.
///
/// ```mlir
/// %a = tile.alloc_shared {tile.offset = 1024} : memref<8x64xf16, #shared>
/// tile.store %x to %a[4, 0] : tensor<4x64xf16> to memref<8x64xf16, #shared>
/// // writes arena [1536, 2048)
/// %s = tile.reduce <sum> %x {axis = 1, tile.offset = 0} ...
/// // scratch: writes arena [0, 256)
/// ```
class ArenaAccesses {
public:
  /// Fails with an error if the shared memory of `kernel` is not planned, or
  /// its control flow is not structured.
  static mlir::FailureOr<ArenaAccesses> get(mlir::gpu::GPUFuncOp kernel,
                                            const TargetInfo &target);

  llvm::ArrayRef<ArenaAccess> get(mlir::Operation *op) const;
  /// Returns the buffers that `op`, a step of a role's transaction, orders: the
  /// accesses before it happen-before those after it. Each is given by the
  /// range of its bytes.
  llvm::ArrayRef<ArenaAccess> getSettled(mlir::Operation *op) const;
  /// Returns the accesses in `loop` that are to other bytes in each iteration.
  /// One barrier before the loop orders them after what comes before it.
  llvm::ArrayRef<ArenaAccess> getMoving(mlir::Operation *loop) const;
  /// Whether wgmma or TMA read the slots of `channel` outside of roles.
  bool isReadByProxy(mlir::Operation *channel) const {
    return readByProxy.contains(channel);
  }

  /// Prints each operation that has accesses, in program order.
  void print(llvm::raw_ostream &os) const;

private:
  mlir::LogicalResult add(mlir::Operation *op, const SharedBuffers &buffers,
                          const TargetInfo &target);
  mlir::LogicalResult addScratch(mlir::Operation *op, const TargetInfo &target);
  void addHandover(mlir::Operation *op);
  mlir::LogicalResult addShared(mlir::Operation *op,
                                const SharedBuffers &buffers);
  void addGlobal(mlir::Operation *op);
  void addSettled(mlir::Operation *op, const SharedBuffers &buffers);
  void findFences();

  using Accesses = llvm::SmallVector<ArenaAccess, 2>;
  llvm::MapVector<mlir::Operation *, Accesses> accesses;
  llvm::DenseMap<mlir::Operation *, Accesses> settled;
  llvm::DenseMap<mlir::Operation *, Accesses> moving;
  llvm::DenseSet<mlir::Operation *> readByProxy;
  llvm::DenseMap<mlir::Operation *, int64_t> channelNumbers;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSES_H
