//===- SmallFloats.cpp - Conversions of floats of at most 8 bits ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of fp8, fp6, fp4 and of scales, which are integers of 8 bits in
// registers. fp8 uses the target's instructions. fp6 and fp4 have fewer
// exponents than f16, so their bits at the place of the bits of an f16 are a
// number that is too small by a power of two, also where it is subnormal:
//
//   f4E2M1FN 6.0 = 0 11 1  ->  0 00011 1000000000 = 6.0 * 2^-14 in f16
//
// A conversion from f64 goes through f32 that is rounded to odd, so that the
// second rounding never sees a false tie.
//
//===----------------------------------------------------------------------===//

#include "SmallTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

bool tilews::isSmallFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 8;
}

/// fp8 with a sign: what GPUs have instructions for.
static bool isFp8(Type type) {
  return isSmallFloat(type) && type.getIntOrFloatBitWidth() == 8 &&
         !isa<Float8E8M0FNUType>(type);
}

namespace {
/// A format of less than 8 bits: all codes are numbers.
struct SmallFormat {
  unsigned width, mantissa;
  int bias;
  double largest;

  explicit SmallFormat(FloatType type)
      : width(type.getWidth()), mantissa(type.getFPMantissaWidth() - 1),
        bias(width - mantissa == 4 ? 3 : 1),
        largest(llvm::APFloat::getLargest(type.getFloatSemantics())
                    .convertToDouble()) {}
};
} // namespace

/// Converts numbers of a format below 8 bits to f16, exactly.
static Value extendToHalf(ImplicitLocOpBuilder &b, Value value,
                          SmallFormat format) {
  Type halves = withElements(value.getType(), b.getF16Type());
  auto scale = [&](Value scaled) -> Value {
    return arith::MulFOp::create(
        b, scaled, createNumber(b, halves, std::ldexp(1.0, 15 - format.bias)));
  };
  if (format.width == 4 && fillsWords(value))
    return scale(
        convertNibbles(b, value, b.getF16Type(), [&](Value word, unsigned k) {
          int place = 4 * k;
          return arith::OrIOp::create(b, moveBits(b, word, 12 - place, 0x8000),
                                      moveBits(b, word, 9 - place, 0x0e00));
        }));
  Value bits = resizeIntegers(b, value, b.getI16Type());
  Type words = bits.getType();
  Value sign = arith::AndIOp::create(
      b, bits, createInteger(b, words, 1 << (format.width - 1)));
  sign = arith::ShLIOp::create(b, sign,
                               createInteger(b, words, 16 - format.width));
  Value magnitude = arith::AndIOp::create(
      b, bits, createInteger(b, words, (1 << (format.width - 1)) - 1));
  magnitude = arith::ShLIOp::create(
      b, magnitude, createInteger(b, words, 10 - format.mantissa));
  return scale(arith::BitcastOp::create(
      b, halves, arith::OrIOp::create(b, sign, magnitude)));
}

