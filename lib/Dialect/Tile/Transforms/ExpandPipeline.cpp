//===- ExpandPipeline.cpp - Software pipelines without roles --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands planned loops of kernels without roles by upstream's software
// pipeliner (`scf::pipelineForLoop`), which wants one flat list of operations
// with stages. `PipelineItems` brings the body into that form.
//
// Operations with side effects must not run in the partial iterations of
// prologue and epilogue. They are wrapped in `scf.if true`; `predicate()` lets
// the pipeliner replace `true` by 'this iteration exists':
//
//   acquire; copy; commit   (stage 0)
//     -> scf.if %true { acquire; copy; commit }
//     -> scf.if %i_plus_2_exists { acquire; copy; commit }
//
// The prologue is peeled; the epilogue is the predicated end of the loop.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/PipelineItems.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_EXPANDPIPELINEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-expand-pipeline"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops expanded into pipelines");

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// The pipeliner's callback: returns what replaces `op` in an iteration that
/// exists only if `exists` holds.
static Operation *predicate(RewriterBase &rewriter, Operation *op,
                            Value exists) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && matchPattern(branch.getCondition(), m_One())) {
    rewriter.modifyOpInPlace(
        op, [&] { branch.getConditionMutable().assign(exists); });
    return op;
  }
  if (isa<CommitGroupOp>(op) || isMemoryEffectFree(op))
    return op;
  // What is left are reads of memory that more than one stage needs. They were
  // cloned for each stage, not wrapped, and might read out of bounds. In an
  // iteration that does not exist the result is zero.
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto guarded = scf::IfOp::create(rewriter, op->getLoc(), op->getResultTypes(),
                                   exists, true, true);
  rewriter.setInsertionPointToEnd(guarded.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : op->getResultTypes())
    zeros.push_back(arith::ConstantOp::create(
        rewriter, op->getLoc(), cast<TypedAttr>(rewriter.getZeroAttr(type))));
  scf::YieldOp::create(rewriter, op->getLoc(), zeros);
  rewriter.replaceAllUsesWith(op->getResults(), guarded.getResults());
  rewriter.setInsertionPointToEnd(guarded.thenBlock());
  scf::YieldOp::create(rewriter, op->getLoc(), op->getResults());
  rewriter.moveOpBefore(op, guarded.thenBlock(), guarded.thenBlock()->begin());
  return guarded;
}

/// Removes the selects by which the pipeliner keeps carried values in
/// iterations that do not exist, where the wrapper already does so:
///
///   %r = scf.if %exists { yield %new } else { yield %old }
///   %s = arith.select %exists, %r, %old   ; the same as %r
static void dropSelects(RewriterBase &rewriter, Block &block) {
  for (auto select :
       llvm::make_early_inc_range(block.getOps<arith::SelectOp>())) {
    auto result = dyn_cast<OpResult>(select.getTrueValue());
    auto branch = result ? dyn_cast<scf::IfOp>(result.getOwner()) : scf::IfOp();
    if (branch && branch.getCondition() == select.getCondition() &&
        branch.elseYield().getOperand(result.getResultNumber()) ==
            select.getFalseValue())
      rewriter.replaceOp(select, result);
  }
}

/// Returns the options for the pipeliner. They refer to `items`.
static scf::PipeliningOption getOptions(const PipelineItems &items) {
  scf::PipeliningOption options;
  options.getScheduleFn =
      [&items](scf::ForOp,
               std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (const PipelineItem &item : items.getAll())
          schedule.push_back({item.op, unsigned(item.stage)});
      };
  options.peelEpilogue = false;
  options.supportDynamicLoops = true;
  options.predicateFn = predicate;
  return options;
}

