//===- SavedKernels.cpp - Kernels before they get a schedule --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule that tilews planned may be wrong, or the verifier may take it for
// wrong. The kernel itself is right, so it is planned again with less freedom:
//
//   few_channels -> one_role -> no_pipeline
//
// Each step starts from the saved copy and leaves out more (ScheduleLimit). The
// refused body is kept aside: its operations are what the first verdict is
// about, and are restored if no step helps.
//
// A plan that needs too much shared memory is planned again with fewer slots.
// How much scratch memory a kernel needs is known after its layouts only.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/SavedKernels.h"

#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Threading.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SAVEKERNELSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-save-kernels"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ALWAYS_ENABLED_STATISTIC(numPlannedAgain, "Kernels that were planned again");

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns whether the schedule of a kernel is written by hand, or has been
/// planned before.
static bool hasSchedule(gpu::GPUFuncOp kernel) {
  auto walked = kernel.walk([](Operation *op) {
    auto matmul = dyn_cast<MatmulOpInterface>(op);
    bool isPart = isa<ChannelOp, SpecializeOp, MBarrierOp, GemmWaitOp>(op) ||
                  op->hasAttr(TileDialect::kStage) ||
                  (matmul && matmul.getAsync());
    return isPart ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

SavedKernels::SavedKernels(Operation *module) {
  module->walk([&](gpu::GPUFuncOp kernel) {
    bool isSaved = !hasSchedule(kernel);
    LDBG() << "@" << kernel.getName()
           << (isSaved ? " is saved" : " is not saved: it has a schedule");
    if (isSaved)
      copies[kernel.getName()] = kernel.clone();
  });
}

gpu::GPUFuncOp SavedKernels::get(gpu::GPUFuncOp kernel) const {
  auto it = copies.find(kernel.getName());
  return it == copies.end() ? gpu::GPUFuncOp() : *it->second;
}

//===----------------------------------------------------------------------===//
// Planning again
//===----------------------------------------------------------------------===//

static StringRef describe(ScheduleLimit limit) {
  switch (limit) {
  case ScheduleLimit::FewChannels:
    return "with fewer channels";
  case ScheduleLimit::OneRole:
    return "with one role";
  case ScheduleLimit::NoPipeline:
    return "without pipelines";
  }
  llvm_unreachable("all limits are handled");
}

/// Gives `kernel` a copy of the body and the attributes of `saved`.
static void restore(gpu::GPUFuncOp kernel, gpu::GPUFuncOp saved,
                    ScheduleLimitAttr limit) {
  OwningOpRef<gpu::GPUFuncOp> copy = saved.clone();
  kernel->setAttrs(saved->getAttrDictionary());
  if (limit)
    kernel->setAttr(TileDialect::kScheduleLimit, limit);
  kernel.getBody().takeBody(copy->getBody());
}

static ScheduleLimitAttr getLimit(DictionaryAttr attributes) {
  return attributes.getAs<ScheduleLimitAttr>(TileDialect::kScheduleLimit);
}

/// Runs `lower` without its messages: the passes have said all of it before.
static LogicalResult lowerSilently(MLIRContext *context,
                                   function_ref<LogicalResult()> lower) {
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &) {
    return success(llvm::get_threadid() == thread);
  });
  return lower();
}

ScheduleVerdict tile::planAgain(gpu::GPUFuncOp kernel, gpu::GPUFuncOp saved,
                                ScheduleVerdict verdict,
                                function_ref<LogicalResult()> lower) {
  MLIRContext *context = kernel.getContext();
  Location place = verdict.op->getLoc();
  std::optional<std::pair<Location, std::string>> other;
  if (verdict.other)
    other.emplace(verdict.other->getLoc(), verdict.otherText);
  DictionaryAttr attributes = kernel->getAttrDictionary();
  mlir::Region refused;
  refused.takeBody(kernel.getBody());
  for (ScheduleLimit limit :
       {ScheduleLimit::FewChannels, ScheduleLimit::OneRole,
        ScheduleLimit::NoPipeline}) {
    // An earlier check may have set a limit, which was not enough.
    ScheduleLimitAttr tried = getLimit(attributes);
    if (tried && tried.getValue() >= limit)
      continue;
    restore(kernel, saved, ScheduleLimitAttr::get(context, limit));
    LDBG() << "@" << kernel.getName() << " is planned again "
           << describe(limit);
    if (failed(lowerSilently(context, lower)))
      continue;
    ScheduleVerdict next = verifySchedule(kernel);
    if (next.kind == ScheduleVerdict::Kind::Counterexample)
      continue;
    ++numPlannedAgain;
    InFlightDiagnostic remark = emitRemark(place, "tile-verify-0004: @");
    remark << kernel.getName() << " is compiled " << describe(limit)
           << ", because the schedule that was planned for it is wrong: "
           << verdict.text;
    if (other)
      remark.attachNote(other->first) << other->second;
    return next;
  }
  kernel->setAttrs(attributes);
  kernel.getBody().takeBody(refused);
  return verdict;
}

LogicalResult tile::planWithSlots(gpu::GPUFuncOp kernel, gpu::GPUFuncOp saved,
                                  int64_t slots,
                                  function_ref<LogicalResult()> lower) {
  MLIRContext *context = kernel.getContext();
  ScheduleLimitAttr limit = getLimit(kernel->getAttrDictionary());
  if (slots == 0)
    limit = ScheduleLimitAttr::get(context, ScheduleLimit::NoPipeline);
  for (scf::ForOp loop : getLoopsToPipeline(saved)) {
    setNumStages(loop,
                 std::min(getNumStages(loop), std::max<int64_t>(slots, 1)));
  }
  restore(kernel, saved, limit);
  LDBG() << "@" << kernel.getName() << " is planned again with " << slots
         << " slots";
  return lowerSilently(context, lower);
}

namespace {
struct SaveKernelsPass : tile::impl::SaveKernelsPassBase<SaveKernelsPass> {
  void runOnOperation() override {
    (void)getAnalysis<SavedKernels>();
    markAllAnalysesPreserved();
  }
};
} // namespace
