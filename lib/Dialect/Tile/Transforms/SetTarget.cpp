//===- SetTarget.cpp - Choose the chip to compile for ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attaches the chip to compile for to an operation, usually a `gpu.module`, as
// the attribute in which MLIR keeps GPU targets: `#nvvm.target` or
// `#rocdl.target`. All other passes find it there with `TargetInfo::get`.
// Without an option the pass checks the target that is there already.
//
// This is the first pass of the pipelines. So it also refuses loops whose
// constant bounds are too far apart: canonicalization would take them for
// loops without an iteration.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SETTARGETPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-set-target"

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numSet, "Operations given a target");

/// Fails if the difference of a loop's constant bounds overflows their type.
/// Upstream computes the number of iterations from it: a loop from -2^63 to 3
/// would have none.
static LogicalResult checkLoops(Operation *root) {
  WalkResult result = root->walk([](scf::ForOp loop) {
    APInt lower, upper;
    if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
        !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
      return WalkResult::advance();
    bool overflow = false;
    if (upper.sgt(lower))
      (void)upper.ssub_ov(lower, overflow);
    if (!overflow)
      return WalkResult::advance();
    loop.emitError("loop from ")
        << lower.getSExtValue() << " to " << upper.getSExtValue()
        << ": expected bounds whose difference is less than 2^"
        << lower.getBitWidth() - 1
        << "; count the iterations from 0, and compute the number from that";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct SetTargetPass : tile::impl::SetTargetPassBase<SetTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    LogicalResult result = chip.empty()
                               ? LogicalResult(TargetInfo::get(getOperation()))
                               : TargetInfo::set(getOperation(), chip);
    // Nothing has verified what Python may have built, and loops are read.
    if (failed(result) || failed(verify(getOperation())) ||
        failed(checkLoops(getOperation())))
      return signalPassFailure();
    LDBG() << (chip.empty() ? "keeps the target" : "sets the target ") << chip;
    numSet += !chip.empty();
  }
};
} // namespace
