//===- SplitSums.h - Loops that blocks can run in parts ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that does nothing but add up can be run in parts by several blocks,
// each of which adds its part to memory atomically. All else that a block does
// is then done several times, so that it may have no effect.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H

#include "tilews/Dialect/Tile/Analysis/Refusal.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Why several blocks cannot run parts of `loop` and what is beside it, if so.
MaybeRefusal checkSplit(mlir::scf::ForOp loop);

/// Why tiles of `op` cannot be visited by several blocks, if so.
MaybeRefusal checkSplitTiles(PersistentOp op);

/// Says in a remark that `loop` is not split, and fails.
mlir::LogicalResult remarkUnsplit(mlir::scf::ForOp loop,
                                  const Refusal &refusal);

/// How many turns `loop` has, in the type of its counter.
mlir::Value countTurns(mlir::OpBuilder &builder, mlir::scf::ForOp loop);

/// Lets `loop` run its turns from `first` up to `last`, without it.
void takeTurns(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
               mlir::Value first, mlir::Value last);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_SPLITSUMS_H
