//===- ExpandTrigonometry.cpp - Sines and cosines by exact reduction ------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The argument is x = n * pi/2 + r with |r| <= pi/4. The lowest two bits of n
// choose between sin(r) and cos(r), and the sign.
//
// Below 2^17, three parts of pi/2 are subtracted (Cody and Waite, Software
// Manual for the Elementary Functions, 1980). The first difference is exact,
// because fma rounds it only, and its bits are those of a number of 24.
//
// If any argument of a thread is larger, a branch computes n and r with
// integers (Payne and Hanek, Radian Reduction for Trigonometric Functions,
// 1983). Only 96 bits of 2/pi matter: those before contribute multiples of 4 to
// n, and those after less than 2^-70 to the fraction. The branch handles a
// vector in a loop of four elements at a time, so that its code stays small.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tilews;

namespace {
/// x = quadrant * pi/2 + rest, modulo 2 pi.
struct Reduced {
  Value quadrant, rest;
};
} // namespace

/// From here on the integers reduce arguments.
static constexpr double kLarge = 131072; // 2^17

/// The first 224 bits of 2/pi, after a word of zeros.
static constexpr uint32_t kTwoOverPi[] = {0x00000000, 0xa2f9836e, 0x4e441529,
                                          0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                          0x3c439041, 0xfe5163ab};

/// Reduces an argument below 2^17.
static Reduced reduceSmall(RealEmitter &e, Value x) {
  // The sum with 1.5 * 2^23 rounds to an integer, which is in the lowest bits.
  Value magic = e.number(12582912);
  Value sum = e.fma(x, e.number(0.63661977236758134), magic);
  Value n = e.neg(e.sub(sum, magic));
  // Parts of pi/2, each rounded down: a zero keeps its sign.
  Value rest = e.fma(n, e.number(0x1.921fb4p+0), x);
  rest = e.fma(n, e.number(0x1.4442dp-24), rest);
  rest = e.fma(n, e.number(0x1.846ap-48), rest);
  return {e.toBits(sum), rest};
}

/// Returns the three words of 2/pi that start at bit `start` of the table, the
/// lowest one first. `start` is less than 160.
static SmallVector<Value> selectWords(RealEmitter &e, Value start) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  SmallVector<Value> words;
  for (uint32_t word : kTwoOverPi)
    words.push_back(e.integer(word));
  // Drops 1, 2 and 4 words, by the bits of the number of the first one.
  for (int64_t step : {4, 2, 1}) {
    Value bit = arith::AndIOp::create(b, start, e.integer(32 * step));
    Value isSet =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, e.integer(0));
    size_t kept = step == 4 ? 7 : step == 2 ? 5 : 4;
    SmallVector<Value> rest;
    for (size_t i = 0; i < kept; ++i)
      rest.push_back(i + step < words.size()
                         ? e.select(isSet, words[i + step], words[i])
                         : words[i]);
    words = std::move(rest);
  }
  Value shift = arith::AndIOp::create(b, start, e.integer(31));
  Value back = arith::SubIOp::create(b, e.integer(31), shift);
  SmallVector<Value> result;
  for (int i : {2, 1, 0}) {
    Value high = arith::ShLIOp::create(b, words[i], shift);
    // In two steps, because a shift by 32 bits has no result.
    Value low = arith::ShRUIOp::create(b, words[i + 1], e.integer(1));
    low = arith::ShRUIOp::create(b, low, back);
    result.push_back(arith::OrIOp::create(b, high, low));
  }
  return result;
}

