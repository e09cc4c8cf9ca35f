//===- SmallTypes.cpp - Integers of at most 8 bits, and bits --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of integers of at most 8 bits, and bits as elements of another
// width. Types below a byte take a byte in registers, integers with their sign
// extended: the backends would keep vectors of such types in memory.
//
// Small integers become floating point by a sum. After the bits of a large
// power of two whose last bit counts as one they are that power plus the
// integer; a subtraction is exact, and faster than the instruction that
// converts:
//
//   i4 n  ->  0x6400 | (n ^ 8) = 1024 + n + 8 in f16, minus 1032
//
// That is done to two elements of 4 bits at once, which are 16 bits apart in
// the 32 bits that eight of them fill in memory.
//
//===----------------------------------------------------------------------===//

#include "SmallTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <map>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

Type tilews::withElements(Type type, Type element) {
  return cast<VectorType>(type).clone(element);
}

Value tilews::createNumber(ImplicitLocOpBuilder &b, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type),
                                b.getFloatAttr(element, value)));
}

Value tilews::resizeIntegers(ImplicitLocOpBuilder &b, Value value, Type to) {
  Type from = value.getType(), element = getElementTypeOrSelf(from);
  if (isa<VectorType>(from))
    to = withElements(from, to);
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (element.getIntOrFloatBitWidth() == width)
    return value;
  if (element.getIntOrFloatBitWidth() < width)
    return arith::ExtUIOp::create(b, to, value);
  return arith::TruncIOp::create(b, to, value);
}

Value tilews::maskBits(ImplicitLocOpBuilder &b, Value value, unsigned width) {
  Type type = value.getType();
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() <= width)
    return value;
  return arith::AndIOp::create(
      b, value, createInteger(b, type, (int64_t(1) << width) - 1));
}

Value tilews::resizeFloats(ImplicitLocOpBuilder &b, Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  unsigned width = element.getIntOrFloatBitWidth();
  if (from.getIntOrFloatBitWidth() < width)
    return arith::ExtFOp::create(b, withElements(value.getType(), element),
                                 value);
  // Neither of f16 and bf16 contains the other.
  if (from.getIntOrFloatBitWidth() == width)
    value = arith::ExtFOp::create(
        b, withElements(value.getType(), b.getF32Type()), value);
  return arith::TruncFOp::create(b, withElements(value.getType(), element),
                                 value);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

bool tilews::isBelowByte(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() > 1 &&
         element.getIntOrFloatBitWidth() < 8;
}

Value tilews::toRegister(ImplicitLocOpBuilder &b, Value scalar, Type element) {
  if (!isBelowByte(element))
    return scalar;
  if (isa<FloatType>(element))
    return arith::ExtUIOp::create(b, b.getI8Type(), scalar);
  return arith::ExtSIOp::create(b, b.getI8Type(), scalar);
}

Value tilews::fromRegister(ImplicitLocOpBuilder &b, Value value, Type element) {
  if (!isBelowByte(element))
    return value;
  return arith::TruncIOp::create(
      b, b.getIntegerType(element.getIntOrFloatBitWidth()), value);
}

Value tilews::normalizeRegister(ImplicitLocOpBuilder &b, Value value,
                                Type element) {
  if (!isBelowByte(element))
    return value;
  unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element))
    return maskBits(b, value, width);
  Value shift = createInteger(b, value.getType(), 8 - width);
  value = arith::ShLIOp::create(b, value, shift);
  return arith::ShRSIOp::create(b, value, shift);
}

//===----------------------------------------------------------------------===//
// Elements of 4 bits, two at a time
//===----------------------------------------------------------------------===//

bool tilews::fillsWords(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements() % 8 == 0;
}

/// Returns words with eight elements of 4 bits each, the first in the lowest
/// bits. LLVM drops the shifts where the elements come from such words.
static SmallVector<Value> packNibbles(ImplicitLocOpBuilder &b, Value vector) {
  SmallVector<Value> elements = unpack(b, vector), words;
  Type byte = b.getI8Type();
  for (size_t first = 0; first < elements.size(); first += 8) {
    SmallVector<Value> bytes;
    for (size_t i = first; i < first + 8; i += 2) {
      Value high =
          arith::ShLIOp::create(b, elements[i + 1], createInteger(b, byte, 4));
      bytes.push_back(
          arith::OrIOp::create(b, maskBits(b, elements[i], 4), high));
    }
    words.push_back(
        LLVM::BitcastOp::create(b, b.getI32Type(), pack(b, byte, bytes)));
  }
  return words;
}

