//===- ExpandPowers.cpp - Powers of floating point ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A power with a constant integral exponent of at most 64 is computed by
// repeated squaring. Each multiplication has a second number for its error,
// which fma gives exactly (Dekker, A floating-point technique for extending the
// available precision, 1971). For a negative exponent the reciprocal is raised.
//
// Others are 2^(y * log2|x|), with the logarithm in two numbers:
//
//   |x| = 2^n * m     s = (m - 1) / (m + 1)     log(m) = 2 (s + s^3/3 + ...)
//
// The multiplied logarithm is split into an integer, which becomes an exponent,
// and a rest of at most 1/2, for which fma needs no rounded multiplication.
// Selects at the end make signs and special cases those of IEEE 754 (`pow`;
// C23, F.10.4.4).
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;
using namespace tilews;

namespace {
/// The sum of two numbers, the second of which is far smaller.
struct Pair {
  Value high, low;
};
} // namespace

/// Returns the result of multiplication of two pairs.
static Pair multiply(RealEmitter &e, Pair x, Pair y) {
  Value high = e.mul(x.high, y.high);
  Value low = e.fma(x.high, y.high, e.neg(high));
  low = e.fma(x.high, y.low, low);
  return {high, e.fma(x.low, y.high, low)};
}

static constexpr int64_t kMostProducts = 64;

/// Returns x^n for a constant n of at most 64.
static Value emitConstantPower(RealEmitter &e, Value x, int64_t n) {
  Value one = e.number(1), zero = e.number(0);
  if (n == 0)
    return one;
  if (n == 1)
    return x;
  Pair square{x, zero};
  if (n < 0) {
    square.high = e.div(one, x);
    if (n == -1)
      return square.high;
    square.low = e.mul(e.fma(e.neg(x), square.high, one), square.high);
  }
  std::optional<Pair> power;
  for (uint64_t rest = std::abs(n);; square = multiply(e, square, square)) {
    if (rest & 1)
      power = power ? multiply(e, *power, square) : square;
    rest >>= 1;
    if (!rest)
      break;
  }
  // The error of an infinite result is no finite number.
  Value infinity = e.number(std::numeric_limits<double>::infinity());
  Value hasError = e.less(e.abs(power->low), infinity);
  // The sum of a zero and no error has lost the sign.
  hasError = e.both(hasError, e.differs(power->low, zero));
  return e.select(hasError, e.add(power->high, power->low), power->high);
}

/// Returns the logarithm to base two of positive normal or denormal numbers.
static Pair emitPreciseLog2(RealEmitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Value isSmall = e.less(x, e.number(0x1p-126));
  Value bits = e.toBits(e.select(isSmall, e.mul(x, e.number(0x1p23)), x));
  Value exponent = arith::ShRSIOp::create(
      b, arith::SubIOp::create(b, bits, e.integer(0x3f3504f3)), e.integer(23));
  Value m = e.fromBits(arith::SubIOp::create(
      b, bits, arith::ShLIOp::create(b, exponent, e.integer(23))));
  Value n = arith::SIToFPOp::create(b, e.getType(), exponent);
  n = e.select(isSmall, e.sub(n, e.number(23)), n);
  // s and its error. m + 1 is rounded; `lost` is what it misses.
  Value one = e.number(1);
  Value f = e.sub(m, one), sum = e.add(m, one);
  Value lost = e.sub(m, e.sub(sum, one));
  Value s = e.div(f, sum);
  Value rest = e.fma(e.neg(s), lost, e.fma(e.neg(s), sum, f));
  Value sLow = e.div(rest, sum);
  Value square = e.mul(s, s);
  Value tail = e.polynomial(square, {0.33333332781799863, 0.20000177612936962,
                                     0.14267976464157611, 0.11804636159920336});
  Value low = e.fma(s, e.mul(square, tail), sLow);
  // n + (2 / ln 2) * (s + low).
  Value factor = e.number(2.885390043258667);
  Value high = e.fma(factor, s, n);
  Value error = e.fma(factor, s, e.sub(n, high));
  error = e.fma(factor, low, error);
  error = e.fma(e.number(3.851926067000022e-08), s, error);
  Value total = e.add(high, error);
  return {total, e.sub(error, e.sub(total, high))};
}

