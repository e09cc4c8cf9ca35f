//===- PeelPipelines.cpp - The last iteration of a pipeline ---------------===//
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

ALWAYS_ENABLED_STATISTIC(numPeeled, "Loops whose last iteration was peeled");

/// Whether `bound` is the upper bound of `loop`, less its step.
static bool isBeforeEnd(scf::ForOp loop, Value bound) {
  if (auto difference = bound.getDefiningOp<arith::SubIOp>())
    return difference.getLhs() == loop.getUpperBound() &&
           isEqualConstantIntOrValue(difference.getRhs(), loop.getStep());
  std::optional<int64_t> value = getConstantIntValue(bound);
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  return value && end && step && *value == *end - *step;
}

/// Whether `op` contains a load from global memory, apart from inner loops.
static bool loadsFromGlobal(Operation *op) {
  auto walked = op->walk<WalkOrder::PreOrder>([](Operation *inner) {
    if (isa<LoopLikeOpInterface>(inner))
      return WalkResult::skip();
    auto load = dyn_cast<LoadOp>(inner);
    auto gather = dyn_cast<GatherOp>(inner);
    bool isFound = (load && isGlobal(load.getSource().getType())) ||
                   (gather && isGlobal(gather.getSource().getType()));
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

/// Returns the condition under which `loop` loads for its next iteration; null
/// if there is none.
static arith::CmpIOp findNextExists(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return nullptr;
  for (auto compare : loop.getBody()->getOps<arith::CmpIOp>()) {
    if (compare.getPredicate() != arith::CmpIPredicate::slt ||
        compare.getLhs() != loop.getInductionVar() ||
        !isBeforeEnd(loop, compare.getRhs()))
      continue;
    if (llvm::any_of(compare->getUsers(), [](Operation *user) {
          return isa<scf::IfOp>(user) && loadsFromGlobal(user);
        }))
      return compare;
  }
  return nullptr;
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
/// that has one.
static Value createLast(RewriterBase &rewriter, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value first = loop.getLowerBound();
  Value one = arith::ConstantOp::create(
      rewriter, loc, rewriter.getIntegerAttr(first.getType(), 1));
  Value length =
      arith::SubIOp::create(rewriter, loc, loop.getUpperBound(), first);
  length = arith::SubIOp::create(rewriter, loc, length, one);
  Value steps = arith::DivSIOp::create(rewriter, loc, length, loop.getStep());
  return arith::AddIOp::create(
      rewriter, loc, first,
      arith::MulIOp::create(rewriter, loc, steps, loop.getStep()));
}

/// Splits the last iteration of `loop` off. `exists` is the condition that does
/// not hold in it, and holds in all others.
static void peel(RewriterBase &rewriter, scf::ForOp loop,
                 arith::CmpIOp exists) {
  Location loc = loop.getLoc();
  Value end = loop.getUpperBound();
  rewriter.setInsertionPoint(loop);
  Value any = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), end);
  Value shorter = arith::SubIOp::create(rewriter, loc, end, loop.getStep());
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
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), createLast(rewriter, loop));
  mapping.map(loop.getRegionIterArgs(), loop.getResults());
  for (Operation &op : *loop.getBody())
    rewriter.clone(op, mapping);
  resolve(rewriter, cast<arith::CmpIOp>(mapping.lookup(exists.getOperation())),
          false);
  resolve(rewriter, exists, true);
  rewriter.modifyOpInPlace(loop, [&] { loop.setUpperBound(shorter); });
}

void tile::peelPipelines(gpu::GPUFuncOp kernel) {
  // Inner loops come first. A loop around one of them stays as it is, so that
  // the code does not grow with each level.
  llvm::SmallPtrSet<Operation *, 8> around;
  SmallVector<std::pair<scf::ForOp, arith::CmpIOp>> found;
  kernel.walk([&](scf::ForOp loop) {
    arith::CmpIOp exists = findNextExists(loop);
    if (!exists || around.contains(loop))
      return;
    found.push_back({loop, exists});
    for (Operation *op = loop->getParentOp(); op != kernel;
         op = op->getParentOp())
      around.insert(op);
  });
  IRRewriter rewriter(kernel.getContext());
  for (auto [loop, exists] : found) {
    LDBG() << "loop at " << loop.getLoc() << " loses its last iteration";
    peel(rewriter, loop, exists);
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
