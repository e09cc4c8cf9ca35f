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
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
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
