//===- Stages.h - Stages and orders that are no longer needed ---*- C++ -*-===//
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

/// Removes `tile.num_stages` from `loop`, and the stages and orders of its
/// operations, but not those of the operations of inner loops.
void forgetPlan(mlir::scf::ForOp loop);

/// Removes stages and orders that belong to no loop with `tile.num_stages`,
/// with a remark for each loop, or other region, that holds some: loops of one
/// turn are no loops any more once they are simplified.
void dropStrayStages(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_STAGES_H
