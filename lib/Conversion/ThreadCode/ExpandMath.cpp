//===- ExpandMath.cpp - Math functions from the GPUs' instructions --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of the math dialect by the instructions of GPUs, so that no call of
// a library remains. Functions of f16 and bf16 are computed in f32.
// Exponentials and logarithms become those of base two, which have
// instructions:
//
//   exp(x) = exp2(x * log2(e))        log(x) = log2(x) * ln(2)
//
// Others are expanded by upstream's patterns: identities, or polynomials. What
// remains of f64 without an instruction is an error.
//
//===----------------------------------------------------------------------===//

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

/// Returns a constant of a scalar or a vector type.
static Value createConstant(OpBuilder &b, Location loc, Type type,
                            double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = b.getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}

namespace {

/// Rewrites `f(x)` as `base(x * before) * after`: functions that differ from
/// the power or the logarithm of two by a factor.
template <typename OpT, typename BaseT>
struct ScaledPattern : OpRewritePattern<OpT> {
  ScaledPattern(MLIRContext *context, double before, double after)
      : OpRewritePattern<OpT>(context), before(before), after(after) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Location loc = op.getLoc();
    Value x = op.getOperand();
    if (before != 1)
      x = arith::MulFOp::create(rewriter, loc, x,
                                createConstant(rewriter, loc, type, before));
    Value y = BaseT::create(rewriter, loc, x);
    if (after != 1)
      y = arith::MulFOp::create(rewriter, loc, y,
                                createConstant(rewriter, loc, type, after));
    rewriter.replaceOp(op, y);
    return success();
  }

  double before, after;
};

/// Rewrites tanh(x) as 1 - 2 / (exp(2x) + 1), which is exact at both ends.
struct TanhPattern : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](double value) {
      return createConstant(b, b.getLoc(), type, value);
    };
    Value one = constant(1), two = constant(2);
    Value twice = arith::MulFOp::create(b, op.getOperand(), two);
    Value sum = arith::AddFOp::create(b, math::ExpOp::create(b, twice), one);
    Value rest = arith::DivFOp::create(b, two, sum);
    rewriter.replaceOpWithNewOp<arith::SubFOp>(op, one, rest);
    return success();
  }
};

/// Computes a power of integers by repeated squaring, modulo 2^bits. The bits of
/// a negative exponent are right for the bases 1 and -1, which depend on the
/// lowest bit only; with others the result is the reciprocal toward zero, and
/// -1 for the base 0, as in the interpreter.
struct IntegerPowerPattern : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    auto constant = [&](int64_t value) -> Value {
      TypedAttr attr = b.getIntegerAttr(element, value);
      if (auto vector = dyn_cast<VectorType>(type))
        attr = DenseElementsAttr::get(vector, attr);
      return arith::ConstantOp::create(b, attr);
    };
    auto is = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, predicate, x, y);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, condition, x, y);
    };
    Value base = op.getLhs(), exponent = op.getRhs();
    Value zero = constant(0), one = constant(1), minusOne = constant(-1);
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    auto loop = scf::ForOp::create(b, arith::ConstantIndexOp::create(b, 0),
                                   arith::ConstantIndexOp::create(b, bits),
                                   arith::ConstantIndexOp::create(b, 1),
                                   ValueRange{one, base, exponent});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value power = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
            rest = loop.getRegionIterArg(2);
      Value bit = arith::AndIOp::create(b, rest, one);
      Value isSet = is(arith::CmpIPredicate::ne, bit, zero);
      Value product =
          arith::MulIOp::create(b, power, select(isSet, square, one));
      Value next = arith::MulIOp::create(b, square, square);
      rest = arith::ShRUIOp::create(b, rest, one);
      scf::YieldOp::create(b, ValueRange{product, next, rest});
    }
    using Predicate = arith::CmpIPredicate;
    Value isUnit = arith::OrIOp::create(b, is(Predicate::eq, base, one),
                                        is(Predicate::eq, base, minusOne));
    Value inverse = select(is(Predicate::eq, base, zero), minusOne,
                           select(isUnit, loop.getResult(0), zero));
    rewriter.replaceOp(op, select(is(Predicate::slt, exponent, zero), inverse,
                                  loop.getResult(0)));
    return success();
  }
};

/// Replaces a function of f32 by the intrinsic of an instruction.
template <typename OpT>
struct InstructionPattern : OpRewritePattern<OpT> {
  InstructionPattern(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<OpT>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto compute = [&](Value x) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 b, b.getF32Type(), b.getStringAttr(intrinsic), ValueRange{x})
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, compute(op.getOperand()));
      return success();
    }
    if (vector.isScalable())
      return rewriter.notifyMatchFailure(op, "unknown number of elements");
    // Vectors may have no dimension, or several.
    auto flat = VectorType::get(vector.getNumElements(), b.getF32Type());
    SmallVector<Value> registers = unpack(
        b, vector::ShapeCastOp::create(b, flat, op.getOperand()).getResult());
    for (Value &value : registers)
      value = compute(value);
    rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(
        op, vector, pack(b, b.getF32Type(), registers));
    return success();
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
    // log2(e), ln(2), log10(2).
    constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453,
                     lg2 = 0.30102999566398120;
    patterns.add<ScaledPattern<math::ExpOp, math::Exp2Op>>(context, log2e, 1);
    patterns.add<ScaledPattern<math::LogOp, math::Log2Op>>(context, 1, ln2);
    patterns.add<ScaledPattern<math::Log10Op, math::Log2Op>>(context, 1, lg2);
    patterns.add<TanhPattern, WidenPattern, IntegerPowerPattern>(context);
    // LLVM's own code for exp2 scales small arguments and results by three more
    // instructions. It has none for log2 on NVPTX.
    patterns.add<InstructionPattern<math::Exp2Op>>(
        context, target->isNVIDIA() ? "llvm.nvvm.ex2.approx.ftz.f32"
                                    : "llvm.amdgcn.exp2.f32");
    if (target->isNVIDIA())
      patterns.add<InstructionPattern<math::Log2Op>>(context,
                                                     "llvm.nvvm.lg2.approx.f");
    math::populateExpansionPatterns(patterns,
                                    {"powf", "sinh", "cosh", "tan", "asinh",
                                     "acosh", "atanh", "fpowi", "rsqrt"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      static constexpr StringRef used[] = {
          "math.sin",   "math.cos",   "math.erf",  "math.erfc",
          "math.atan",  "math.asin",  "math.acos", "math.atan2",
          "math.log1p", "math.expm1", "math.cbrt"};
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
