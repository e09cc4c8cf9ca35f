//===- RegionOps.cpp - Control flow over fragments and shared buffers -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the results of structured control flow, for example a loop that
// carries a fragment: `tensor<64x64xf32>` becomes `vector<32xf32>` for each of
// 128 threads. Upstream has patterns for `scf.for`, `scf.if`, `scf.while` and
// `scf.condition`. The other operations whose regions end with `scf.yield` keep
// their regions and get new result types here.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;
using namespace tilews;

namespace {
/// Gives an operation converted result types; its regions stay.
template <typename OpTy>
struct ConvertResults : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(this->typeConverter->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op,
                                         "a result has no type of a thread");
    OperationState state(op.getLoc(), op->getName(), adaptor.getOperands(),
                         types, op->getAttrs());
    for (unsigned i = 0; i < op->getNumRegions(); ++i)
      state.addRegion();
    Operation *converted = rewriter.create(state);
    for (auto [from, to] : llvm::zip(op->getRegions(), converted->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    rewriter.replaceOp(op, converted->getResults());
    return success();
  }
};
} // namespace

void tilews::populateRegionPatterns(const TypeConverter &converter,
                                    RewritePatternSet &patterns,
                                    ConversionTarget &legal) {
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       legal);
  patterns.add<ConvertResults<scf::ExecuteRegionOp>,
               ConvertResults<scf::IndexSwitchOp>>(converter,
                                                   patterns.getContext());
  legal.addDynamicallyLegalOp<scf::ExecuteRegionOp, scf::IndexSwitchOp>(
      [&](Operation *op) { return converter.isLegal(op->getResultTypes()); });
  // Upstream's rule takes what these two operations yield for legal.
  legal.addDynamicallyLegalOp<scf::YieldOp>([&](scf::YieldOp op) {
    return converter.isLegal(op->getOperandTypes());
  });
}
