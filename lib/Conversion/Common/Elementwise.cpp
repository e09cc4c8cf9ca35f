//===- Elementwise.cpp - Arithmetic and shape changes of fragments --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on registers alone. An elementwise operation of arith or math on
// fragments of one layout is the same operation on the vectors of registers.
// Shape changes select registers and compute nothing: the coordinates that a
// register adds to those of its thread say which register of the source holds
// the element.
//
//   slice of columns 8-15 of tensor<16x16>, register (0, 8) + thread
//     -> vector.shuffle that takes the source's registers with column >= 8
//
// fp8 types are integers of 8 bits here; only casts compute with them, by way
// of f32.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <map>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static Type getElement(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.getElementType();
  return type;
}

static bool isFp8(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

namespace {

/// Replaces an operation of arith or math on fragments by the same operation on
/// vectors of registers.
struct ElementwisePattern : ConversionPattern {
  ElementwisePattern(const TileTypeConverter &converter)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          &converter.getContext()) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() == 0)
      return rewriter.notifyMatchFailure(op, "not elementwise");
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "result has no layout");
    Type type = types.front();
    // A cast between an index or an fp8 type and its integer is the identity.
    if (operands.size() == 1 && operands.front().getType() == type &&
        isa<CastOpInterface>(op)) {
      rewriter.replaceOp(op, operands.front());
      return success();
    }
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return resizeIndex(op, type, operands.front(), rewriter);
    auto hasFp8 = [](TypeRange types) {
      return llvm::any_of(types,
                          [](Type type) { return isFp8(getElement(type)); });
    };
    // A select only moves fp8 values; any other operation would compute with
    // them as integers.
    if (!isa<arith::SelectOp>(op) &&
        (hasFp8(op->getOperandTypes()) || hasFp8(op->getResultTypes())))
      return rewriter.notifyMatchFailure(op, "fp8 has no arithmetic");
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(types);
    state.addAttributes(op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }

  /// Extends or truncates: an index has become an integer.
  static LogicalResult resizeIndex(Operation *op, Type type, Value operand,
                                   ConversionPatternRewriter &rewriter) {
    unsigned from = getElement(operand.getType()).getIntOrFloatBitWidth();
    unsigned to = getElement(type).getIntOrFloatBitWidth();
    if (to < from)
      rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, type, operand);
    else if (isa<arith::IndexCastOp>(op))
      rewriter.replaceOpWithNewOp<arith::ExtSIOp>(op, type, operand);
    else
      rewriter.replaceOpWithNewOp<arith::ExtUIOp>(op, type, operand);
    return success();
  }
};

/// A constant with one value has it in each register. Constants whose elements
/// differ are an error.
struct ConstantPattern : TilePattern<arith::ConstantOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "not a fragment");
    auto converted = cast<VectorType>(getTypeConverter()->convertType(type));
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return op.emitError("cannot lower a constant fragment whose elements "
                          "differ; compute it from tile.iota or load it");
    Attribute element = splat.getSplatValue<Attribute>();
    if (auto number = dyn_cast<FloatAttr>(element);
        number && isFp8(number.getType()))
      element = rewriter.getIntegerAttr(rewriter.getI8Type(),
                                        number.getValue().bitcastToAPInt());
    else if (auto integer = dyn_cast<IntegerAttr>(element);
             integer && integer.getType().isIndex())
      element =
          rewriter.getIntegerAttr(converted.getElementType(), integer.getInt());
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(converted, element));
    return success();
  }
};

/// Puts the scalar of a splat into each register.
struct SplatPattern : TilePattern<tensor::SplatOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(tensor::SplatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "result has no layout");
    rewriter.replaceOpWithNewOp<vector::BroadcastOp>(op, type,
                                                     adaptor.getInput());
    return success();
  }
};

/// Takes the element of a fragment of rank 0 from the thread's first register.
struct ExtractPattern : TilePattern<tensor::ExtractOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(tensor::ExtractOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getTensor().getType().getRank() != 0)
      return op.emitError("cannot take an element of a fragment, whose "
                          "elements are in many threads; reduce it first");
    rewriter.replaceOpWithNewOp<vector::ExtractOp>(op, adaptor.getTensor(), 0);
    return success();
  }
};

/// Converts from and to fp8 by way of f32 and the target's instructions.
template <typename OpT>
struct Fp8CastPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type from = getElement(op.getIn().getType());
    Type to = getElement(op.getType());
    if (!isFp8(from) && !isFp8(to))
      return rewriter.notifyMatchFailure(op, "no fp8 involved");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = adaptor.getIn();
    bool scalar = !isa<VectorType>(value.getType());
    if (scalar)
      value = vector::FromElementsOp::create(
          b, VectorType::get({1}, value.getType()), value);
    auto asType = [&](Type element) {
      return cast<VectorType>(value.getType()).clone(element);
    };
    if (isFp8(from))
      value = this->getTarget().emitExtFp8(b, value, from);
    else if (!from.isF32())
      value = resizeFloat(b, value, asType(b.getF32Type()));
    if (value && isFp8(to))
      value = this->getTarget().emitTruncFp8(b, value, to);
    else if (value && !to.isF32())
      value = resizeFloat(b, value, asType(to));
    if (!value)
      return op.emitError("cannot convert ")
             << from << " to " << to << " on " << this->getTarget().info.chip
             << this->getTarget().info.describeFp8();
    if (scalar)
      value = vector::ExtractOp::create(b, value, int64_t(0));
    rewriter.replaceOp(op, value);
    return success();
  }

  static Value resizeFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
    unsigned from = getElement(value.getType()).getIntOrFloatBitWidth();
    if (from < getElement(type).getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, type, value);
    return arith::TruncFOp::create(b, type, value);
  }
};

