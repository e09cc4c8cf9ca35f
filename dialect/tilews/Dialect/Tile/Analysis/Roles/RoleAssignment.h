//===- RoleAssignment.h - Which role does what ------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLEASSIGNMENT_H
#define TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLEASSIGNMENT_H

#include "tilews/Dialect/Tile/Analysis/Refusal.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleSlice.h"

namespace tilews::tile {

/// Who does what in a kernel with channels. Each operation with an effect
/// belongs to one role. What a role needs to get there, scalars, loops, guards
/// and cursors, each role computes for itself: so a role must not need what
/// another one computes by an effect.
class RoleAssignment {
public:
  /// `more` are buffers that channels are still to be made for.
  explicit RoleAssignment(mlir::gpu::GPUFuncOp kernel,
                          llvm::ArrayRef<AllocSharedOp> more = {})
      : kernel(kernel), memory(kernel),
        channelBuffers(more.begin(), more.end()) {}

  /// Assigns all operations, or says why it cannot.
  MaybeRefusal run(const TargetInfo &target);

  /// Operations of the kernel's body that all threads execute first.
  const llvm::DenseSet<mlir::Operation *> &getPrelude() const {
    return prelude;
  }
  const RoleSlice &getLoad() const { return load; }
  const RoleSlice &getMath() const { return math; }
  int64_t getLoadWarps() const { return loadWarps; }

  /// What the load role reads from shared memory that the other role fills, and
  /// the copy that brings it there. It has to be read from the copy's source
  /// instead, and roles assigned again. Where the math role reads the same to
  /// decide when it waits, it does so in the same way: both have to agree.
  struct CopiedRead {
    mlir::Operation *op;
    CopyOp copy;
  };
  llvm::ArrayRef<CopiedRead> getCopiedReads() const { return copiedReads; }

private:
  MaybeRefusal checkThreads(const TargetInfo &target);
  MaybeRefusal assign();
  bool fillsChannel(mlir::Operation *op) const;
  bool readsChannel(mlir::Operation *op) const;
  void findPrelude();
  void keepInPrelude(mlir::Operation *op);
  MaybeRefusal checkPrelude() const;
  MaybeRefusal checkLoad();
  MaybeRefusal checkRead(mlir::Operation *op) const;
  bool isCopied(mlir::Operation *op);
  void findPeerReads();
  mlir::Operation *findLoop(mlir::Operation *op) const;
  mlir::Operation *findWriter(mlir::Operation *reader,
                              llvm::ArrayRef<mlir::Operation *> writers) const;

  mlir::gpu::GPUFuncOp kernel;
  MemoryAccesses memory;
  llvm::DenseSet<mlir::Operation *> channelBuffers;
  llvm::SmallVector<mlir::Operation *> loadEffects, mathEffects, preludeEffects;
  llvm::DenseSet<mlir::Operation *> prelude;
  RoleSlice load, math;
  llvm::SmallVector<CopiedRead> copiedReads;
  int64_t loadWarps = 1;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLEASSIGNMENT_H
