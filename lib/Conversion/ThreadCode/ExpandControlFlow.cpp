//===- ExpandControlFlow.cpp - Loops and guards as branches ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structured control flow as branches between blocks, by upstream's patterns.
// Each pattern splits the block of its operation and moves the rest of the
// block. The conversion driver applies them from the first operation to the
// last and records each move: n guards in one block take time and memory in
// proportion to n^2. Here the last operation of a block comes first, and
// nothing is recorded:
//
//   a; if1; b; if2; c    ->  a; if1; b; br | c       (moves c)
//                        ->  a; br | b; br | c       (moves b)
//
// An outer operation comes before those in its regions, so that each block
// moves out of each region once.
//
// The variable of a loop grows beyond the bound, and would wrap around where
// the bound is near the largest number: the loop would never end. So loops
// whose variable may wrap count another way before:
//
//   for i = 0 to n step s    ->  the comparison has no sign, nor has i: it is
//                                less than twice the largest signed number
//   for i = a to n step s    ->  for j = 0 to ceil((n - a) / s) step 1
//                                  i = a + j * s
//
// A step that is not positive is an error in the interpreter, and 1 here.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Passes.h"
#include "tilews/Dialect/Tile/Analysis/IndexSigns.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-expand-control-flow"

namespace tilews {
#define GEN_PASS_DEF_EXPANDCONTROLFLOWPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numExpanded, "Loops and guards turned into branches");
ALWAYS_ENABLED_STATISTIC(numRecounted,
                         "Loops whose variable might wrap around");

/// Returns whether the variable of a loop may wrap around after the last
/// iteration. An index may have 32 bits.
static bool mayWrap(scf::ForOp loop) {
  APInt bound, step;
  if (loop.getUnsignedCmp())
    return false;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return true;
  if (step.isOne())
    return false;
  if (!matchPattern(loop.getUpperBound(), m_ConstantInt(&bound)))
    return true;
  unsigned width =
      loop.getInductionVar().getType().isIndex() ? 32 : bound.getBitWidth();
  APInt largest = APInt::getSignedMaxValue(width).sext(bound.getBitWidth());
  return bound.sgt(largest - step);
}

/// Counts the iterations of a loop that begins at any number.
static void countIterations(scf::ForOp loop, ImplicitLocOpBuilder &b) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value step = loop.getStep(), variable = loop.getInductionVar();
  Type type = variable.getType();
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  Value zero = constant(0), one = constant(1);
  Value runs =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lower, upper);
  // No sum is used that wraps: the distance has no sign.
  Value distance = arith::SubIOp::create(b, upper, lower);
  Value rest =
      arith::DivUIOp::create(b, arith::SubIOp::create(b, distance, one), step);
  Value count = arith::SelectOp::create(
      b, runs, arith::AddIOp::create(b, rest, one), zero);
  b.setInsertionPointToStart(loop.getBody());
  Value offset = arith::MulIOp::create(b, variable, step);
  Value value = arith::AddIOp::create(b, lower, offset);
  variable.replaceAllUsesExcept(value, offset.getDefiningOp());
  loop.setLowerBound(zero);
  loop.setUpperBound(count);
  loop.setStep(one);
}

/// Lets a loop end whose variable might wrap around.
static void recount(scf::ForOp loop, tile::IndexSigns &signs) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Type type = loop.getInductionVar().getType();
  auto atLeast = [&](Value value, int64_t least) {
    Value limit = arith::ConstantOp::create(b, b.getIntegerAttr(type, least));
    return arith::MaxSIOp::create(b, value, limit);
  };
  if (!matchPattern(loop.getStep(), m_Constant()))
    loop.setStep(atLeast(loop.getStep(), 1));
  if (signs.isNonNegative(loop.getLowerBound())) {
    if (!matchPattern(loop.getUpperBound(), m_Constant()))
      loop.setUpperBound(atLeast(loop.getUpperBound(), 0));
  } else {
    countIterations(loop, b);
  }
  loop.setUnsignedCmp(true);
  ++numRecounted;
}

namespace {
struct ExpandControlFlowPass
    : tilews::impl::ExpandControlFlowPassBase<ExpandControlFlowPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateSCFToControlFlowConversionPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    tile::IndexSigns signs;
    getOperation()->walk([&](scf::ForOp loop) {
      if (mayWrap(loop))
        recount(loop, signs);
    });
    // The patterns of `scf.forall` and `scf.parallel` make other loops.
    for (SmallVector<Operation *> found; !(found = collect()).empty();)
      if (failed(expand(found)))
        return signalPassFailure();
  }

private:
  /// Returns the operations to expand, in the order in which to do it.
  SmallVector<Operation *> collect() {
    SmallVector<Operation *> found;
    getOperation()->walk<WalkOrder::PreOrder, ReverseIterator>(
        [&](Operation *op) {
          if (isa_and_present<scf::SCFDialect>(op->getDialect()) &&
              !op->hasTrait<OpTrait::IsTerminator>())
            found.push_back(op);
        });
    return found;
  }

  LogicalResult expand(ArrayRef<Operation *> structured) {
    PatternApplicator applicator(patterns);
    applicator.applyDefaultCostModel();
    PatternRewriter rewriter(&getContext());
    for (Operation *op : structured) {
      LDBG() << op->getName() << " at " << op->getLoc() << " becomes branches";
      rewriter.setInsertionPoint(op);
      if (failed(applicator.matchAndRewrite(op, rewriter)))
        return op->emitError("cannot become branches between blocks");
      ++numExpanded;
    }
    return success();
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