/// Converts f32 to a format below 8 bits: rounds to nearest even, saturates,
/// and takes NaN to 0.
static Value truncateToSmall(ImplicitLocOpBuilder &b, Value value,
                             FloatType type) {
  SmallFormat format(type);
  Type reals = value.getType(), words = withElements(reals, b.getI32Type());
  Value sign =
      arith::ShRUIOp::create(b, arith::BitcastOp::create(b, words, value),
                             createInteger(b, words, 31));
  Value magnitude = math::AbsFOp::create(b, value);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  magnitude = arith::MinNumFOp::create(b, magnitude,
                                       createNumber(b, reals, format.largest));
  Value bits = arith::BitcastOp::create(b, words, magnitude);
  // Normal numbers: half a unit of the last place, less if it is even.
  unsigned drop = 23 - format.mantissa;
  Value shift = createInteger(b, words, drop);
  Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, shift),
                                    createInteger(b, words, 1));
  int64_t bias =
      (int64_t(1) << (drop - 1)) - 1 - (int64_t(127 - format.bias) << 23);
  Value normal = arith::AddIOp::create(b, arith::AddIOp::create(b, bits, odd),
                                       createInteger(b, words, bias));
  normal = arith::ShRUIOp::create(b, normal, shift);
  // Subnormal ones: the last place of this power of two is that of the format.
  double power = std::ldexp(1.0, 1 - format.bias + int(drop));
  Value subnormal = arith::BitcastOp::create(
      b, words,
      arith::AddFOp::create(b, magnitude, createNumber(b, reals, power)));
  int64_t powerBits = llvm::bit_cast<uint32_t>(float(power));
  subnormal =
      arith::SubIOp::create(b, subnormal, createInteger(b, words, powerBits));
  Value isNormal = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OGE, magnitude,
      createNumber(b, reals, std::ldexp(1.0, 1 - format.bias)));
  Value code = arith::SelectOp::create(b, isNormal, normal, subnormal);
  sign =
      arith::ShLIOp::create(b, sign, createInteger(b, words, format.width - 1));
  code = arith::OrIOp::create(b, code, sign);
  code = arith::SelectOp::create(b, isNaN, createInteger(b, words, 0), code);
  return resizeIntegers(b, code, b.getI8Type());
}

/// Converts exponents to f32. 0 is 2^-127, a subnormal number, and 255 NaN.
static Value extendScale(ImplicitLocOpBuilder &b, Value value) {
  Value bits = resizeIntegers(b, value, b.getI32Type());
  Type words = bits.getType();
  auto isCode = [&](int64_t code) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits,
                                 createInteger(b, words, code));
  };
  Value result = arith::ShLIOp::create(b, bits, createInteger(b, words, 23));
  result = arith::SelectOp::create(b, isCode(0),
                                   createInteger(b, words, 0x400000), result);
  result = arith::SelectOp::create(b, isCode(255),
                                   createInteger(b, words, 0x7fc00000), result);
  return arith::BitcastOp::create(b, withElements(words, b.getF32Type()),
                                  result);
}

/// Converts f32 to the exponent of the nearest power of two.
static Value truncateToScale(ImplicitLocOpBuilder &b, Value value) {
  Type words = withElements(value.getType(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, words, value);
  Value rounded =
      arith::AddIOp::create(b, bits, createInteger(b, words, 0x400000));
  rounded = arith::ShRUIOp::create(b, rounded, createInteger(b, words, 23));
  // Between 2^-127 and 2^-126, which is the smallest normal number.
  auto isAbove = [&](int64_t limit) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, bits,
                                 createInteger(b, words, limit));
  };
  Value subnormal =
      arith::SelectOp::create(b, isAbove(0x600000), createInteger(b, words, 1),
                              createInteger(b, words, 0));
  Value code =
      arith::SelectOp::create(b, isAbove(0x800000), rounded, subnormal);
  // Zero, infinity, NaN and all with a sign.
  Value last = createInteger(b, words, 0x7f7ffffe);
  Value isOther = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ugt,
      arith::SubIOp::create(b, bits, createInteger(b, words, 1)), last);
  code =
      arith::SelectOp::create(b, isOther, createInteger(b, words, 255), code);
  return resizeIntegers(b, code, b.getI8Type());
}

/// Rounds f64 to f32 so that a second rounding gives the result of one: to the
/// neighbor whose last bit is one, unless the number is exact.
static Value truncateToOdd(ImplicitLocOpBuilder &b, Value value) {
  Type reals = withElements(value.getType(), b.getF32Type());
  Type words = withElements(value.getType(), b.getI32Type());
  Value nearest = arith::TruncFOp::create(b, reals, value);
  Value back = arith::ExtFOp::create(b, value.getType(), nearest);
  Value bits = arith::BitcastOp::create(b, words, nearest);
  Value one = createInteger(b, words, 1);
  Value isAway = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                       math::AbsFOp::create(b, back),
                                       math::AbsFOp::create(b, value));
  Value other =
      arith::SelectOp::create(b, isAway, arith::SubIOp::create(b, bits, one),
                              arith::AddIOp::create(b, bits, one));
  Value isInexact =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
  Value isEven = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                       arith::AndIOp::create(b, bits, one),
                                       createInteger(b, words, 0));
  bits = arith::SelectOp::create(b, arith::AndIOp::create(b, isInexact, isEven),
                                 other, bits);
  return arith::BitcastOp::create(b, reals, bits);
}