/// Reduces an argument of at least 2^17, or infinity.
static Reduced reduceLarge(RealEmitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Type longType = e.withElement(b.getI64Type()), wordType = e.getBitsType();
  auto extend = [&](Value word) -> Value {
    return arith::ExtUIOp::create(b, longType, word);
  };
  auto shiftRight = [&](Value value, int64_t by) -> Value {
    return arith::ShRUIOp::create(b, value, e.integer(longType, by));
  };
  // x is an integer of 24 bits times 2^(exponent - 150). The words start two
  // bits before those that the result of multiplication with the integer turns
  // into fractions.
  Value magnitude = e.toBits(e.abs(x));
  Value exponent = arith::ShRUIOp::create(b, magnitude, e.integer(23));
  Value fraction =
      arith::AndIOp::create(b, magnitude, e.integer((1 << 23) - 1));
  Value mantissa =
      extend(arith::OrIOp::create(b, fraction, e.integer(1 << 23)));
  Value start = arith::SubIOp::create(b, exponent, e.integer(150 + 2 - 32));
  SmallVector<Value> words = selectWords(e, start);
  Value low = arith::MulIOp::create(b, mantissa, extend(words[0]));
  Value middle = arith::AddIOp::create(
      b, arith::MulIOp::create(b, mantissa, extend(words[1])),
      shiftRight(low, 32));
  Value high = arith::AddIOp::create(
      b, arith::MulIOp::create(b, mantissa, extend(words[2])),
      shiftRight(middle, 32));
  high = arith::ShLIOp::create(b, high, e.integer(longType, 32));
  Value mask = e.integer(longType, 0xffffffff);
  // Two bits of n, and 62 of the fraction.
  Value product =
      arith::OrIOp::create(b, high, arith::AndIOp::create(b, middle, mask));
  Value rounded =
      arith::AddIOp::create(b, product, e.integer(longType, int64_t(1) << 61));
  Value quadrant =
      arith::TruncIOp::create(b, wordType, shiftRight(rounded, 62));
  Value signedFraction =
      arith::ShLIOp::create(b, product, e.integer(longType, 2));
  Value rest = arith::SIToFPOp::create(b, e.getType(), signedFraction);
  rest = e.mul(rest, e.number(std::ldexp(1.5707963267948966, -64)));
  Value isNegative = e.less(x, e.number(0));
  rest = e.select(isNegative, e.neg(rest), rest);
  quadrant = e.select(
      isNegative, arith::SubIOp::create(b, e.integer(0), quadrant), quadrant);
  Value infinity = e.number(std::numeric_limits<double>::infinity());
  Value nan = e.number(std::numeric_limits<double>::quiet_NaN());
  return {quadrant, e.select(e.less(e.abs(x), infinity), rest, nan)};
}

/// Replaces what is reduced of large arguments.
static Reduced correctLarge(RealEmitter &e, Value x, Reduced small) {
  Value isSmall = e.less(e.abs(x), e.number(kLarge));
  Reduced large = reduceLarge(e, x);
  // NaN is not less, and stays NaN.
  return {e.select(isSmall, small.quadrant, large.quadrant),
          e.select(isSmall, small.rest, large.rest)};
}

/// The same for a vector, a few elements in each iteration: the first ones are
/// taken, and their results become the last ones.
static Reduced correctInLoop(RealEmitter &e, Value x, Reduced small,
                             int64_t step) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto loop =
      scf::ForOp::create(b, constant(0), constant(count / step), constant(1),
                         ValueRange{x, small.quadrant, small.rest});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> all(loop.getRegionIterArgs()), first;
  SmallVector<int64_t> front = llvm::to_vector(llvm::seq(step));
  for (Value vector : all)
    first.push_back(vector::ShuffleOp::create(b, vector, vector, front));
  RealEmitter part(b, first[0].getType());
  Reduced done = correctLarge(part, first[0], {first[1], first[2]});
  SmallVector<int64_t> wide(count), rotated(count);
  for (int64_t i = 0; i < count; ++i) {
    wide[i] = i < step ? i : 0;
    // From `count` on these are elements of the second operand, the results.
    rotated[i] = i + step;
  }
  SmallVector<Value> next;
  SmallVector<Value> results = {first[0], done.quadrant, done.rest};
  for (auto [vector, result] : llvm::zip_equal(all, results)) {
    Value widened = vector::ShuffleOp::create(b, result, result, wide);
    next.push_back(vector::ShuffleOp::create(b, vector, widened, rotated));
  }
  scf::YieldOp::create(b, next);
  return {loop.getResult(1), loop.getResult(2)};
}

