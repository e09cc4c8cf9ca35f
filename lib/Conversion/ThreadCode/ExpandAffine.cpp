//===- ExpandAffine.cpp - Affine operations by plain arithmetic -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns for affine operations. They promise that multiplications
// do not overflow, which nobody has said of the operands: LLVM would delete
// what depends on one that wraps. The promise is taken back:
//
//   affine.apply affine_map<(d0) -> (d0 * 3)>(%i)
//     -> arith.muli %i, %c3 overflow<nsw>      upstream
//     -> arith.muli %i, %c3                    here
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-expand-affine"

namespace tilews {
#define GEN_PASS_DEF_EXPANDAFFINEPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numFreed, "Multiplications that may wrap around");

namespace {
struct ExpandAffinePass : tilews::impl::ExpandAffinePassBase<ExpandAffinePass> {
  using Base::Base;

  void runOnOperation() override {
    DenseSet<Operation *> written;
    getOperation()->walk([&](arith::MulIOp op) { written.insert(op); });
    RewritePatternSet patterns(&getContext());
    populateAffineToStdConversionPatterns(patterns);
    populateAffineToVectorConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<affine::AffineDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([&](arith::MulIOp op) {
      if (written.contains(op))
        return;
      LDBG() << "may wrap around: " << op;
      op.setOverflowFlags(arith::IntegerOverflowFlags::none);
      ++numFreed;
    });
  }
};
} // namespace
