//===- SplitSums.h - Loops that blocks can run in parts ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several blocks can share a loop that only sums up: each block runs some of
// the iterations and adds its partial sum to memory atomically. Every block
// repeats the rest of the kernel, which must therefore have no effect. For
// example,
//
//   %sum = scf.for %k = ... iter_args(%acc = %zero) { ... tile.gemm ... %acc }
//   tile.atomic_rmw <add> %sum to %C[%m, %n]
//
// can be split. With `tile.store %sum to %C[%m, %n]` each block would store a
// partial sum.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Checks which loops of a kernel several blocks can share. It finds the memory
/// accesses of the kernel once for all of its loops, so it must not be used
/// after operations of the kernel were erased.
class SplitChecker {
public:
  explicit SplitChecker(mlir::gpu::GPUFuncOp kernel);

  /// Returns the reason why several blocks cannot share `loop` and repeat the
  /// rest of the kernel; none if they can.
  MaybeRefusal check(mlir::scf::ForOp loop) const;

private:
  MaybeRefusal checkIterations(mlir::scf::ForOp loop) const;
  MaybeRefusal
  checkRest(mlir::scf::ForOp loop,
            const llvm::SmallPtrSetImpl<mlir::Operation *> &additions) const;

  MemoryAccesses accesses;
  llvm::SmallVector<MemoryAccess, 0> all;
};

/// Returns the reason why several blocks cannot share the tiles of `op`; none
/// if they can.
MaybeRefusal checkSplitTiles(PersistentOp op);

/// Emits the remark that `loop` is not split, and fails.
mlir::LogicalResult remarkUnsplit(mlir::scf::ForOp loop,
                                  const Refusal &refusal);

/// Returns the trip count of `loop`, in the type of its induction variable.
mlir::Value createTripCount(mlir::OpBuilder &builder, mlir::scf::ForOp loop);

/// Restricts `loop` to its iterations [first, last), counted from 0.
void restrictIterations(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                        mlir::Value first, mlir::Value last);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H