Value tilews::convertNibbles(
    ImplicitLocOpBuilder &b, Value vector, FloatType half,
    llvm::function_ref<Value(Value, unsigned)> convert) {
  Type pair = VectorType::get({2}, half);
  SmallVector<Value> results;
  for (Value word : packNibbles(b, vector)) {
    SmallVector<Value> eight(8);
    for (unsigned k = 0; k < 4; ++k) {
      Value both = LLVM::BitcastOp::create(b, pair, convert(word, k));
      SmallVector<Value> halves = unpack(b, both);
      eight[k] = halves[0];
      eight[k + 4] = halves[1];
    }
    llvm::append_range(results, eight);
  }
  return pack(b, half, results);
}

Value tilews::moveBits(ImplicitLocOpBuilder &b, Value word, int left,
                       uint32_t mask) {
  Type type = word.getType();
  if (left > 0)
    word = arith::ShLIOp::create(b, word, createInteger(b, type, left));
  else if (left < 0)
    word = arith::ShRUIOp::create(b, word, createInteger(b, type, -left));
  return arith::AndIOp::create(
      b, word, createInteger(b, type, int32_t(mask << 16 | mask)));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Returns the width of the integers of a fragment, if it is 2 to 8.
static unsigned getSmallWidth(Value fragment) {
  auto tensor = dyn_cast<RankedTensorType>(fragment.getType());
  auto element =
      tensor ? dyn_cast<IntegerType>(tensor.getElementType()) : IntegerType();
  bool isSmall = element && element.getWidth() > 1 && element.getWidth() <= 8;
  return isSmall ? element.getWidth() : 0;
}

namespace {

/// Widens integers below a byte, whose sign is extended already.
template <typename OpT>
struct SmallExtensionPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    unsigned width = getSmallWidth(op.getIn());
    if (width == 0 || width == 8)
      return rewriter.notifyMatchFailure(op, "no small type involved");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = adaptor.getIn();
    if (std::is_same_v<OpT, arith::ExtUIOp>)
      value = maskBits(b, value, width);
    Type type = this->getTypeConverter()->convertType(op.getType());
    if (type != value.getType())
      value = OpT::create(b, type, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Narrows integers to less than a byte, or reads the bits of a type below a
/// byte as another one of its width: the lowest bits of the register.
template <typename OpT>
struct LowestBitsPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!isBelowByte(element) || !isa<RankedTensorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "no small type involved");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = resizeIntegers(b, adaptor.getIn(), b.getI8Type());
    rewriter.replaceOp(op, normalizeRegister(b, value, element));
    return success();
  }
};

/// Converts integers of at most 8 bits to floating point by a sum.
template <typename OpT, bool IsSigned>
struct SmallToFloatPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    unsigned width = getSmallWidth(op.getIn());
    if (width == 0)
      return rewriter.notifyMatchFailure(op, "no small type involved");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = adaptor.getIn();
    auto to = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    // The mantissa holds the integer.
    FloatType through = to;
    if (to.isF64() || to.getFPMantissaWidth() <= width)
      through = b.getF32Type();
    if (through.isF32() && this->getTarget().info.isAMD()) {
      // It has an instruction as fast as a sum.
      value = IsSigned ? value : maskBits(b, value, width);
      rewriter.replaceOp(op, convert(b, value, to));
      return success();
    }
    int64_t offset = IsSigned ? int64_t(1) << (width - 1) : 0;
    double power = std::ldexp(1.0, through.getFPMantissaWidth() - 1);
    APFloat number = cast<FloatAttr>(b.getFloatAttr(through, power)).getValue();
    int64_t bits = number.bitcastToAPInt().getZExtValue();
    auto addPower = [&](Value words, int64_t copies) -> Value {
      Type type = words.getType();
      words = arith::XOrIOp::create(b, words,
                                    createInteger(b, type, offset * copies));
      return arith::OrIOp::create(b, words,
                                  createInteger(b, type, bits * copies));
    };
    Value sums;
    if (width == 4 && through.getWidth() == 16 && fillsWords(value)) {
      sums = convertNibbles(b, value, through, [&](Value word, unsigned k) {
        return addPower(moveBits(b, word, -4 * int(k), 0xf), 0x10001);
      });
    } else {
      Value words =
          resizeIntegers(b, value, b.getIntegerType(through.getWidth()));
      words = addPower(maskBits(b, words, width), 1);
      sums = arith::BitcastOp::create(b, withElements(words.getType(), through),
                                      words);
    }
    Value result = arith::SubFOp::create(
        b, sums, createNumber(b, sums.getType(), power + double(offset)));
    rewriter.replaceOp(op, resizeFloats(b, result, to));
    return success();
  }

  /// Converts by way of i32 and f32.
  static Value convert(ImplicitLocOpBuilder &b, Value value, Type to) {
    using ExtOp = std::conditional_t<IsSigned, arith::ExtSIOp, arith::ExtUIOp>;
    value =
        ExtOp::create(b, withElements(value.getType(), b.getI32Type()), value);
    value =
        OpT::create(b, withElements(value.getType(), b.getF32Type()), value);
    return resizeFloats(b, value, to);
  }
};

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Returns the bits of an element that `tile.bitcast` counts, as an integer of
/// that many bits; of 8 for elements below a byte, which have zeros above.
static Value getBits(ImplicitLocOpBuilder &b, Value value, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(value.getType()))
    return arith::BitcastOp::create(b, b.getIntegerType(width), value);
  return maskBits(b, value, width);
}

