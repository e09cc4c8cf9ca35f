//===- ExpandExponentials.cpp - exp, expm1 and tanh -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   exp(x)   = exp2(t) * (1 + r), where t is x * log2(e), rounded and a little
//              too small, and r = x - t * ln(2) is what is missing. So r has
//              the sign of x, and infinity + infinity * r is infinity. Where
//              only f16 or a narrower type is left of the result, r is left
//              out: then log2(e) has two parts, and the rounding of t remains,
//              a relative error of at most |x| * 2^-24.
//   expm1(x) = 2^n * expm1(r) + (2^n - 1), x = n * ln(2) + r, and expm1(r) is
//              r + r^2 * Q(r). All are halved, because 2^128 is too large.
//   tanh(x)  = x * P(x^2) below 0.55, else 1 - 2 / (exp(2x) + 1), which is
//              exact at both ends.
//
// The polynomials were fitted with weights that make the largest relative error
// small.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilews;

static Value emitShortExponential(RealEmitter &e, Value x) {
  Value low = e.mul(x, e.number(1.925963033500011e-08));
  Value scaled = e.fma(x, e.number(1.4426950216293335), low);
  return math::Exp2Op::create(e.getBuilder(), scaled);
}

static Value emitExponential(RealEmitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  // Three ulp below log2(e): more than what is scaled is rounded by.
  Value scaled = e.mul(x, e.number(1.4426946640014648));
  Value power = math::Exp2Op::create(b, scaled);
  // ln(2) in two parts. The first difference is exact.
  Value rest = e.fma(scaled, e.number(-0.693147182464599609), x);
  rest = e.fma(scaled, e.number(1.9046542121259336e-09), rest);
  // Of infinities, and of numbers that become some, it is NaN, for which a
  // minimum is the other operand. The power is then zero or infinity.
  rest = arith::MinNumFOp::create(b, rest, e.number(1));
  return e.fma(power, rest, power);
}

/// Returns whether all that becomes of a result has 16 bits at most.
static bool isOnlyNarrowed(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [](Operation *user) {
    return isa<arith::TruncFOp>(user) &&
           getElementTypeOrSelf(user->getResult(0).getType())
                   .getIntOrFloatBitWidth() <= 16;
  });
}

namespace {

struct ExponentialPattern : F32Expansion<math::ExpOp> {
  using F32Expansion::F32Expansion;

  SmallVector<Value> emit(RealEmitter &e, math::ExpOp op) const override {
    return {isOnlyNarrowed(op) ? emitShortExponential(e, op.getOperand())
                               : emitExponential(e, op.getOperand())};
  }
};

} // namespace

static Value emitExpMinusOne(RealEmitter &e, Value argument) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  // Larger ones are infinite, and lower ones -1. NaN stays.
  Value most = e.number(88.9), least = e.number(-18);
  Value x = e.select(e.less(most, argument), most, argument);
  x = e.select(e.less(x, least), least, x);
  Value magic = e.number(12582912); // 1.5 * 2^23
  Value sum = e.fma(x, e.number(1.4426950408889634), magic);
  Value n = e.neg(e.sub(sum, magic));
  Value rest = e.fma(n, e.number(0.6931471824645996), x);
  rest = e.fma(n, e.number(-1.9046542121259336e-09), rest);
  Value tail =
      e.polynomial(rest, {0.50000000583553228, 0.16666666850339293,
                          0.041666303337958968, 0.008333264295222095,
                          0.0013945130339369834, 0.00019919347350529778});
  Value small = e.fma(e.mul(rest, rest), tail, rest);
  // The integer n is in the lowest bits of the sum; here 2^(n - 1).
  Value power = arith::AddIOp::create(b, e.toBits(sum),
                                      e.integer(126 - int64_t(0x4b400000)));
  power = e.fromBits(arith::ShLIOp::create(b, power, e.integer(23)));
  Value half = e.fma(power, small, e.sub(power, e.number(0.5)));
  return e.copySign(e.add(half, half), argument);
}

static Value emitTanh(RealEmitter &e, Value x) {
  Value one = e.number(1), two = e.number(2);
  // An error of the exponential matters little where it is large.
  Value exponential = emitShortExponential(e, e.mul(x, two));
  Value large = e.sub(one, e.div(two, e.add(exponential, one)));
  Value square = e.mul(x, x);
  Value small = e.mul(
      x, e.polynomial(square, {1, -0.33333318045248672, 0.13332601672130934,
                               -0.053853856649066625, 0.021077753419989513,
                               -0.0062824667613717265}));
  return e.select(e.less(e.abs(x), e.number(0.55)), small, large);
}

/// sinh(x) = (t + t / (t + 1)) / 2 with t = expm1(x). If t is infinite, the
/// exponential of half the argument is not.
static Value emitSinh(RealEmitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Value magnitude = e.abs(x), half = e.number(0.5);
  Value t = math::ExpM1Op::create(b, magnitude);
  Value small = e.mul(half, e.add(t, e.div(t, e.add(t, e.number(1)))));
  Value root = math::ExpM1Op::create(b, e.mul(half, magnitude));
  root = e.add(root, e.number(1));
  Value large = e.mul(e.mul(half, root), root);
  Value isSmall = e.less(magnitude, e.number(80));
  return e.copySign(e.select(isSmall, small, large), x);
}

void tilews::populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ExponentialPattern, UnaryExpansion<math::ExpM1Op, emitExpMinusOne>,
           UnaryExpansion<math::TanhOp, emitTanh>,
           UnaryExpansion<math::SinhOp, emitSinh>>(patterns.getContext());
}