/// Reduces any argument.
static Reduced reduce(RealEmitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Reduced small = reduceSmall(e, x);
  Value most = e.largest(e.abs(x));
  RealEmitter scalar(b, b.getF32Type());
  Value anyLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, most,
                                         scalar.number(kLarge));
  auto branch = scf::IfOp::create(
      b, TypeRange{small.quadrant.getType(), small.rest.getType()}, anyLarge,
      /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto vector = dyn_cast<VectorType>(x.getType());
  int64_t count = vector ? vector.getNumElements() : 1;
  int64_t step = 4;
  while (count % step)
    --step;
  Reduced large = vector && vector.getRank() == 1 && count > 4
                      ? correctInLoop(e, x, small, step)
                      : correctLarge(e, x, small);
  scf::YieldOp::create(b, ValueRange{large.quadrant, large.rest});
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{small.quadrant, small.rest});
  return {branch.getResult(0), branch.getResult(1)};
}

/// Returns the sine of |x| <= pi/4, rounded almost always to the nearest.
static Value emitSmallSine(RealEmitter &e, Value x, Value square) {
  Value sum = e.polynomial(square, {-0.16666653831748149, 0.0083321063034518805,
                                    -0.0001950740301833019});
  // The sum of zeros has lost the sign.
  return e.copySign(e.fma(e.mul(x, square), sum, x), x);
}
static Value emitSmallCosine(RealEmitter &e, Value square) {
  return e.polynomial(square, {1, -0.5, 0.041666644987269991,
                               -0.0013887272836667962, 2.4427349549436418e-05});
}

/// Returns whether bit `bit` of the quadrant is set.
static Value testBit(RealEmitter &e, Value quadrant, int64_t bit) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Value masked = arith::AndIOp::create(b, quadrant, e.integer(bit));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked,
                               e.integer(0));
}
static Value negateIf(RealEmitter &e, Value condition, Value x) {
  return e.select(condition, e.neg(x), x);
}

/// Returns the sine and the cosine, or those of them that are asked for.
static std::pair<Value, Value> emitSineCosine(RealEmitter &e, Value x,
                                              bool needsSine = true,
                                              bool needsCosine = true) {
  ImplicitLocOpBuilder &b = e.getBuilder();
  Reduced reduced = reduce(e, x);
  Value square = e.mul(reduced.rest, reduced.rest);
  Value sine = emitSmallSine(e, reduced.rest, square);
  Value cosine = emitSmallCosine(e, square);
  Value isOdd = testBit(e, reduced.quadrant, 1);
  std::pair<Value, Value> result;
  if (needsSine)
    result.first = negateIf(e, testBit(e, reduced.quadrant, 2),
                            e.select(isOdd, cosine, sine));
  if (needsCosine) {
    Value next = arith::AddIOp::create(b, reduced.quadrant, e.integer(1));
    result.second =
        negateIf(e, testBit(e, next, 2), e.select(isOdd, sine, cosine));
  }
  return result;
}

static Value emitSine(RealEmitter &e, Value x) {
  return emitSineCosine(e, x, true, false).first;
}
static Value emitCosine(RealEmitter &e, Value x) {
  return emitSineCosine(e, x, false, true).second;
}
static Value emitTangent(RealEmitter &e, Value x) {
  auto [sine, cosine] = emitSineCosine(e, x);
  return e.div(sine, cosine);
}

namespace {
struct SincosExpansion : F32Expansion<math::SincosOp> {
  using F32Expansion::F32Expansion;

  SmallVector<Value> emit(RealEmitter &e, math::SincosOp op) const override {
    auto [sine, cosine] = emitSineCosine(e, op.getOperand());
    return {sine, cosine};
  }
};
} // namespace

void tilews::populateTrigonometryPatterns(RewritePatternSet &patterns) {
  patterns.add<UnaryExpansion<math::SinOp, emitSine>,
               UnaryExpansion<math::CosOp, emitCosine>,
               UnaryExpansion<math::TanOp, emitTangent>, SincosExpansion>(
      patterns.getContext());
}
