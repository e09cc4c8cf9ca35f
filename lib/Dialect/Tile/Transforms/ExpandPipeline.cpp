//===- ExpandPipeline.cpp - Software pipelines without roles --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may not run in turns that do not exist is put into an `scf.if`, whose
// condition upstream's software pipeliner then chooses.
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

namespace tilews::tile {
#define GEN_PASS_DEF_EXPANDPIPELINEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// What `op` is in a turn that exists only if `exists` holds.
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
  // A read that more than one part needs.
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

/// The pipeliner keeps carried values in turns that do not exist, which an
/// `scf.if` of the same condition has done already.
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

static void pipeline(RewriterBase &rewriter, scf::ForOp loop,
                     const PipelineItems &items) {
  scf::PipeliningOption options;
  options.getScheduleFn =
      [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (const PipelineItem &item : items.getAll())
          schedule.push_back({item.op, unsigned(item.stage)});
      };
  options.peelEpilogue = false;
  options.supportDynamicLoops = true;
  options.predicateFn = predicate;
  // Of a loop that is known to be too short the pipeliner is not to know it, or
  // it would take the first turns for granted.
  std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  if (trips && trips->slt(items.getLastStage() + 1)) {
    rewriter.setInsertionPoint(loop);
    Value zero = arith::ConstantOp::create(
        rewriter, loop.getLoc(),
        rewriter.getIntegerAttr(loop.getUpperBound().getType(), 0));
    loop.setUpperBound(arith::AddIOp::create(rewriter, loop.getLoc(),
                                             loop.getUpperBound(), zero));
  }
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> pipelined =
      scf::pipelineForLoop(rewriter, loop, options);
  assert(succeeded(pipelined) && "all conditions are met");
  dropSelects(rewriter, *pipelined->getBody());
  dropSelects(rewriter, *(*pipelined)->getBlock());
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

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

LogicalResult tile::expandPipeline(RewriterBase &rewriter, scf::ForOp loop) {
  PipelineItems items(rewriter, loop);
  if (std::optional<std::string> reason = items.collect()) {
    emitPipelineRemark({loop, 14, std::move(*reason)});
    return failure();
  }
  items.wrapSegments();
  items.countGroups();
  items.placeRest();
  forgetPlan(loop);
  if (items.getLastStage() > 0)
    pipeline(rewriter, loop, items);
  return success();
}

void tile::expandPipelines(gpu::GPUFuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  // Outer loops come first: an inner one is an operation for them.
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
  // A loop that stays as it is runs its producers and consumers in turn.
  while (scf::ForOp loop = next())
    if (failed(expandPipeline(rewriter, loop)))
      forgetPlan(loop);
}

namespace {
struct ExpandPipelinePass
    : tile::impl::ExpandPipelinePassBase<ExpandPipelinePass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { expandPipelines(kernel); });
  }
};
} // namespace
