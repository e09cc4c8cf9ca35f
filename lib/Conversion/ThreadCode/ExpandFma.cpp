//===- ExpandFma.cpp - Multiply-add of bf16, rounded once -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chips without a multiply-add of bf16 compute s = fma(a, b, c) in f32, and
// round it again. That is wrong only if s lies in the middle of two numbers of
// bf16, that is, if its lower half is 0x8000, and a * b + c is not s. For
// example, 1.5 * 1.0078125 is such a middle, and stays s if c = 2^-60.
//
// Then |c| < |a * b|: otherwise a * b is at least 2^-8 of s, and its 16 bits
// end within the 24 bits of s. So a * b - s is exact, as in Dekker's Fast2Sum,
// and so is the error c + (a * b - s). If it is not 0, s moves by its last bit
// towards the exact sum, which is rounding to odd (S. Boldo, G. Melquiond:
// Emulation of FMA and correctly rounded sums. IEEE Transactions on Computers
// 57, 2008).
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilews;

static Value emitOddFma(RealEmitter &e, Value x, Value y, Value z) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Value sum = e.fma(x, y, z);
  Value error = e.add(z, e.fma(x, y, e.neg(sum)));
  Value bits = e.toBits(sum);
  Value lower = arith::AndIOp::create(b, bits, e.integer(0xFFFF));
  Value isMiddle = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lower,
                                         e.integer(0x8000));
  Value isInexact = e.differs(error, e.number(0));
  // 1 if the error has the sign of the sum, -1 otherwise.
  Value signs = arith::XOrIOp::create(b, bits, e.toBits(error));
  Value step = arith::OrIOp::create(
      b, arith::ShRSIOp::create(b, signs, e.integer(31)), e.integer(1));
  Value moved = arith::AddIOp::create(b, bits, step);
  return e.fromBits(e.select(e.both(isMiddle, isInexact), moved, bits));
}

namespace {
struct NarrowFmaExpansion : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type wide = RealEmitter(b, op.getType()).withElement(b.getF32Type());
    auto widen = [&](Value value) -> Value {
      return arith::ExtFOp::create(b, wide, value);
    };
    RealEmitter e(b, wide);
    Value sum =
        emitOddFma(e, widen(op.getA()), widen(op.getB()), widen(op.getC()));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), sum);
    return success();
  }
};
} // namespace

void tilews::populateNarrowFmaPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowFmaExpansion>(patterns.getContext());
}
