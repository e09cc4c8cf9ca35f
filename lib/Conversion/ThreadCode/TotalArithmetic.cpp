//===- TotalArithmetic.cpp - Integer operations without poison ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM leaves some results undefined, and then deletes what depends on them, a
// store included. In a kernel every operation has a result (docs/language.md):
//
//   * a shift by the width or more leaves zeros, or copies of the sign;
//   * a conversion to an integer saturates, and takes NaN to zero;
//   * a quotient by zero is -1 (all bits set), and the remainder the dividend;
//     the lowest integer divided by -1 wraps around to itself.
//
// The patterns emit operations of LLVM with these results:
//
//   a << b    ->  select(b < width, shl a, b, 0)     one instruction in PTX
//   a << b    ->  shl (shl a, n / 2), n - n / 2      64 bits; n is umin(b, 64)
//   a >> b    ->  ashr a, umin(b, width - 1)
//   a div b   ->  select(b == 0, -1, sdiv a, safe)   safe is b, or 1 if LLVM
//                                                    does not define a div b
//
// Operands that are constants in range need none of it: upstream's patterns
// convert them. Counts of 64 bits need a second form: LLVM truncates them to 32
// for PTX, and drops the select, so that a shift by 2^32 would be one by 0.
// Conversions are `llvm.fptosi.sat`, on NVIDIA `cvt.rzi`, which saturates by
// itself.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilews;

/// Returns an integer constant of a scalar or a vector type.
static Value createInteger(ImplicitLocOpBuilder &b, Type type,
                           const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return LLVM::ConstantOp::create(b, type, attr);
}

/// Returns whether `value` is a constant all elements of which are `accepted`.
static bool isConstant(Value value,
                       llvm::function_ref<bool(const APInt &)> accepted) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return false;
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return accepted(integer.getValue());
  auto elements = dyn_cast<DenseIntElementsAttr>(attr);
  return elements && llvm::all_of(elements, accepted);
}

namespace {

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// Converts a shift whose count may be the width or more.
template <typename OpT, typename LLVMOpT>
struct ShiftPattern : ConvertOpToLLVMPattern<OpT> {
  using ConvertOpToLLVMPattern<OpT>::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = adaptor.getLhs(), count = adaptor.getRhs();
    Type type = value.getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (isConstant(count, [&](const APInt &by) { return by.ult(width); }))
      return rewriter.notifyMatchFailure(op, "in range");
    if constexpr (std::is_same_v<LLVMOpT, LLVM::AShrOp>) {
      Value most = createInteger(b, type, APInt(width, width - 1));
      count = LLVM::UMinOp::create(b, count, most);
      rewriter.replaceOpWithNewOp<LLVM::AShrOp>(op, value, count);
    } else if (width > 32) {
      count = LLVM::UMinOp::create(b, count,
                                   createInteger(b, type, APInt(width, width)));
      Value one = createInteger(b, type, APInt(width, 1));
      Value half = LLVM::LShrOp::create(b, count, one);
      Value rest = LLVM::SubOp::create(b, count, half);
      rewriter.replaceOpWithNewOp<LLVMOpT>(op, LLVMOpT::create(b, value, half),
                                           rest);
    } else {
      Value most = createInteger(b, type, APInt(width, width - 1));
      Value inRange =
          LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ule, count, most);
      Value shifted = LLVMOpT::create(b, value, count);
      Value zero = createInteger(b, type, APInt::getZero(width));
      rewriter.replaceOpWithNewOp<LLVM::SelectOp>(op, inRange, shifted, zero);
    }
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

enum class Division { Quotient, Floor, Ceil, Remainder };

/// Emits a division that LLVM defines.
template <bool IsSigned>
Value createDivision(ImplicitLocOpBuilder &b, Division kind, Value dividend,
                     Value divisor) {
  using DivOp = std::conditional_t<IsSigned, LLVM::SDivOp, LLVM::UDivOp>;
  using RemOp = std::conditional_t<IsSigned, LLVM::SRemOp, LLVM::URemOp>;
  if (kind == Division::Remainder)
    return RemOp::create(b, dividend, divisor);
  Value quotient = DivOp::create(b, dividend, divisor);
  if (kind == Division::Quotient)
    return quotient;
  // The quotient is rounded to zero: one more or less if there is a remainder
  // and the exact quotient is on the other side.
  Type type = dividend.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value zero = createInteger(b, type, APInt::getZero(width));
  Value rest = RemOp::create(b, dividend, divisor);
  Value inexact = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, rest, zero);
  if (IsSigned) {
    auto side = kind == Division::Floor ? LLVM::ICmpPredicate::slt
                                        : LLVM::ICmpPredicate::sge;
    Value signs = LLVM::XOrOp::create(b, rest, divisor);
    inexact = LLVM::AndOp::create(b, inexact,
                                  LLVM::ICmpOp::create(b, side, signs, zero));
  }
  if (kind == Division::Floor)
    return LLVM::AddOp::create(b, quotient,
                               LLVM::SExtOp::create(b, type, inexact));
  return LLVM::AddOp::create(b, quotient,
                             LLVM::ZExtOp::create(b, type, inexact));
}

