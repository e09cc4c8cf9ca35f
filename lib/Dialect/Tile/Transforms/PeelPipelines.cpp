//===- PeelPipelines.cpp - The last iterations of a pipeline --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A software pipeline with staged copies loads the tile of the next iteration,
// if there is one, and stores it at the end of this one:
//
//   for %i { %e = cmpi slt, %i, %end - %step
//            wait; %f = if %e { load }; matmul; if %e { acquire; store %f } }
//
// This is what the verifier proves. As code it is bad: LLVM merges loaded
// halves with the zeros of the other branch, each pair in four registers, and
// sinks matmuls below the stores, so that their operands stay in registers.
// Therefore the last iteration, in which %e is false, is split off:
//
//   for %i = .. to %end - %step { wait; %f = load; matmul; acquire; store %f }
//   if %start < %end { wait; matmul }
//
// A copy that writes shared memory directly may be further ahead. Its guard
// would have another effect: on AMD a wait counts the copies that were started
// since, and a wait in a loop in which copies may be missing counts none. With
// n slots the last n - 1 iterations are a loop of their own:
//
//   for %i = .. to %end - 2 * %step { wait; copy; matmul }
//   for %i = max(.., ..) to %end { wait; matmul }
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PEELPIPELINESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-peel-pipelines"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numPeeled, "Loops whose last iterations were peeled");

/// Returns how many steps `bound` is before the upper bound of `loop`; 0 if it
/// is not some number of steps before.
static int64_t countStepsBeforeEnd(scf::ForOp loop, Value bound) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (auto difference = bound.getDefiningOp<arith::SubIOp>()) {
    if (difference.getLhs() != loop.getUpperBound())
      return 0;
    if (isEqualConstantIntOrValue(difference.getRhs(), loop.getStep()))
      return 1;
    std::optional<int64_t> distance = getConstantIntValue(difference.getRhs());
    return distance && step && *distance > 0 && *distance % *step == 0
               ? *distance / *step
               : 0;
  }
  std::optional<int64_t> value = getConstantIntValue(bound);
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  if (!value || !end || !step || *value >= *end || (*end - *value) % *step)
    return 0;
  return (*end - *value) / *step;
}

