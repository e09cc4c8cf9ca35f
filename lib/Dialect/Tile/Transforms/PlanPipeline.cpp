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
// On AMD GPUs, whose copies pass through registers, the loops first get as many
// stages as the chip has use and room for, two or one. These are slots, too: a
// plan keeps as many versions of a buffer as its loop has stages. Direct copies
// of gfx950 can have more, and some buffers one more than others:
//
//   256x64 and 256x64 f16, 32 KiB each, of 160 KiB: 3 slots and 2
//
// So the wait for the next tile leaves copies of the tile after it in flight.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelineDepth.h"
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

/// Sets `target` to that of `kernel` if it is an AMD GPU.
static LogicalResult findAMDTarget(gpu::GPUFuncOp kernel,
                                   std::optional<TargetInfo> &target) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr())
    return success();
  FailureOr<TargetInfo> found = TargetInfo::get(kernel.getOperation());
  if (failed(found))
    return failure();
  if (found->isAMD())
    target = *found;
  return success();
}

/// Lets registers hold the next tile of buffers that have one slot: a direct
/// copy could start only after the last read of this tile.
static void stageSingleSlots(ArrayRef<PipelinePlan> plans) {
  for (const PipelinePlan &plan : plans)
    for (const PipedBuffer &buffer : plan.getBuffers()) {
      if (buffer.versions > 1)
        continue;
      for (Operation *writer : buffer.writers)
        writer->walk([](CopyOp copy) {
          if (hasInst(copy, InstKind::CpAsync))
            copy->setAttr(TileDialect::kInst,
                          InstKindAttr::get(copy.getContext(), InstKind::Simt));
        });
    }
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
  std::optional<TargetInfo> target;
  if (failed(findAMDTarget(kernel, target)))
    return failure();
  if (target)
    stageSingleSlots(pipelines.getPlans());
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

//===----------------------------------------------------------------------===//
// The depth on AMD GPUs
//===----------------------------------------------------------------------===//

namespace {
/// Chooses the stages of the loops of a kernel for AMD.
class DepthChoice {
public:
  DepthChoice(gpu::GPUFuncOp kernel, const TargetInfo &target)
      : kernel(kernel), target(target), loops(getLoopsToPipeline(kernel)) {
    for (scf::ForOp loop : loops) {
      asked.push_back(getNumStages(loop));
      if (PipelinePlan::isAnnotated(loop))
        byHand.insert(loop);
    }
  }

  void run() {
    if (loops.empty())
      return;
    PipelineNeeds one = getNeeds(1);
    if (one.blocks == 0) {
      if (dropStagesByHand())
        one = getNeeds(1);
      if (one.blocks == 0)
        return giveUp(one);
    }
    if (*llvm::max_element(asked) < kMostStagedSlots)
      return;
    PipelineNeeds two = getNeeds(kMostStagedSlots);
    if (!keepsUnitBusy(kernel, target, two, one)) {
      limit(1);
      return explainFewer(1, one, two);
    }
    if (isDirect)
      return deepen(two);
    explainTwo(two);
  }

private:
  /// A plan by hand keeps the stages that it is written for.
  bool isFree(scf::ForOp loop) const { return !byHand.contains(loop); }

  void limit(int64_t stages) {
    for (auto [loop, most] : llvm::zip_equal(loops, asked))
      if (isFree(loop))
        setNumStages(loop, std::min(most, stages));
  }

  PipelineNeeds getNeeds(int64_t stages) {
    limit(stages);
    KernelPipelines pipelines(kernel, loops);
    planned.clear();
    isDirect = true;
    for (const PipelinePlan &plan : pipelines.getPlans()) {
      planned.insert(plan.getLoop());
      isDirect &= llvm::all_of(plan.getBuffers(), isFilledDirectly);
    }
    return getPipelineNeeds(kernel, target, pipelines.getPlans());
  }

  /// Calls `fn` with each planned loop that asks for more than `slots`, and
  /// with the start of its remark. One more slot have `deeper` buffers.
  void explain(int64_t slots, int64_t deeper,
               function_ref<void(InFlightDiagnostic &)> fn);

  /// Adds slots to two that need `needs`, while the unit stays as busy.
  void deepen(PipelineNeeds needs);
  /// Adds a slot to some buffers of those that have `slots`, and need `needs`.
  /// Returns how many.
  int64_t deepenSome(int64_t slots, const PipelineNeeds &needs);

  /// Removes stages and orders by hand, which ask for too many slots. Returns
  /// whether there are any.
  bool dropStagesByHand();
  void giveUp(const PipelineNeeds &one);
  void explainFewer(int64_t slots, const PipelineNeeds &few,
                    const PipelineNeeds &more, int64_t deeper = 0);
  void explainTwo(const PipelineNeeds &two);

  gpu::GPUFuncOp kernel;
  const TargetInfo &target;
  SmallVector<scf::ForOp> loops;
  /// The stages that the loops ask for.
  SmallVector<int64_t> asked;
  /// Loops with stages and orders in the source.
  llvm::SmallPtrSet<Operation *, 4> byHand;
  /// The loops that have a pipeline with the last limit, and whether copies
  /// fill all of their buffers directly.
  llvm::SmallPtrSet<Operation *, 4> planned;
  bool isDirect = false;
};
} // namespace

bool DepthChoice::dropStagesByHand() {
  bool any = false;
  for (auto [loop, stages] : llvm::zip_equal(loops, asked)) {
    if (isFree(loop))
      continue;
    forgetPlan(loop);
    setNumStages(loop, stages);
    any = true;
  }
  byHand.clear();
  return any;
}

void DepthChoice::giveUp(const PipelineNeeds &one) {
  for (scf::ForOp loop : loops)
    if (planned.contains(loop)) {
      emitPipelineRemark(
          {loop, 18,
           llvm::formatv("with 1 slot for each of its buffers, the kernel "
                         "needs {0} bytes of shared memory, and {1} has {2} "
                         "for a block",
                         one.sharedBytes, target.chip, target.maxSharedBytes)});
      forgetPlan(loop);
    }
}

void DepthChoice::explain(int64_t slots, int64_t deeper,
                          function_ref<void(InFlightDiagnostic &)> fn) {
  for (auto [loop, stages] : llvm::zip_equal(loops, asked)) {
    if (!isFree(loop) || stages <= slots || !planned.contains(loop))
      continue;
    InFlightDiagnostic remark = remarkAt(loop, "tile-pipe-0018: ");
    remark << "the buffers of the loop get " << slots
           << (slots == 1 ? " slot" : " slots") << " instead of " << stages;
    if (deeper > 0)
      remark << ", but " << deeper << " of them " << slots + 1;
    fn(remark << ": ");
  }
}

void DepthChoice::deepen(PipelineNeeds needs) {
  int64_t most = *llvm::max_element(asked);
  for (int64_t slots = kMostStagedSlots; slots < most; ++slots) {
    PipelineNeeds more = getNeeds(slots + 1);
    if (!keepsUnitBusy(kernel, target, more, needs)) {
      return explainFewer(slots, needs, more, deepenSome(slots, needs));
    }
    needs = more;
  }
}

int64_t DepthChoice::deepenSome(int64_t slots, const PipelineNeeds &needs) {
  limit(slots + 1);
  KernelPipelines pipelines(kernel, loops);
  SmallVector<PipelinePlan, 0> plans = pipelines.takePlans();
  llvm::SmallPtrSet<Operation *, 4> late;
  SmallVector<PipelinePlan *> deeper;
  for (PipelinePlan &plan : plans)
    if (isFree(plan.getLoop()) && getNumStages(plan.getLoop()) > slots &&
        plan.canDelay()) {
      deeper.push_back(&plan);
      for (const PipedBuffer &buffer : plan.getBuffers())
        late.insert(buffer.alloc);
    }
  auto fits = [&] {
    for (PipelinePlan *plan : deeper)
      plan->delay(late);
    return keepsUnitBusy(kernel, target,
                         getPipelineNeeds(kernel, target, plans), needs);
  };
  size_t all = late.size();
  for (PipelinePlan *plan : deeper)
    for (const PipedBuffer &buffer : plan->getBuffers()) {
      late.erase(buffer.alloc);
      if (!fits())
        late.insert(buffer.alloc);
    }
  if (late.size() == all || !fits()) {
    limit(slots);
    return 0;
  }
  for (PipelinePlan *plan : deeper)
    plan->annotate();
  return all - late.size();
}

void DepthChoice::explainFewer(int64_t slots, const PipelineNeeds &few,
                               const PipelineNeeds &more, int64_t deeper) {
  explain(slots, deeper, [&](InFlightDiagnostic &remark) {
    remark << "with " << slots + 1 << " slots, the kernel needs "
           << more.sharedBytes << " bytes of shared memory, and "
           << target.chip;
    if (more.blocks == 0)
      remark << " has " << target.maxSharedBytes << " for a block";
    else
      remark << " runs " << more.blocks << " of its blocks at a time; with "
             << slots << (slots == 1 ? " slot" : " slots") << " it needs "
             << few.sharedBytes << " bytes, and " << target.chip << " runs "
             << few.blocks;
  });
}

void DepthChoice::explainTwo(const PipelineNeeds &two) {
  explain(kMostStagedSlots, /*deeper=*/0, [&](InFlightDiagnostic &remark) {
    remark << "on " << target.chip << ", registers hold the tiles after "
           << "those; the kernel needs " << two.sharedBytes
           << " bytes of shared memory";
  });
}

/// Gives the loops of a kernel for an AMD GPU as many stages as there should be
/// slots.
static LogicalResult chooseDepth(gpu::GPUFuncOp kernel) {
  std::optional<TargetInfo> target;
  if (failed(findAMDTarget(kernel, target)))
    return failure();
  if (target)
    DepthChoice(kernel, *target).run();
  return success();
}

LogicalResult tile::planPipelines(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  if (isLimitedTo(kernel, ScheduleLimit::NoPipeline)) {
    for (scf::ForOp loop : getLoopsToPipeline(kernel))
      forgetPlan(loop);
    return success();
  }
  if (failed(chooseDepth(kernel)) ||
      failed(planPipelines(getLoopsToPipeline(kernel))))
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