/// A change of shape whose result layout is derived from the source's layout:
/// the registers stay as they are.
template <typename OpT>
struct SameRegistersPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> derived;
    if (failed(OpT::inferReturnTypes(op.getContext(), op.getLoc(),
                                     op->getOperands(),
                                     op->getDiscardableAttrDictionary(),
                                     op->getPropertiesStorage(), {}, derived)))
      return failure();
    if (!getFragmentLayout(derived.front())
             .isSameAs(getFragmentLayout(op.getType())))
      return op.emitError("expected the layout derived from the source, ")
             << derived.front() << ", found " << op.getType();
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
};

/// A slice: each register of the result is the register of the source with the
/// same coordinates in the part that is taken.
struct SlicePattern : TilePattern<SliceOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto sourceType = cast<RankedTensorType>(op.getSource().getType());
    auto resultType = cast<RankedTensorType>(op.getType());
    FragmentLayout source = getFragmentLayout(sourceType);
    FragmentLayout result = getFragmentLayout(resultType);
    int64_t axis = op.getAxis(), rank = resultType.getRank();
    int64_t extent = resultType.getDimSize(axis);
    std::optional<FragmentLayout> derived = source.slice(axis, extent);
    if (!derived || !FragmentLayout(derived->getThreadModes(), {})
                         .isSameAs({result.getThreadModes(), {}}))
      return op.emitError("source and result are spread over the threads "
                          "differently: ")
             << sourceType << " and " << resultType;
    // Registers by what they add to the coordinates of their thread.
    std::map<SmallVector<int64_t>, int64_t> held;
    for (int64_t v = 0; v < source.getNumValues(); ++v)
      held.try_emplace(source.getValueCoords(v, rank), v);
    SmallVector<int64_t> registers;
    for (int64_t v = 0; v < result.getNumValues(); ++v) {
      SmallVector<int64_t> coords = result.getValueCoords(v, rank);
      coords[axis] += op.getIndex() * extent;
      auto it = held.find(coords);
      if (it == held.end())
        return op.emitError("no register of the source holds what register ")
               << v << " of the result does: " << sourceType << " and "
               << resultType;
      registers.push_back(it->second);
    }
    rewriter.replaceOpWithNewOp<vector::ShuffleOp>(
        op, adaptor.getSource(), adaptor.getSource(), registers);
    return success();
  }
};

/// A broadcast: each register of the result is the register of the source with
/// the same coordinates, except 0 along repeated dimensions.
struct BroadcastPattern : TilePattern<BroadcastOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(BroadcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto sourceType = cast<RankedTensorType>(op.getSource().getType());
    auto resultType = cast<RankedTensorType>(op.getType());
    FragmentLayout source = getFragmentLayout(sourceType);
    FragmentLayout result = getFragmentLayout(resultType);
    int64_t rank = resultType.getRank();
    SmallVector<bool> repeated;
    for (int64_t dim = 0; dim < rank; ++dim)
      repeated.push_back(sourceType.getDimSize(dim) == 1);
    std::optional<SmallVector<int64_t>> shuffle =
        getBroadcastRegisters(source, result, repeated);
    if (!shuffle)
      return op.emitError("source and result are spread over the threads "
                          "differently: ")
             << sourceType << " and " << resultType;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> registers = unpack(b, adaptor.getSource());
    SmallVector<Value> repeatedRegisters;
    for (int64_t v : *shuffle)
      repeatedRegisters.push_back(registers[v]);
    rewriter.replaceOp(op,
                       pack(b, registers.front().getType(), repeatedRegisters));
    return success();
  }
};

struct IotaPattern : TilePattern<IotaOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(IotaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto converted =
        dyn_cast_or_null<VectorType>(getTypeConverter()->convertType(type));
    if (!converted)
      return rewriter.notifyMatchFailure(op, "result has no layout");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            getThreadId(b, op));
    Type element = converted.getElementType();
    SmallVector<Attribute> constants;
    for (int64_t v = 0; v < indexer.getNumValues(); ++v)
      constants.push_back(
          b.getIntegerAttr(element, indexer.getConstants(v)[op.getAxis()]));
    Value result = arith::ConstantOp::create(
        b, DenseElementsAttr::get(converted, constants));
    if (Value base = indexer.getBase(op.getAxis())) {
      unsigned bits = element.getIntOrFloatBitWidth();
      if (bits < 32)
        base = arith::TruncIOp::create(b, element, base);
      else if (bits > 32)
        base = arith::ExtUIOp::create(b, element, base);
      base = vector::BroadcastOp::create(b, converted, base);
      result = arith::AddIOp::create(b, base, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void tilews::populateElementwisePatterns(const TileTypeConverter &converter,
                                         LoweringContext &lowering,
                                         RewritePatternSet &patterns) {
  patterns.add<ElementwisePattern>(converter);
  patterns.add<ConstantPattern, SplatPattern, ExtractPattern,
               Fp8CastPattern<arith::ExtFOp>, Fp8CastPattern<arith::TruncFOp>,
               SameRegistersPattern<ExpandDimsOp>,
               SameRegistersPattern<TransposeOp>, SlicePattern,
               BroadcastPattern, IotaPattern>(converter, lowering);
}
