//===- PlanPipeline.cpp - Give operations of loops their stages -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the plans that `KernelPipelines` computes for the loops of a kernel
// into the attributes `tile.stage` and `tile.order`. All loops are planned
// together, because they may share buffers. Nothing moves: the plan can be
// inspected, edited and checked before `--tile-multi-version` carries it out.
// Whatever cannot run ahead stays where it is, with a remark.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PLANPIPELINEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-plan-pipeline"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops planned as pipelines");

void tile::emitPipelineRemark(const Refusal &refusal) {
  bool isLoop = refusal.op->hasAttr(TileDialect::kNumStages);
  InFlightDiagnostic remark =
      remarkAt(refusal.op)
      << llvm::formatv("tile-pipe-{0:d4}: ", refusal.id).str();
  if (isLoop)
    remark << "loop is not pipelined: ";
  else
    remark << "'" << refusal.op->getName()
           << "' is not started ahead of time: ";
  remark << refusal.reason;
  if (refusal.other)
    remark.attachNote(refusal.other->getLoc()) << "written here";
}

LogicalResult tile::planPipelines(ArrayRef<scf::ForOp> loops) {
  if (loops.empty())
    return success();
  auto kernel = loops.front()->getParentOfType<gpu::GPUFuncOp>();
  KernelPipelines pipelines(kernel, loops);
  if (failed(pipelines.emitErrors()))
    return failure();
  for (const Refusal &refusal : pipelines.getRefusals()) {
    LDBG() << refusal.op->getName() << " at " << refusal.op->getLoc()
           << " is refused (" << refusal.id << "): " << refusal.reason;
    emitPipelineRemark(refusal);
    // Remove the attributes of a refused plan: no later pass may use them.
    auto loop = dyn_cast<scf::ForOp>(refusal.op);
    if (loop && llvm::is_contained(loops, loop) &&
        PipelinePlan::isAnnotated(loop))
      forgetPlan(loop);
  }
  for (const PipelinePlan &plan : pipelines.getPlans()) {
    LDBG() << "loop at " << scf::ForOp(plan.getLoop()).getLoc()
           << " is planned: " << plan.getBuffers().size() << " buffers";
    for (const Statement &statement : plan.getStatements().getAll())
      if (statement.isScheduled())
        LDBG() << "  stage " << statement.stage << ", order " << statement.order
               << ": " << statement.op->getName() << " at "
               << statement.op->getLoc();
    plan.annotate();
  }
  return success();
}

LogicalResult tile::planPipelines(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  if (isLimitedTo(kernel, ScheduleLimit::NoPipeline)) {
    for (scf::ForOp loop : getLoopsToPipeline(kernel))
      forgetPlan(loop);
    return success();
  }
  if (failed(planPipelines(getLoopsToPipeline(kernel))))
    return failure();
  numLoops +=
      llvm::count_if(getLoopsToPipeline(kernel), PipelinePlan::isAnnotated);
  return success();
}

namespace {
struct PlanPipelinePass : tile::impl::PlanPipelinePassBase<PlanPipelinePass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return WalkResult(planPipelines(kernel));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