/// Converts a division whose divisor may be zero, or -1.
template <typename OpT, Division Kind, bool IsSigned>
struct DivisionPattern : ConvertOpToLLVMPattern<OpT> {
  using ConvertOpToLLVMPattern<OpT>::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value dividend = adaptor.getLhs(), divisor = adaptor.getRhs();
    Type type = dividend.getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (width > 1 && isConstant(divisor, [](const APInt &by) {
          return !by.isZero() && !(IsSigned && by.isAllOnes());
        }))
      return rewriter.notifyMatchFailure(op, "in range");
    Value minusOne = createInteger(b, type, APInt::getAllOnes(width));
    auto isEqual = [&](Value value, const APInt &number) -> Value {
      return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, value,
                                  createInteger(b, type, number));
    };
    Value isZero = isEqual(divisor, APInt::getZero(width));
    if (width == 1) { // The only other divisor is 1, which is -1 as well.
      rewriter.replaceOpWithNewOp<LLVM::SelectOp>(
          op, isZero, Kind == Division::Remainder ? dividend : minusOne,
          Kind == Division::Remainder
              ? createInteger(b, type, APInt::getZero(width))
              : dividend);
      return success();
    }
    Value isUndefined = isZero;
    if (IsSigned) {
      Value overflows = LLVM::AndOp::create(
          b, isEqual(dividend, APInt::getSignedMinValue(width)),
          isEqual(divisor, APInt::getAllOnes(width)));
      isUndefined = LLVM::OrOp::create(b, isZero, overflows);
    }
    Value one = createInteger(b, type, APInt(width, 1));
    Value safe = LLVM::SelectOp::create(b, isUndefined, one, divisor);
    Value result = createDivision<IsSigned>(b, Kind, dividend, safe);
    rewriter.replaceOpWithNewOp<LLVM::SelectOp>(
        op, isZero, Kind == Division::Remainder ? dividend : minusOne, result);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Conversions to integers
//===----------------------------------------------------------------------===//

/// Converts a conversion to an integer by LLVM's intrinsics that saturate.
template <typename OpT, bool IsSigned>
struct SaturatePattern : ConvertOpToLLVMPattern<OpT> {
  using ConvertOpToLLVMPattern<OpT>::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, this->getTypeConverter()->convertType(op.getType()),
        rewriter.getStringAttr(IsSigned ? "llvm.fptosi.sat"
                                        : "llvm.fptoui.sat"),
        adaptor.getIn());
    return success();
  }
};

