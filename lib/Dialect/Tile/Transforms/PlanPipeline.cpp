//===- PlanPipeline.cpp - Give operations of loops their stages -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PLANPIPELINEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

void tile::emitPipelineRemark(const Refusal &refusal) {
  bool isLoop = refusal.op->hasAttr(TileDialect::kNumStages);
  InFlightDiagnostic remark =
      refusal.op->emitRemark()
      << llvm::formatv("tile-pipe-{0:d4}: {1}", refusal.id,
                       isLoop ? "loop is not pipelined: "
                              : "not started ahead of time: ")
             .str()
      << refusal.reason;
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
    emitPipelineRemark(refusal);
    // Of a plan that is declined nothing is left to be wrong later on.
    auto loop = dyn_cast<scf::ForOp>(refusal.op);
    if (loop && llvm::is_contained(loops, loop) &&
        PipelinePlan::isAnnotated(loop))
      forgetPlan(loop);
  }
  for (const PipelinePlan &plan : pipelines.getPlans())
    plan.annotate();
  return success();
}

LogicalResult tile::planPipelines(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  return planPipelines(getLoopsToPipeline(kernel));
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