Value tilews::createSmallExtension(ImplicitLocOpBuilder &b,
                                   const TargetLowering &target, Value value,
                                   Type from) {
  if (isFp8(from))
    return target.emitExtFp8(b, value, from);
  if (isa<Float8E8M0FNUType>(from))
    return extendScale(b, value);
  return extendToHalf(b, value, SmallFormat(cast<FloatType>(from)));
}

/// Converts f32 to a type of at most 8 bits; null if the chip has no such
/// conversion.
static Value createSmallTruncation(ImplicitLocOpBuilder &b,
                                   const TargetLowering &target, Value value,
                                   Type to) {
  if (isFp8(to))
    return target.emitTruncFp8(b, value, to);
  if (isa<Float8E8M0FNUType>(to))
    return truncateToScale(b, value);
  return truncateToSmall(b, value, cast<FloatType>(to));
}

namespace {

/// Converts from and to floating point types of at most 8 bits.
template <typename OpT>
struct SmallFloatPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!isSmallFloat(from) && !isSmallFloat(to))
      return rewriter.notifyMatchFailure(op, "no small type involved");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = adaptor.getIn();
    bool isScalar = !isa<VectorType>(value.getType());
    if (isScalar) {
      value = toRegister(b, value, from);
      value = pack(b, value.getType(), value);
    }
    if (isSmallFloat(from))
      value = createSmallExtension(b, this->getTarget(), value, from);
    if (value && isSmallFloat(to)) {
      Type wide = getElementTypeOrSelf(value.getType());
      value = wide.isF64() ? truncateToOdd(b, value)
                           : resizeFloats(b, value, b.getF32Type());
      value = createSmallTruncation(b, this->getTarget(), value, to);
    } else if (value) {
      value = resizeFloats(b, value, to);
    }
    if (!value)
      return op.emitError("cannot convert ")
             << from << " to " << to << " on " << this->getTarget().info.chip
             << this->getTarget().info.describeFp8();
    if (isScalar)
      value =
          fromRegister(b, vector::ExtractOp::create(b, value, int64_t(0)), to);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Returns `type`, which may be that of a fragment, with elements of f32.
static Type getSingle(Type type) {
  Type single = Float32Type::get(type.getContext());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(single);
  return single;
}

/// Converts integers to a small type by way of f32. Canonicalization makes one
/// conversion of the two.
template <typename OpT>
struct IntegerToSmallPattern : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isSmallFloat(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "no small type involved");
    Value single =
        OpT::create(rewriter, op.getLoc(), getSingle(op.getType()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// Converts a small type to integers by way of f32.
template <typename OpT>
struct SmallToIntegerPattern : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isSmallFloat(getElementTypeOrSelf(op.getIn().getType())))
      return rewriter.notifyMatchFailure(op, "no small type involved");
    Value single = arith::ExtFOp::create(
        rewriter, op.getLoc(), getSingle(op.getIn().getType()), op.getIn());
    rewriter.replaceOpWithNewOp<OpT>(op, op.getType(), single);
    return success();
  }
};

} // namespace

void tilews::populateSmallFloatPatterns(const TileTypeConverter &converter,
                                        LoweringContext &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<SmallFloatPattern<arith::ExtFOp>,
               SmallFloatPattern<arith::TruncFOp>>(converter, lowering);
  // Before those of all elementwise operations.
  PatternBenefit benefit = 3;
  patterns.add<IntegerToSmallPattern<arith::SIToFPOp>,
               IntegerToSmallPattern<arith::UIToFPOp>,
               SmallToIntegerPattern<arith::FPToSIOp>,
               SmallToIntegerPattern<arith::FPToUIOp>>(
      converter, &converter.getContext(), benefit);
}
