//===- ExpandLogarithms.cpp - Logarithms with a small relative error ------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's instruction has an absolute error of 2^-22 between 0.5 and 2 (PTX
// ISA, "lg2"), so that the logarithm of 1.001 has few right digits. Instead:
//
//   x = 2^n * (1 + f), 1 + f from sqrt(1/2) to sqrt(2)
//   log(1 + f) = f + f^2 * (-1/2 + f * P(f))
//   log(x) = log(1 + f) + n * ln(2)
//
// ln(2) is added in two parts. The logarithms of base 2 and 10 multiply the
// first one by a factor, and add n times theirs. If n is not 0, the sum is no
// smaller than half of each term, so it keeps the relative error.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace tilews;

namespace {
/// log_b(x) = n * (high + low) + log(1 + f) * factor.
struct Base {
  double high, low, factor;
};
} // namespace

static Value emitLogarithm(RealEmitter &e, Value x, Base base) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  // Denormal numbers get an exponent.
  Value isSmall = e.less(x, e.number(0x1p-126));
  Value normal = e.select(isSmall, e.mul(x, e.number(0x1p23)), x);
  Value bits = e.toBits(normal);
  // The exponent falls by one at sqrt(1/2).
  Value exponent = arith::ShRSIOp::create(
      b, arith::SubIOp::create(b, bits, e.integer(0x3f3504f3)), e.integer(23));
  Value mantissa = arith::SubIOp::create(
      b, bits, arith::ShLIOp::create(b, exponent, e.integer(23)));
  Value f = e.sub(e.fromBits(mantissa), e.number(1));
  Value n = arith::SIToFPOp::create(b, e.getType(), exponent);
  n = e.select(isSmall, e.sub(n, e.number(23)), n);
  Value tail = e.polynomial(f, {-0.5, 0.33333316268142876, -0.25000818545369818,
                                0.20002330063252452, -0.16624275980900177,
                                0.14180016262200623, -0.13130499816635285,
                                0.12890870773949634, -0.078661913401257194});
  Value natural = e.fma(e.mul(f, f), tail, f);
  Value sum = base.factor == 1 ? e.fma(n, e.number(base.low), natural)
                               : e.mul(natural, e.number(base.factor));
  if (base.factor != 1 && base.low != 0)
    sum = e.fma(n, e.number(base.low), sum);
  sum = e.fma(n, e.number(base.high), sum);
  Value infinity = e.number(std::numeric_limits<double>::infinity());
  Value nan = e.number(std::numeric_limits<double>::quiet_NaN());
  Value zero = e.number(0);
  // NaN and infinity are their own logarithms.
  sum = e.select(e.less(x, infinity), sum, x);
  sum = e.select(e.less(x, zero), nan, sum);
  return e.select(e.equals(x, zero), e.neg(infinity), sum);
}

static Value emitLog(RealEmitter &e, Value x) {
  return emitLogarithm(e, x, {0.6931471824645996, -1.9046542121259336e-09, 1});
}
static Value emitLog2(RealEmitter &e, Value x) {
  return emitLogarithm(e, x, {1, 0, 1.4426950408889634});
}
static Value emitLog10(RealEmitter &e, Value x) {
  return emitLogarithm(
      e, x, {0.3010300099849701, -1.432098883924482e-08, 0.43429448190325183});
}

void tilews::populateLogarithmPatterns(RewritePatternSet &patterns) {
  patterns.add<UnaryExpansion<math::LogOp, emitLog>,
               UnaryExpansion<math::Log2Op, emitLog2>,
               UnaryExpansion<math::Log10Op, emitLog10>>(patterns.getContext());
}