/// Whether `op` contains a load from global memory or a direct copy, apart from
/// inner loops.
static bool loadsFromGlobal(Operation *op) {
  auto walked = op->walk<WalkOrder::PreOrder>([](Operation *inner) {
    if (isa<LoopLikeOpInterface>(inner))
      return WalkResult::skip();
    auto load = dyn_cast<LoadOp>(inner);
    auto gather = dyn_cast<GatherOp>(inner);
    bool isFound = (isa<CopyOp>(inner) && hasInst(inner, InstKind::CpAsync)) ||
                   (load && isGlobal(load.getSource().getType())) ||
                   (gather && isGlobal(gather.getSource().getType()));
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

namespace {
/// A condition under which a loop loads for a later iteration: that it is not
/// one of the last `steps` iterations.
struct LaterExists {
  arith::CmpIOp compare;
  int64_t steps;
};
} // namespace

/// Returns the conditions under which `loop` loads for later iterations.
static SmallVector<LaterExists> findConditions(scf::ForOp loop) {
  SmallVector<LaterExists> found;
  if (loop.getUnsignedCmp())
    return found;
  for (auto compare : loop.getBody()->getOps<arith::CmpIOp>()) {
    if (compare.getPredicate() != arith::CmpIPredicate::slt ||
        compare.getLhs() != loop.getInductionVar())
      continue;
    int64_t steps = countStepsBeforeEnd(loop, compare.getRhs());
    if (steps > 0 && llvm::any_of(compare->getUsers(), [](Operation *user) {
          return isa<scf::IfOp>(user) && loadsFromGlobal(user);
        }))
      found.push_back({compare, steps});
  }
  return found;
}

/// Replaces `branch` by the operations of one side.
static void inlineSide(RewriterBase &rewriter, scf::IfOp branch, bool side) {
  mlir::Region &region = side ? branch.getThenRegion() : branch.getElseRegion();
  if (!region.empty()) {
    Operation *yield = region.front().getTerminator();
    SmallVector<Value> results = llvm::to_vector(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&region.front(), branch);
    rewriter.replaceOp(branch, results);
  } else {
    rewriter.eraseOp(branch);
  }
}

/// Replaces `condition` by `value`, and the guards that it is the condition of
/// by what they run.
static void resolve(RewriterBase &rewriter, arith::CmpIOp condition,
                    bool value) {
  for (Operation *user : llvm::make_early_inc_range(condition->getUsers()))
    if (auto branch = dyn_cast<scf::IfOp>(user))
      inlineSide(rewriter, branch, value);
  rewriter.setInsertionPoint(condition);
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(condition,
                                                 rewriter.getBoolAttr(value));
}

/// Returns the value of the induction variable in the last iteration of a loop
/// that has one, and ends at `end`.
static Value createLast(RewriterBase &rewriter, scf::ForOp loop, Value end) {
  Location loc = loop.getLoc();
  Value first = loop.getLowerBound();
  Value one = arith::ConstantOp::create(
      rewriter, loc, rewriter.getIntegerAttr(first.getType(), 1));
  Value length = arith::SubIOp::create(rewriter, loc, end, first);
  length = arith::SubIOp::create(rewriter, loc, length, one);
  Value steps = arith::DivSIOp::create(rewriter, loc, length, loop.getStep());
  return arith::AddIOp::create(
      rewriter, loc, first,
      arith::MulIOp::create(rewriter, loc, steps, loop.getStep()));
}

static Value createIsNotEmpty(RewriterBase &rewriter, scf::ForOp loop,
                              Value end) {
  return arith::CmpIOp::create(rewriter, loop.getLoc(),
                               arith::CmpIPredicate::slt, loop.getLowerBound(),
                               end);
}

/// Creates the last iteration after `loop`, if there is one.
static void createOneMore(RewriterBase &rewriter, scf::ForOp loop,
                          IRMapping &mapping) {
  Location loc = loop.getLoc();
  Value end = loop.getUpperBound();
  rewriter.setInsertionPoint(loop);
  Value any = createIsNotEmpty(rewriter, loop, end);
  rewriter.setInsertionPointAfter(loop);
  auto peeled = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), any,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (Block *block : {peeled.thenBlock(), peeled.elseBlock()})
    if (!block->empty())
      rewriter.eraseOp(&block->back());
  rewriter.replaceAllUsesWith(loop.getResults(), peeled.getResults());
  rewriter.setInsertionPointToEnd(peeled.elseBlock());
  scf::YieldOp::create(rewriter, loc, loop.getResults());
  rewriter.setInsertionPointToEnd(peeled.thenBlock());
  mapping.map(loop.getInductionVar(), createLast(rewriter, loop, end));
  mapping.map(loop.getRegionIterArgs(), loop.getResults());
  for (Operation &op : *loop.getBody())
    rewriter.clone(op, mapping);
}

/// Creates a loop of the iterations that are left after `loop` if that ends at
/// `shorter`.
static void createOthers(RewriterBase &rewriter, scf::ForOp loop, Value shorter,
                         IRMapping &mapping) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPointAfter(loop);
  auto others = cast<scf::ForOp>(rewriter.clone(*loop, mapping));
  rewriter.replaceAllUsesWith(loop.getResults(), others.getResults());
  rewriter.setInsertionPoint(others);
  Value next = arith::AddIOp::create(
      rewriter, loc, createLast(rewriter, loop, shorter), loop.getStep());
  Value start = arith::SelectOp::create(
      rewriter, loc, createIsNotEmpty(rewriter, loop, shorter), next,
      loop.getLowerBound());
  rewriter.modifyOpInPlace(others, [&] {
    others.setLowerBound(start);
    others.getInitArgsMutable().assign(loop.getResults());
  });
}

/// Splits the last iterations of `loop` off: as many as the farthest of
/// `conditions` is ahead. That one does not hold in them, and all hold in the
/// others.
static void peel(RewriterBase &rewriter, scf::ForOp loop,
                 ArrayRef<LaterExists> conditions) {
  Location loc = loop.getLoc();
  int64_t most = 1;
  for (const LaterExists &each : conditions)
    most = std::max(most, each.steps);
  rewriter.setInsertionPoint(loop);
  Value distance = loop.getStep();
  if (most > 1) {
    std::optional<int64_t> step = getConstantIntValue(distance);
    auto number =
        rewriter.getIntegerAttr(distance.getType(), step ? most * *step : most);
    Value count = arith::ConstantOp::create(rewriter, loc, number);
    distance =
        step
            ? count
            : arith::MulIOp::create(rewriter, loc, distance, count).getResult();
  }
  Value shorter =
      arith::SubIOp::create(rewriter, loc, loop.getUpperBound(), distance);
  IRMapping mapping;
  if (most == 1)
    createOneMore(rewriter, loop, mapping);
  else
    createOthers(rewriter, loop, shorter, mapping);
  for (const LaterExists &each : conditions) {
    Operation *compare = arith::CmpIOp(each.compare);
    if (each.steps == most)
      resolve(rewriter, cast<arith::CmpIOp>(mapping.lookup(compare)), false);
  }
  for (const LaterExists &each : conditions)
    resolve(rewriter, each.compare, true);
  rewriter.modifyOpInPlace(loop, [&] { loop.setUpperBound(shorter); });
}

void tile::peelPipelines(gpu::GPUFuncOp kernel) {
  // Inner loops come first. A loop around one of them stays as it is, so that
  // the code does not grow with each level.
  llvm::SmallPtrSet<Operation *, 8> around;
  SmallVector<std::pair<scf::ForOp, SmallVector<LaterExists>>> found;
  kernel.walk([&](scf::ForOp loop) {
    SmallVector<LaterExists> conditions = findConditions(loop);
    if (conditions.empty() || around.contains(loop))
      return;
    found.push_back({loop, conditions});
    for (Operation *op = loop->getParentOp(); op != kernel;
         op = op->getParentOp())
      around.insert(op);
  });
  IRRewriter rewriter(kernel.getContext());
  for (auto &[loop, conditions] : found) {
    LDBG() << "loop at " << loop.getLoc() << " loses its last iterations";
    peel(rewriter, loop, conditions);
  }
  numPeeled += found.size();
}

namespace {
struct PeelPipelinesPass
    : tile::impl::PeelPipelinesPassBase<PeelPipelinesPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { peelPipelines(kernel); });
  }
};
} // namespace
