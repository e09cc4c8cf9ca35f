//===- ThreadsToLLVM.cpp - Per-thread code to the LLVM dialect ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last conversion: code of one thread to the LLVM dialect, by upstream's
// patterns with the type converter of the tile conversion. Shifts, divisions
// and conversions to integers have patterns of our own, which leave no result
// undefined (TotalArithmetic.cpp). So have long vectors: LLVM needs time
// quadratic in the length of a chain of insertelement to turn it into scalars,
// so vectors of more than 16 elements are built from halves:
//
//   vector.from_elements of 64  ->  4 x 16 elements, joined by 3 shuffles
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Conversion/Common/ThreadCode.h"
#include "tilews/Conversion/Passes.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile-threads-to-llvm"

namespace tilews {
#define GEN_PASS_DEF_CONVERTTHREADSTOLLVMPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numHalved, "Long fragments made of halves");

static bool isOfThread(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return !tile::isShared(memref);
  return !isa<TensorType>(type);
}

LogicalResult tilews::checkThreadCode(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    bool fits = !isa_and_present<tile::TileDialect>(op->getDialect()) &&
                llvm::all_of(op->getOperandTypes(), isOfThread) &&
                llvm::all_of(op->getResultTypes(), isOfThread);
    if (fits)
      return WalkResult::advance();
    op->emitError("is not code of one thread; run --convert-tile-to-nvvm or "
                  "--convert-tile-to-rocdl before");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult tilews::checkIndexBitwidth(Operation *root, unsigned bits) {
  if (bits == 32 || bits == 64)
    return success();
  return root->emitError("index-bitwidth is 32 or 64, found ") << bits;
}

namespace {
/// Returns whether a vector of this length is built at once, not from halves.
bool isWhole(int64_t count) { return count <= 16 || count % 2 != 0; }

/// Builds a vector from halves, recursively.
Value concatenate(ImplicitLocOpBuilder &b, Type element, ValueRange elements) {
  int64_t count = elements.size();
  if (isWhole(count))
    return vector::FromElementsOp::create(b, VectorType::get(count, element),
                                          elements);
  Value low = concatenate(b, element, elements.take_front(count / 2));
  Value high = concatenate(b, element, elements.drop_front(count / 2));
  return vector::ShuffleOp::create(b, low, high,
                                   llvm::to_vector(llvm::seq(count)));
}

/// Builds long vectors from halves. LLVM needs time quadratic in the length of
/// a chain of insertelement to turn it into scalars.
struct FromManyElements : OpConversionPattern<vector::FromElementsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(vector::FromElementsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    VectorType type = op.getType();
    if (type.getRank() != 1 || isWhole(type.getNumElements()))
      return rewriter.notifyMatchFailure(op, "short");
    LDBG() << type.getNumElements() << " elements in halves";
    ++numHalved;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, concatenate(b, type.getElementType(), adaptor.getElements()));
    return success();
  }
};

struct ConvertThreadsToLLVMPass
    : tilews::impl::ConvertThreadsToLLVMPassBase<ConvertThreadsToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(checkIndexBitwidth(getOperation(), indexBitwidth)) ||
        failed(checkThreadCode(getOperation())))
      return signalPassFailure();
    FailureOr<TargetInfo> info = TargetInfo::get(getOperation());
    if (failed(info))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    TileTypeConverter converter(context, indexBitwidth);
    RewritePatternSet patterns(context);
    // Expands divisions that round up or down, which have no conversion.
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns,
                                           /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/true);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    patterns.add<FromManyElements>(converter, context, /*benefit=*/2);
    populateTotalArithmeticPatterns(converter, *info, patterns);
    LLVMConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                             index::IndexDialect, math::MathDialect,
                             memref::MemRefDialect, ub::UBDialect,
                             vector::VectorDialect>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
