//===- ExpandMath.cpp - Math functions from the GPUs' instructions --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands functions of the math dialect to instructions of GPUs, so that no
// call of a library remains. Functions of f16 and bf16 are computed in f32. The
// power of two is an instruction. So is the logarithm to base two on AMD, from
// which the other logarithms differ by a factor.
//
// Files beside this one have the expansions by family: exponentials,
// logarithms, sines and cosines, powers, remainders, multiply-adds. Others are
// upstream's patterns: identities, or polynomials. What remains of f64 without
// an instruction is an error.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"
#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Conversion/Common/ThreadCode.h"
#include "tilews/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-expand-math"

namespace tilews {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numWidened,
                         "Functions of f16 and bf16 computed in f32");

namespace {

/// Rewrites `f(x)` as `base(x) * factor`: logarithms by the one of base two.
template <typename OpT, typename BaseT>
struct ScaledPattern : F32Expansion<OpT> {
  ScaledPattern(MLIRContext *context, double factor)
      : F32Expansion<OpT>(context), factor(factor) {}

  SmallVector<Value> emit(RealEmitter &e, OpT op) const override {
    Value y = BaseT::create(e.getBuilder(), op.getOperand());
    return {e.mul(y, e.number(factor))};
  }

  double factor;
};

/// Replaces a function of f32 by the intrinsic of an instruction.
template <typename OpT>
struct InstructionPattern : F32Expansion<OpT> {
  InstructionPattern(MLIRContext *context, StringRef intrinsic)
      : F32Expansion<OpT>(context), intrinsic(intrinsic) {}

  SmallVector<Value> emit(RealEmitter &e, OpT op) const override {
    ImplicitLocOpBuilder &b = e.getBuilder();
    auto compute = [&](Value x) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 b, b.getF32Type(), b.getStringAttr(intrinsic), ValueRange{x})
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(e.getType());
    if (!vector)
      return {compute(op.getOperand())};
    // Vectors may have no dimension, or several.
    auto flat = VectorType::get(vector.getNumElements(), b.getF32Type());
    SmallVector<Value> registers = unpack(
        b, vector::ShapeCastOp::create(b, flat, op.getOperand()).getResult());
    for (Value &value : registers)
      value = compute(value);
    return {vector::ShapeCastOp::create(b, vector,
                                        pack(b, b.getF32Type(), registers))};
  }

  StringRef intrinsic;
};

/// Computes a function of f16 or bf16 in f32.
struct WidenPattern : RewritePattern {
  explicit WidenPattern(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
        op->getNumResults() != 1 ||
        isa<math::AbsFOp, math::CopySignOp, math::FmaOp>(op))
      return rewriter.notifyMatchFailure(op, "kept as it is");
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    if (!element.isF16() && !element.isBF16())
      return rewriter.notifyMatchFailure(op, "not a half type");
    LDBG() << "in f32: " << *op;
    ++numWidened;
    Location loc = op->getLoc();
    auto widen = [&](Type narrow) -> Type {
      if (auto vector = dyn_cast<VectorType>(narrow))
        return vector.clone(rewriter.getF32Type());
      return rewriter.getF32Type();
    };
    OperationState state(loc, op->getName());
    state.addAttributes(op->getAttrs());
    state.addTypes(widen(type));
    for (Value operand : op->getOperands()) {
      if (operand.getType() == type)
        operand = arith::ExtFOp::create(rewriter, loc, widen(type), operand);
      state.operands.push_back(operand);
    }
    Operation *wide = rewriter.create(state);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, wide->getResult(0));
    return success();
  }
};

struct ExpandMathPass : tilews::impl::ExpandMathPassBase<ExpandMathPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> target = TargetInfo::get(getOperation());
    if (failed(target) || failed(checkThreadCode(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    // ln(2), log10(2).
    constexpr double ln2 = 0.6931471805599453, lg2 = 0.30102999566398120;
    if (target->isNVIDIA()) {
      populateLogarithmPatterns(patterns);
    } else {
      patterns.add<ScaledPattern<math::LogOp, math::Log2Op>>(context, ln2);
      patterns.add<ScaledPattern<math::Log10Op, math::Log2Op>>(context, lg2);
    }
    populateTrigonometryPatterns(patterns);
    populateExponentialPatterns(patterns);
    populatePowerPatterns(patterns);
    populateIntegerPowerPatterns(patterns);
    populateRemainderPatterns(patterns);
    if (!target->hasBf16Fma())
      populateNarrowFmaPatterns(patterns);
    patterns.add<WidenPattern>(context);
    // LLVM's own code for exp2 scales small arguments and results by three more
    // instructions.
    patterns.add<InstructionPattern<math::Exp2Op>>(
        context, target->isNVIDIA() ? "llvm.nvvm.ex2.approx.ftz.f32"
                                    : "llvm.amdgcn.exp2.f32");
    math::populateExpansionPatterns(
        patterns, {"cosh", "asinh", "acosh", "atanh", "rsqrt"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      static constexpr StringRef used[] = {
          "math.erf",  "math.erfc",  "math.atan",  "math.asin",
          "math.acos", "math.atan2", "math.log1p", "math.cbrt"};
      return llvm::is_contained(used, name);
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (failed(checkRemaining()))
      signalPassFailure();
  }

  /// Fails if a function remains that would become a call of a library.
  LogicalResult checkRemaining() {
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa_and_present<math::MathDialect>(op->getDialect()))
        return WalkResult::advance();
      bool f64 = llvm::any_of(op->getOperandTypes(), [](Type type) {
        return getElementTypeOrSelf(type).isF64();
      });
      if (!f64 ||
          isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
              math::FmaOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op))
        return WalkResult::advance();
      op->emitError("has no instruction for f64 on any target; compute it in "
                    "f32");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
