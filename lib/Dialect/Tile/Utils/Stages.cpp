//===- Stages.cpp - Stages and orders that are no longer needed -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage or an order is meaningful only in a loop with `tile.num_stages`, also
// under an scf.if, which may be a guard. Passes remove the attributes when they
// give up the plan of a loop. Canonicalization inlines loops with one iteration
// and leaves their operations with stages; these are found by looking at the
// operation around them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "tilews/Dialect/Tile/Analysis/Remarks.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static bool hasStage(Operation *op) {
  return op->hasAttr(TileDialect::kStage) || op->hasAttr(TileDialect::kOrder);
}

static void removeStage(Operation *op) {
  op->removeAttr(TileDialect::kStage);
  op->removeAttr(TileDialect::kOrder);
}

int64_t tile::getNumStages(scf::ForOp loop) {
  return loop->getAttrOfType<IntegerAttr>(TileDialect::kNumStages).getInt();
}

void tile::setNumStages(scf::ForOp loop, int64_t stages) {
  loop->setAttr(TileDialect::kNumStages,
                Builder(loop.getContext()).getI32IntegerAttr(stages));
}

void tile::forgetPlan(scf::ForOp loop) {
  loop->removeAttr(TileDialect::kNumStages);
  loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == loop)
      return WalkResult::advance();
    removeStage(op);
    return isa<scf::ForOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
}

/// Returns the closest operation around `op` that is not an scf.if. This is the
/// pipelined loop if the stage of `op` belongs to one.
static Operation *getPipeline(Operation *op) {
  Operation *around = op->getParentOp();
  while (isa<scf::IfOp>(around))
    around = around->getParentOp();
  return around;
}

void tile::dropStrayStages(gpu::GPUFuncOp kernel) {
  llvm::MapVector<Operation *, SmallVector<Operation *>> strays;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == kernel || !hasStage(op))
      return;
    Operation *around = getPipeline(op);
    if (!isa<scf::ForOp>(around) || !around->hasAttr(TileDialect::kNumStages))
      strays[around].push_back(op);
  });
  for (auto &[around, ops] : strays) {
    remarkAt(ops.front(), "tile-pipe-0017: stage and order are removed: they "
                          "belong in an scf.for with 'tile.num_stages' and "
                          "more than one iteration, found them in '")
        << around->getName() << "'";
    llvm::for_each(ops, removeStage);
  }
}
