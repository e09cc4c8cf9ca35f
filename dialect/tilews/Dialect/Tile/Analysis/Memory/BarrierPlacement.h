//===- BarrierPlacement.h - Placement of barriers ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_BARRIERPLACEMENT_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_BARRIERPLACEMENT_H

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include <memory>

namespace tilews::tile {

/// The operations of a kernel that need a barrier before them, so that all
/// conflicting accesses to shared and global memory are ordered. No barrier is
/// left that the others make redundant. A barrier in a role is for the role's
/// threads.
///
/// ```mlir
/// scf.for ... {
///   tile.store %x to %a[...]    // barrier: the last iteration has read %a
///   %y = tile.load %a[...]      // barrier: this iteration has written it
/// }
/// ```
class BarrierPlacement {
public:
  BarrierPlacement(mlir::gpu::GPUFuncOp kernel, const ArenaAccesses &accesses);

  /// Barriers by the operation that they go before.
  using Barriers = llvm::MapVector<mlir::Operation *, BarrierKind>;
  const Barriers &getBarriers() const { return barriers; }

  /// Whether a wait outside of roles, which synchronizes the threads, also
  /// fences.
  bool isFence(WaitOp wait) const;

  void print(llvm::raw_ostream &os) const;

private:
  // Transfer functions.
  void advance(mlir::Operation *op, ArenaState &state) const;
  void flow(mlir::Operation *op, mlir::Block *from, const ArenaState &state,
            llvm::MutableArrayRef<ArenaState> into, ArenaState &result) const;
  BarrierKind findKind(llvm::ArrayRef<ArenaAccess> own,
                       const ArenaState &state) const;
  llvm::SmallVector<ArenaAccess> getRoleAccesses(SpecializeOp op) const;

  // The fixpoint.
  bool simulate(bool mayAdd);
  ArenaState visitBlock(mlir::Block &block, ArenaState state);
  void visit(mlir::Operation *op, ArenaState &state);
  void order(mlir::Operation *op, llvm::ArrayRef<ArenaAccess> own,
             ArenaState &state);
  ArenaState visitRoles(SpecializeOp op, const ArenaState &in);
  ArenaState visitRegions(mlir::Operation *op, const ArenaState &in);

  // Redundant barriers.
  class Removal;
  void dropRedundant();

  /// The states of the visits to an operation with regions.
  struct RegionStates {
    ArenaState in;
    /// Before and after its regions, and after the operation.
    llvm::SmallVector<ArenaState> into, out;
    ArenaState result;
    /// Whether these are a fixpoint for the present barriers.
    bool settled = false;
  };
  RegionStates &getRegionStates(mlir::Operation *op);

  mlir::gpu::GPUFuncOp kernel;
  const ArenaAccesses &accesses;
  /// The most groups of copies that a wait leaves under way.
  int64_t mostPending = 0;

  Barriers barriers;
  /// What the barriers have to do according to the present simulation.
  llvm::DenseMap<mlir::Operation *, BarrierKind> kinds;
  /// The states before barriers.
  llvm::DenseMap<mlir::Operation *, ArenaState> before;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<RegionStates>> regionStates;
  /// Operations that states have passed without a barrier.
  llvm::DenseSet<mlir::Operation *> passed;
  /// Counts decisions that make earlier states too large.
  int64_t revisions = 0;
  bool adding = false;
  bool safe = true;
  int64_t numVisits = 0;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_BARRIERPLACEMENT_H
