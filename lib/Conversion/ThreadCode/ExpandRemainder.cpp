//===- ExpandRemainder.cpp - Exact remainders of floating point -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x - trunc(x / y) * y, without rounding: a long division whose digits have 22
// bits in f32, and 51 in f64. Each iteration subtracts a multiple of y * 2^k,
// the lowest k first chosen so that the quotient q has less than 2^23. Its
// rounding may make q too large by one; fma(-q, y * 2^k, x) is exact
// nevertheless, and if it is negative, y * 2^k is added. Then k falls by 22,
// down to 0. Usually k is 0 at once. At most 13 iterations remove the 277 bits
// by which exponents differ, and at most 42 in f64. Elements that are done stay
// as they are.
//
// A dividend below the divisor is the result: then the divisor may be infinite.
// Remainders of f16 and bf16 are computed in f32, which holds them exactly.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;

namespace {
/// The format of numbers: the bits of a fraction, the bias of an exponent.
struct RealFormat {
  int64_t fraction, bias;
  /// The bits of a quotient that one division finds for certain.
  int64_t step() const { return fraction - 1; }
};
} // namespace

/// Returns the biased exponent of positive numbers, below 1 if denormal.
static Value getExponent(RealEmitter &e, Value x, RealFormat format) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  auto shift = [&](Value value) -> Value {
    return arith::ShRUIOp::create(b, e.toBits(value),
                                  e.integer(format.fraction));
  };
  Value exponent = shift(x);
  int64_t by = format.fraction + 1;
  Value scaled = shift(e.mul(x, e.number(std::ldexp(1.0, by))));
  scaled = arith::SubIOp::create(b, scaled, e.integer(by));
  Value isDenormal = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                           exponent, e.integer(0));
  return e.select(isDenormal, scaled, exponent);
}

/// Returns x modulo y * 2^k for x and y that are not negative.
static Value divideOnce(RealEmitter &e, Value x, Value y, Value k,
                        RealFormat format) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  // Two factors, because k may exceed every exponent.
  Value first = arith::MinSIOp::create(b, k, e.integer(format.bias));
  Value second = arith::SubIOp::create(b, k, first);
  Value divisor = e.mul(e.mul(y, e.powerOfTwo(first)), e.powerOfTwo(second));
  Value quotient = e.trunc(e.div(x, divisor));
  Value rest = e.fma(e.neg(quotient), divisor, x);
  return e.select(e.less(rest, e.number(0)), e.add(rest, divisor), rest);
}

static Value emitRemainder(RealEmitter &e, Value dividend, Value divisor) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  RealFormat format = getElementTypeOrSelf(e.getType()).isF64()
                          ? RealFormat{52, 1023}
                          : RealFormat{23, 127};
  Value x = e.abs(dividend), y = e.abs(divisor), zero = e.integer(0);
  Value distance = arith::SubIOp::create(b, getExponent(e, x, format),
                                         getExponent(e, y, format));
  Value step = e.integer(format.step());
  auto lower = [&](Value k) -> Value {
    return arith::MaxSIOp::create(b, arith::SubIOp::create(b, k, step), zero);
  };
  auto loop = scf::WhileOp::create(
      b, TypeRange{e.getType(), e.getBitsType()},
      ValueRange{x, lower(distance)},
      [&](OpBuilder &, Location, ValueRange state) {
        Value rest = divideOnce(e, state[0], y, state[1], format);
        RealEmitter scalar(b, getElementTypeOrSelf(e.getType()));
        Value isUnfinished =
            arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                  e.largest(state[1]), scalar.integer(0));
        scf::ConditionOp::create(b, isUnfinished,
                                 ValueRange{rest, lower(state[1])});
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, state);
      });
  Value rest = e.select(e.less(x, y), x, loop.getResult(0));
  return e.copySign(rest, dividend);
}

namespace {
struct RemainderExpansion : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::RemFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (!element.isF16() && !element.isBF16() && !element.isF32() &&
        !element.isF64())
      return rewriter.notifyMatchFailure(op, "another type");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value lhs = op.getLhs(), rhs = op.getRhs();
    bool isNarrow = element.isF16() || element.isBF16();
    RealEmitter narrow(b, type);
    Type wide = isNarrow ? narrow.withElement(b.getF32Type()) : type;
    if (isNarrow) {
      lhs = arith::ExtFOp::create(b, wide, lhs);
      rhs = arith::ExtFOp::create(b, wide, rhs);
    }
    RealEmitter e(b, wide);
    Value rest = emitRemainder(e, lhs, rhs);
    if (isNarrow)
      rest = arith::TruncFOp::create(b, type, rest);
    rewriter.replaceOp(op, rest);
    return success();
  }
};
} // namespace

void tilews::populateRemainderPatterns(RewritePatternSet &patterns) {
  patterns.add<RemainderExpansion>(patterns.getContext());
}
