//===- RoleAssignment.h - Partition of kernels into roles -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLEASSIGNMENT_H
#define TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLEASSIGNMENT_H

#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleSlice.h"

namespace tilews::tile {

/// The split of a kernel with channels into a load role, which fills the
/// channels, and a math role, which does the rest. Each operation with an
/// effect belongs to one role. Each role computes the scalars, loops, guards
/// and cursors that its operations need for itself, so that it must not need a
/// result that the other role computes by an effect.
///
/// ```mlir
/// %n = memref.load %sizes[%b]           // load, math
/// scf.for %k = %c0 to %n step %c64 {    // load, math
///   tile.acquire %c[%w]                 // load
///   tile.copy %A[%m, %k] to %slot       // load
///   tile.commit %c[%w]                  // load
///   tile.wait %c[%r]                    //       math
///   %acc2 = tile.gemm %slot2, %b, %acc  //       math
///   tile.release %c[%r]                 //       math
/// }
/// tile.store %result to %C[%m, %j]      //       math
/// ```
///
/// If %sizes were shared memory that the kernel fills before the loop, that
/// filling would be the *prelude*: all threads execute it before roles start.
class RoleAssignment {
public:
  /// `more` are buffers that will get channels later.
  explicit RoleAssignment(mlir::gpu::GPUFuncOp kernel,
                          llvm::ArrayRef<AllocSharedOp> more = {})
      : kernel(kernel), memory(kernel),
        channelBuffers(more.begin(), more.end()) {}

  /// Assigns all operations, or returns the reason why that is not possible.
  MaybeRefusal run(const TargetInfo &target);

  /// Returns the operations of the kernel's body that all threads execute
  /// first.
  const llvm::DenseSet<mlir::Operation *> &getPrelude() const {
    return prelude;
  }
  const RoleSlice &getLoad() const { return load; }
  const RoleSlice &getMath() const { return math; }
  int64_t getLoadWarps() const { return loadWarps; }

  /// A read of shared memory that the load role needs but the math role fills,
  /// and the copy that fills it. The read has to be replaced by one of the
  /// copy's source, and roles assigned again. Reads by which the math role
  /// decides when to wait are replaced as well, so that both roles decide
  /// alike.
  struct CopiedRead {
    mlir::Operation *op;
    CopyOp copy;
  };
  llvm::ArrayRef<CopiedRead> getCopiedReads() const { return copiedReads; }

  /// Prints the roles of each operation in program order:
  ///
  /// ```
  /// load warps: 1
  /// load, math: %5 = scf.for %c0, %4, %c64, %cst
  /// load: tile.acquire %2, %arg5
  /// ```
  void print(llvm::raw_ostream &os) const;

private:
  MaybeRefusal checkThreads(const TargetInfo &target);
  MaybeRefusal assign();
  bool fillsChannel(mlir::Operation *op) const;
  bool readsChannel(mlir::Operation *op) const;
  void findPrelude();
  llvm::DenseSet<mlir::Operation *> findLoadBuffers() const;
  void claimLoadBuffers();
  void keepInPrelude(mlir::Operation *op);
  MaybeRefusal checkPrelude() const;
  MaybeRefusal checkLoad();
  MaybeRefusal checkRead(mlir::Operation *op,
                         llvm::ArrayRef<MemoryAccess> mathWrites) const;
  bool isCopied(mlir::Operation *op);
  void findPeerReads();
  mlir::Operation *findLoop(mlir::Operation *op) const;
  llvm::SmallVector<MemoryAccess, 0>
  findWrites(llvm::ArrayRef<mlir::Operation *> ops) const;
  MaybeRefusal checkWriters(mlir::Operation *reader,
                            llvm::ArrayRef<mlir::Operation *> writers,
                            llvm::ArrayRef<MemoryAccess> writes,
                            llvm::StringRef reason) const;

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