/// Converts a conversion to an integer by PTX's `cvt.rzi` for 32 or 64 bits.
/// It saturates, but takes NaN to zero only from f32 and to 32 bits.
template <typename OpT, bool IsSigned>
struct ConvertInstructionPattern : ConvertOpToLLVMPattern<OpT> {
  using ConvertOpToLLVMPattern<OpT>::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (element.getIntOrFloatBitWidth() > 64)
      return rewriter.notifyMatchFailure(op, "no instruction");
    Value source = adaptor.getIn();
    if (!isa<VectorType>(type)) {
      rewriter.replaceOp(op, convert(b, source, element));
      return success();
    }
    SmallVector<Value> registers = unpack(b, source);
    for (Value &value : registers)
      value = convert(b, value, element);
    rewriter.replaceOp(op, pack(b, element, registers));
    return success();
  }

  static Value convert(ImplicitLocOpBuilder &b, Value value, Type type) {
    if (value.getType().getIntOrFloatBitWidth() < 32)
      value = LLVM::FPExtOp::create(b, b.getF32Type(), value);
    unsigned width = type.getIntOrFloatBitWidth();
    bool isDouble = value.getType().isF64(), isLong = width > 32;
    IntegerType wide = b.getIntegerType(isLong ? 64 : 32);
    std::string name = std::string("llvm.nvvm.") + (isDouble ? "d2" : "f2") +
                       (IsSigned ? "" : "u") + (isLong ? "ll" : "i") + ".rz";
    Value result = LLVM::CallIntrinsicOp::create(b, wide, b.getStringAttr(name),
                                                 ValueRange{value})
                       .getResult(0);
    if (isDouble || isLong) {
      Value isNaN =
          LLVM::FCmpOp::create(b, LLVM::FCmpPredicate::uno, value, value);
      Value zero = createInteger(b, wide, APInt::getZero(wide.getWidth()));
      result = LLVM::SelectOp::create(b, isNaN, zero, result);
    }
    return narrow(b, result, width);
  }

  /// Brings an integer into the range of `width` bits, and truncates it.
  static Value narrow(ImplicitLocOpBuilder &b, Value value, unsigned width) {
    auto type = cast<IntegerType>(value.getType());
    unsigned from = type.getWidth();
    if (width == from)
      return value;
    auto limit = [&](const APInt &number) {
      return createInteger(b, type,
                           IsSigned ? number.sext(from) : number.zext(from));
    };
    if constexpr (IsSigned) {
      value = LLVM::SMinOp::create(b, value,
                                   limit(APInt::getSignedMaxValue(width)));
      value = LLVM::SMaxOp::create(b, value,
                                   limit(APInt::getSignedMinValue(width)));
    } else {
      value = LLVM::UMinOp::create(b, value, limit(APInt::getMaxValue(width)));
    }
    return LLVM::TruncOp::create(b, b.getIntegerType(width), value);
  }
};

} // namespace

void tilews::populateTotalArithmeticPatterns(const LLVMTypeConverter &converter,
                                             const TargetInfo &target,
                                             RewritePatternSet &patterns) {
  // Before upstream's patterns.
  PatternBenefit benefit = 2;
  using D = Division;
  patterns.add<ShiftPattern<arith::ShLIOp, LLVM::ShlOp>,
               ShiftPattern<arith::ShRUIOp, LLVM::LShrOp>,
               ShiftPattern<arith::ShRSIOp, LLVM::AShrOp>,
               ShiftPattern<index::ShlOp, LLVM::ShlOp>,
               ShiftPattern<index::ShrUOp, LLVM::LShrOp>,
               ShiftPattern<index::ShrSOp, LLVM::AShrOp>,
               DivisionPattern<arith::DivSIOp, D::Quotient, true>,
               DivisionPattern<arith::DivUIOp, D::Quotient, false>,
               DivisionPattern<arith::RemSIOp, D::Remainder, true>,
               DivisionPattern<arith::RemUIOp, D::Remainder, false>,
               DivisionPattern<arith::FloorDivSIOp, D::Floor, true>,
               DivisionPattern<arith::CeilDivSIOp, D::Ceil, true>,
               DivisionPattern<arith::CeilDivUIOp, D::Ceil, false>,
               DivisionPattern<index::DivSOp, D::Quotient, true>,
               DivisionPattern<index::DivUOp, D::Quotient, false>,
               DivisionPattern<index::RemSOp, D::Remainder, true>,
               DivisionPattern<index::RemUOp, D::Remainder, false>,
               DivisionPattern<index::FloorDivSOp, D::Floor, true>,
               DivisionPattern<index::CeilDivSOp, D::Ceil, true>,
               DivisionPattern<index::CeilDivUOp, D::Ceil, false>>(converter,
                                                                   benefit);
  if (target.isNVIDIA())
    patterns.add<ConvertInstructionPattern<arith::FPToSIOp, true>,
                 ConvertInstructionPattern<arith::FPToUIOp, false>>(converter,
                                                                    benefit);
  else
    patterns.add<SaturatePattern<arith::FPToSIOp, true>,
                 SaturatePattern<arith::FPToUIOp, false>>(converter, benefit);
}