/// Hides a constant trip count smaller than the number of stages: with it
/// upstream emits the prologue unpredicated, as if all its iterations existed.
static void hideShortTripCount(RewriterBase &rewriter, scf::ForOp loop,
                               int64_t lastStage) {
  std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  if (!trips || !trips->slt(lastStage + 1))
    return;
  LDBG() << "loop at " << loop.getLoc() << " has " << *trips
         << " iterations, fewer than stages";
  rewriter.setInsertionPoint(loop);
  Value zero = arith::ConstantOp::create(
      rewriter, loop.getLoc(),
      rewriter.getIntegerAttr(loop.getUpperBound().getType(), 0));
  loop.setUpperBound(arith::AddIOp::create(rewriter, loop.getLoc(),
                                           loop.getUpperBound(), zero));
}

/// Replaces `loop` by its pipeline. Fails with an error if upstream's pipeliner
/// refuses the schedule. There is no way back then: the body is in the order of
/// the pipeline, which is wrong for a loop that runs one iteration at a time.
static LogicalResult pipeline(RewriterBase &rewriter, scf::ForOp loop,
                              const PipelineItems &items) {
  Location loc = loop.getLoc();
  hideShortTripCount(rewriter, loop, items.getLastStage());
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> pipelined =
      scf::pipelineForLoop(rewriter, loop, getOptions(items));
  if (failed(pipelined))
    return emitError(loc, "loop cannot be expanded: MLIR's software pipeliner "
                          "refuses its schedule of ")
           << items.getAll().size() << " operations in "
           << items.getLastStage() + 1 << " stages";
  dropSelects(rewriter, *pipelined->getBody());
  dropSelects(rewriter, *(*pipelined)->getBlock());
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
/// What became of a loop.
enum class Expansion { Declined, Expanded };
} // namespace

// The acquires with a stage are those of this loop: `forEachTransaction` skips
// inner loops.
bool tile::isReadyToExpand(scf::ForOp loop) {
  if (!loop->hasAttr(TileDialect::kNumStages) ||
      loop->getParentOfType<RoleOp>())
    return false;
  bool planned = false;
  for (Operation &op : *loop.getBody())
    forEachTransaction<AcquireOp>(&op, [&](AcquireOp acquire, ChannelOp) {
      planned |= acquire->hasAttr(TileDialect::kStage);
    });
  return planned;
}

/// Expands `loop`, or declines with a remark and changes nothing. Fails with an
/// error if the pipeliner refuses the schedule.
static FailureOr<Expansion> expand(RewriterBase &rewriter, scf::ForOp loop) {
  PipelineItems items(rewriter, loop);
  if (std::optional<std::string> reason = items.collect()) {
    emitPipelineRemark({loop, 14, std::move(*reason)});
    return Expansion::Declined;
  }
  LDBG() << "loop at " << loop.getLoc() << ": " << items.getAll().size()
         << " operations in " << items.getLastStage() + 1 << " stages";
  items.wrapSegments();
  items.countGroups();
  items.placeRest();
  forgetPlan(loop);
  if (items.getLastStage() > 0 && failed(pipeline(rewriter, loop, items)))
    return failure();
  return Expansion::Expanded;
}

LogicalResult tile::expandPipeline(RewriterBase &rewriter, scf::ForOp loop) {
  FailureOr<Expansion> done = expand(rewriter, loop);
  return success(succeeded(done) && *done == Expansion::Expanded);
}

LogicalResult tile::expandPipelines(gpu::GPUFuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  // Outer loops come first. For an outer loop an inner one is one operation,
  // and expansion may clone it: its plan must still be there.
  auto next = [&] {
    scf::ForOp found;
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!isReadyToExpand(loop))
        return WalkResult::advance();
      found = loop;
      return WalkResult::interrupt();
    });
    return found;
  };
  while (scf::ForOp loop = next()) {
    FailureOr<Expansion> done = expand(rewriter, loop);
    if (failed(done))
      return failure();
    // A declined loop needs no plan: each iteration produces, then consumes.
    if (*done == Expansion::Declined)
      forgetPlan(loop);
    else
      ++numLoops;
  }
  return success();
}

namespace {
struct ExpandPipelinePass
    : tile::impl::ExpandPipelinePassBase<ExpandPipelinePass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      return WalkResult(expandPipelines(kernel));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