/// A thread that holds an element holds the elements that share its bits.
struct BitcastPattern : TilePattern<BitcastOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(BitcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto sourceType = cast<RankedTensorType>(op.getSource().getType());
    auto resultType = cast<RankedTensorType>(op.getType());
    auto converted = dyn_cast_or_null<VectorType>(
        getTypeConverter()->convertType(resultType));
    if (!converted)
      return rewriter.notifyMatchFailure(op, "result has no layout");
    FragmentLayout source = getFragmentLayout(sourceType);
    FragmentLayout result = getFragmentLayout(resultType);
    int64_t rank = resultType.getRank(), dim = rank - 1;
    int64_t split = op.getSplit(), join = op.getJoin();
    auto isSpreadAs = [&](const FragmentLayout &a, const FragmentLayout &b) {
      return FragmentLayout(a.getThreadModes(), {})
          .isSameAs({b.getThreadModes(), {}});
    };
    auto fail = [&] {
      return op.emitError("source and result are spread over the threads "
                          "differently: ")
             << sourceType << " and " << resultType;
    };
    if (!isSpreadAs(source.splitElements(dim, split),
                    result.splitElements(dim, join)))
      return fail();
    // Registers by what they add to the coordinates of their thread.
    std::map<SmallVector<int64_t>, int64_t> held;
    for (int64_t v = 0; v < source.getNumValues(); ++v)
      held.try_emplace(source.getValueCoords(v, rank), v);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> registers = unpack(b, adaptor.getSource()), results;
    Type element = converted.getElementType();
    // Those of 6 bits count as bytes.
    unsigned width = sourceType.getElementTypeBitWidth();
    width = width == 6 ? 8 : width;
    for (int64_t v = 0; v < result.getNumValues(); ++v) {
      SmallVector<int64_t> coords = result.getValueCoords(v, rank);
      int64_t part = coords[dim] % split;
      coords[dim] = coords[dim] / split * join;
      SmallVector<Value> parts;
      for (int64_t i = 0; i < join; ++i, ++coords[dim]) {
        auto it = held.find(coords);
        if (it == held.end())
          return fail();
        parts.push_back(
            getBits(b, registers[it->second], sourceType.getElementType()));
      }
      Value bits = parts[0];
      if (split > 1)
        bits = getPart(b, bits, part, split);
      else if (join > 1)
        bits = joinParts(b, parts, width);
      if (isa<FloatType>(element))
        bits = arith::BitcastOp::create(b, element, bits);
      results.push_back(
          normalizeRegister(b, bits, resultType.getElementType()));
    }
    rewriter.replaceOp(op, pack(b, element, results));
    return success();
  }

  /// Returns part number `part` of `split` of an integer, in a byte or more.
  static Value getPart(ImplicitLocOpBuilder &b, Value value, int64_t part,
                       int64_t split) {
    unsigned width = value.getType().getIntOrFloatBitWidth() / split;
    value = arith::ShRUIOp::create(
        b, value, createInteger(b, value.getType(), part * width));
    return resizeIntegers(b, value, b.getIntegerType(std::max(width, 8u)));
  }

  /// Returns the integer of several parts, the lowest first. Two parts of a
  /// byte are halves of it.
  static Value joinParts(ImplicitLocOpBuilder &b, ArrayRef<Value> parts,
                         unsigned width) {
    Type wide = b.getIntegerType(width * parts.size());
    Value result;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value value = resizeIntegers(b, part, wide);
      value =
          arith::ShLIOp::create(b, value, createInteger(b, wide, i * width));
      result =
          result ? arith::OrIOp::create(b, result, value).getResult() : value;
    }
    return result;
  }
};

} // namespace

void tilews::populateSmallTypePatterns(const TileTypeConverter &converter,
                                       LoweringContext &lowering,
                                       RewritePatternSet &patterns) {
  populateSmallFloatPatterns(converter, lowering, patterns);
  patterns.add<BitcastPattern>(converter, lowering);
  // Before those of all elementwise operations.
  PatternBenefit benefit = 2;
  patterns.add<SmallExtensionPattern<arith::ExtSIOp>,
               SmallExtensionPattern<arith::ExtUIOp>,
               LowestBitsPattern<arith::TruncIOp>,
               LowestBitsPattern<arith::BitcastOp>,
               SmallToFloatPattern<arith::SIToFPOp, true>,
               SmallToFloatPattern<arith::UIToFPOp, false>>(converter, lowering,
                                                            benefit);
}