/// Returns the power of two of the result of multiplication of `y` and a pair.
static Value emitPowerOfProduct(RealEmitter &e, Value y, Pair x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Value product = e.mul(y, x.high);
  Value bound = e.number(160);
  Value tooLarge = e.less(e.number(129), product);
  Value tooSmall = e.less(product, e.number(-152));
  Value n = math::RoundEvenOp::create(
      b, e.select(e.less(e.abs(product), bound), product, e.number(0)));
  Value rest = e.fma(y, x.low, e.fma(y, x.high, e.neg(n)));
  Value power =
      e.polynomial(rest, {1, 0.69314720628848636, 0.24022651332399983,
                          0.055503277424222577, 0.0096180054152893921,
                          0.0013400283159421705, 0.00015475896695309348});
  // Two factors, each with a normal exponent.
  Value exponent = arith::FPToSIOp::create(b, e.getBitsType(), n);
  Value first = arith::ShRSIOp::create(b, exponent, e.integer(1));
  Value second = arith::SubIOp::create(b, exponent, first);
  power = e.mul(e.mul(power, e.powerOfTwo(first)), e.powerOfTwo(second));
  Value infinity = e.number(std::numeric_limits<double>::infinity());
  power = e.select(tooLarge, infinity, power);
  return e.select(tooSmall, e.number(0), power);
}

static Value emitPower(RealEmitter &e, Value x, Value y) {
  Value zero = e.number(0), one = e.number(1);
  Value infinity = e.number(std::numeric_limits<double>::infinity());
  Value nan = e.number(std::numeric_limits<double>::quiet_NaN());
  Value magnitude = e.abs(x);
  Pair log = emitPreciseLog2(e, magnitude);
  Value isZero = e.equals(x, zero);
  Value isFinite = e.less(magnitude, infinity);
  // Infinity and NaN are their own logarithms.
  log.high = e.select(isFinite, log.high, magnitude);
  log.high = e.select(isZero, e.neg(infinity), log.high);
  log.low = e.select(e.both(isFinite, e.differs(x, zero)), log.low, zero);
  // Beyond 2^33 every power but that of 1 is infinite or zero.
  Value most = e.number(0x1p33);
  Value isHuge = e.less(most, e.abs(y));
  Value exponent = e.select(isHuge, e.copySign(most, y), y);
  Value result = emitPowerOfProduct(e, exponent, log);
  // The sign. Infinite exponents are even integers.
  Value half = e.mul(y, e.number(0.5));
  Value isFraction = e.differs(e.trunc(y), y);
  Value isOdd = e.both(e.differs(e.trunc(half), half), e.equals(e.trunc(y), y));
  Value signedResult = e.copySign(result, x);
  result = e.select(isOdd, signedResult, result);
  Value isNegative = e.both(e.less(x, zero), isFinite);
  result = e.select(e.both(isNegative, isFraction), nan, result);
  Value isOne = e.either(e.equals(y, zero), e.equals(x, one));
  return e.select(isOne, one, result);
}

/// Returns the integer that all elements of a constant are, if it is small.
static std::optional<int64_t> getSmallInteger(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  if (auto elements = dyn_cast<SplatElementsAttr>(attr))
    attr = elements.getSplatValue<Attribute>();
  double number;
  if (auto real = dyn_cast<FloatAttr>(attr))
    number = real.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(attr))
    number = integer.getValue().signedRoundToDouble();
  else
    return std::nullopt;
  if (!(std::fabs(number) <= kMostProducts) || number != std::trunc(number))
    return std::nullopt;
  return int64_t(number);
}

namespace {
/// A power with an exponent of floating point, or an integer.
template <typename OpT>
struct PowerExpansion : F32Expansion<OpT> {
  using F32Expansion<OpT>::F32Expansion;

  SmallVector<Value> emit(RealEmitter &e, OpT op) const override {
    Value exponent = op.getRhs();
    if (auto widened = exponent.template getDefiningOp<arith::ExtFOp>())
      exponent = widened.getIn();
    if (std::optional<int64_t> n = getSmallInteger(exponent))
      return {emitConstantPower(e, op.getLhs(), *n)};
    exponent = op.getRhs();
    if (isa<IntegerType>(getElementTypeOrSelf(exponent.getType())))
      exponent = arith::SIToFPOp::create(e.getBuilder(), e.getType(), exponent);
    return {emitPower(e, op.getLhs(), exponent)};
  }
};
} // namespace

void tilews::populatePowerPatterns(RewritePatternSet &patterns) {
  patterns.add<PowerExpansion<math::PowFOp>, PowerExpansion<math::FPowIOp>>(
      patterns.getContext());
}
