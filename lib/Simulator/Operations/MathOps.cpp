//===- MathOps.cpp - Functions of the math dialect ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of the math dialect by the C library, in double precision, and
// rounded to the element type. For types of at most 24 bits the result is
// almost always the correctly rounded one.
//
// A fused multiply-add of a narrow type needs no `fma`: a double holds a * b
// exactly, and the sum is rounded to odd, so that the final rounding is the
// only one that counts.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Elementwise.h"
#include "Simulator/Numbers.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

template <typename OpT, typename Fn>
static void addReal(Registry &registry, Fn fn) {
  addElementwise<OpT, double, double>(registry, fn);
}
template <typename OpT, typename Fn>
static void addPredicate(Registry &registry, Fn fn) {
  addElementwise<OpT, int64_t, double>(
      registry, [fn](double a) { return -int64_t(fn(a)); });
}

static void registerExponentials(Registry &registry) {
  addReal<math::ExpOp>(registry, [](double a) { return std::exp(a); });
  addReal<math::Exp2Op>(registry, [](double a) { return std::exp2(a); });
  addReal<math::ExpM1Op>(registry, [](double a) { return std::expm1(a); });
  addReal<math::LogOp>(registry, [](double a) { return std::log(a); });
  addReal<math::Log2Op>(registry, [](double a) { return std::log2(a); });
  addReal<math::Log10Op>(registry, [](double a) { return std::log10(a); });
  addReal<math::Log1pOp>(registry, [](double a) { return std::log1p(a); });
  addReal<math::SqrtOp>(registry, [](double a) { return std::sqrt(a); });
  addReal<math::RsqrtOp>(registry, [](double a) { return 1 / std::sqrt(a); });
  addReal<math::CbrtOp>(registry, [](double a) { return std::cbrt(a); });
  addReal<math::ErfOp>(registry, [](double a) { return std::erf(a); });
  addReal<math::ErfcOp>(registry, [](double a) { return std::erfc(a); });
}

static void registerTrigonometry(Registry &registry) {
  addReal<math::SinOp>(registry, [](double a) { return std::sin(a); });
  addReal<math::CosOp>(registry, [](double a) { return std::cos(a); });
  addReal<math::TanOp>(registry, [](double a) { return std::tan(a); });
  addReal<math::AsinOp>(registry, [](double a) { return std::asin(a); });
  addReal<math::AcosOp>(registry, [](double a) { return std::acos(a); });
  addReal<math::AtanOp>(registry, [](double a) { return std::atan(a); });
  addReal<math::SinhOp>(registry, [](double a) { return std::sinh(a); });
  addReal<math::CoshOp>(registry, [](double a) { return std::cosh(a); });
  addReal<math::TanhOp>(registry, [](double a) { return std::tanh(a); });
  addReal<math::AsinhOp>(registry, [](double a) { return std::asinh(a); });
  addReal<math::AcoshOp>(registry, [](double a) { return std::acosh(a); });
  addReal<math::AtanhOp>(registry, [](double a) { return std::atanh(a); });
  addElementwise<math::Atan2Op, double, double, double>(
      registry, [](double a, double b) { return std::atan2(a, b); });
  registry.add<math::SincosOp>([](Frame &frame, const Instruction &inst) {
    (void)mapElements<double, double>(
        frame, inst, [](double a) { return std::cos(a); }, /*result=*/1);
    return mapElements<double, double>(frame, inst,
                                       [](double a) { return std::sin(a); });
  });
}

static void registerRounding(Registry &registry) {
  addReal<math::AbsFOp>(registry, [](double a) { return std::fabs(a); });
  addReal<math::CeilOp>(registry, [](double a) { return std::ceil(a); });
  addReal<math::FloorOp>(registry, [](double a) { return std::floor(a); });
  addReal<math::TruncOp>(registry, [](double a) { return std::trunc(a); });
  addReal<math::RoundOp>(registry, [](double a) { return std::round(a); });
  addReal<math::RoundEvenOp>(registry,
                             [](double a) { return std::nearbyint(a); });
  addElementwise<math::CopySignOp, double, double, double>(
      registry, [](double a, double b) { return std::copysign(a, b); });
  addElementwise<math::ClampFOp, double, double, double, double>(
      registry, [](double value, double low, double high) {
        return minNumber(maxNumber(value, low), high);
      });
  addPredicate<math::IsNaNOp>(registry, [](double a) { return std::isnan(a); });
  addPredicate<math::IsInfOp>(registry, [](double a) { return std::isinf(a); });
  addPredicate<math::IsFiniteOp>(registry,
                                 [](double a) { return std::isfinite(a); });
  registry.add<math::IsNormalOp>([](Frame &frame, const Instruction &inst) {
    // A subnormal of the element type may be a normal double.
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(inst.op->getOperand(0)))
            .getFloatSemantics();
    double least = APFloat::getSmallestNormalized(semantics).convertToDouble();
    return mapElements<int64_t, double>(frame, inst, [&](double a) {
      return -int64_t(std::isfinite(a) && std::fabs(a) >= least);
    });
  });
}

/// `a * b + c` with one rounding. The product of two elements of a small format
/// is exact in double precision.
static LogicalResult fuse(Frame &frame, const Instruction &inst) {
  if (inst.resultTypes[0].element.format == FloatFormat::F64)
    return mapElements<double, double, double, double>(
        frame, inst,
        [](double a, double b, double c) { return std::fma(a, b, c); });
  return mapElements<double, double, double, double>(
      frame, inst,
      [](double a, double b, double c) { return addToOdd(a * b, c); });
}

static void registerPowers(Registry &registry) {
  registry.add<math::FmaOp>(fuse);
  addElementwise<math::PowFOp, double, double, double>(
      registry, [](double a, double b) { return std::pow(a, b); });
  addElementwise<math::FPowIOp, double, double, int64_t>(
      registry, [](double a, int64_t b) { return std::pow(a, double(b)); });
  addElementwise<math::IPowIOp, int64_t, int64_t, int64_t>(
      registry, [](int64_t a, int64_t b) -> int64_t {
        if (b < 0 && a == 0) // 1 / 0
          return -1;
        if (b < 0) // The reciprocal, toward zero.
          return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
        uint64_t result = 1, square = a;
        for (; b; b >>= 1, square *= square)
          result *= b & 1 ? square : 1;
        return result;
      });
}

static void registerBitOps(Registry &registry) {
  addSized<math::AbsIOp, int64_t>(
      registry, [](unsigned, int64_t a) { return getAbsolute(a); });
  addSized<math::CtPopOp, int64_t>(registry, [](unsigned width, int64_t a) {
    return llvm::popcount(getUnsigned(a, width));
  });
  addSized<math::CountLeadingZerosOp, int64_t>(
      registry, [](unsigned width, int64_t a) {
        return llvm::countl_zero(getUnsigned(a, width)) - int(64 - width);
      });
  addSized<math::CountTrailingZerosOp, int64_t>(registry, [](unsigned width,
                                                             int64_t a) {
    return std::min<int64_t>(llvm::countr_zero(getUnsigned(a, width)), width);
  });
}

void sim::registerMathHandlers(Registry &registry) {
  registerExponentials(registry);
  registerTrigonometry(registry);
  registerRounding(registry);
  registerPowers(registry);
  registerBitOps(registry);
}
