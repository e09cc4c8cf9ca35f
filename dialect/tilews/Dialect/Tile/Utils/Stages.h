//===- Stages.h - Removal of stages and orders ------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_STAGES_H
#define TILEWS_DIALECT_TILE_UTILS_STAGES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Returns `tile.num_stages` of a loop that has it.
int64_t getNumStages(mlir::scf::ForOp loop);
void setNumStages(mlir::scf::ForOp loop, int64_t stages);

/// Removes `tile.num_stages` from `loop`, and the stages and orders of its
/// operations. Keeps those of the operations of inner loops.
void forgetPlan(mlir::scf::ForOp loop);

/// Removes stages and orders of operations outside of loops with
/// `tile.num_stages`. Emits remark tile-pipe-0017 once for each operation whose
/// region contains some. This happens when canonicalization inlines a loop of
/// one iteration.
void dropStrayStages(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_STAGES_H
