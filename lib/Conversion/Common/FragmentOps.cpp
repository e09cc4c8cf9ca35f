//===- FragmentOps.cpp - Arithmetic and shape changes of fragments --------===//
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
// Floating point types of at most 8 bits are integers here; only casts compute
// with them (SmallTypes.cpp).
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
    // A cast between an index or a small float and its integer is the identity.
    if (operands.size() == 1 && operands.front().getType() == type &&
        isa<CastOpInterface>(op)) {
      rewriter.replaceOp(op, operands.front());
      return success();
    }
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return resizeIndex(op, type, operands.front(), rewriter);
    auto hasSmall = [](TypeRange types) {
      return llvm::any_of(
          types, [](Type type) { return isSmallFloat(getElement(type)); });
    };
    // A select only moves small floats; any other operation would compute with
    // them as integers.
    if (isa<arith::SelectOp>(op))
      return create(op, operands, types, rewriter);
    if (hasSmall(op->getOperandTypes()) || hasSmall(op->getResultTypes()))
      return rewriter.notifyMatchFailure(op, "the type has no arithmetic");
    auto hasNibbles = [](TypeRange types) {
      return llvm::any_of(
          types, [](Type type) { return isBelowByte(getElement(type)); });
    };
    if (isa<VectorType>(type) &&
        (hasNibbles(op->getOperandTypes()) || hasNibbles(op->getResultTypes())))
      return computeNibbles(op, operands, types, rewriter);
    return create(op, operands, types, rewriter);
  }

  /// Replaces `op` by the same operation on registers.
  static LogicalResult create(Operation *op, ArrayRef<Value> operands,
                              TypeRange types,
                              ConversionPatternRewriter &rewriter) {
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(types);
    state.addAttributes(op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }

  /// Computes with integers below a byte, one by one, in their own type.
  LogicalResult computeNibbles(Operation *op, ArrayRef<Value> operands,
                               TypeRange types,
                               ConversionPatternRewriter &rewriter) const {
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    SmallVector<SmallVector<Value>> registers;
    for (auto [original, operand] : llvm::zip(op->getOperands(), operands)) {
      registers.push_back(unpack(b, operand));
      for (Value &value : registers.back())
        value = fromRegister(b, value, getElement(original.getType()));
    }
    SmallVector<Type> elements;
    if (failed(getTypeConverter()->convertTypes(
            llvm::map_to_vector(op->getResultTypes(), getElement), elements)))
      return rewriter.notifyMatchFailure(op, "result has no type");
    SmallVector<SmallVector<Value>> results(types.size());
    for (size_t v = 0; v < registers.front().size(); ++v) {
      OperationState state(op->getLoc(), op->getName());
      for (ArrayRef<Value> values : registers)
        state.addOperands(values[v]);
      state.addTypes(elements);
      state.addAttributes(op->getAttrs());
      for (auto [i, value] : llvm::enumerate(b.create(state)->getResults()))
        results[i].push_back(
            toRegister(b, value, getElement(op->getResult(i).getType())));
    }
    SmallVector<Value> packed;
    for (auto [type, values] : llvm::zip(types, results))
      packed.push_back(pack(b, getElement(type), values));
    rewriter.replaceOp(op, packed);
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
        number && isSmallFloat(number.getType()))
      element = rewriter.getIntegerAttr(
          converted.getElementType(),
          number.getValue().bitcastToAPInt().zextOrTrunc(8));
    else if (auto integer = dyn_cast<IntegerAttr>(element);
             integer && isBelowByte(integer.getType()))
      element = rewriter.getIntegerAttr(converted.getElementType(),
                                        integer.getValue().sext(8));
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
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = toRegister(b, adaptor.getInput(), op.getInput().getType());
    rewriter.replaceOpWithNewOp<vector::BroadcastOp>(op, type, value);
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
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value first = vector::ExtractOp::create(b, adaptor.getTensor(), int64_t(0));
    Value scalar = fromRegister(b, first, op.getType());
    rewriter.replaceOp(op, getTarget().emitUniform(b, scalar));
    return success();
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
    result = normalizeRegister(b, result, type.getElementType());
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
               SameRegistersPattern<ExpandDimsOp>,
               SameRegistersPattern<TransposeOp>, SlicePattern,
               BroadcastPattern, IotaPattern>(converter, lowering);
}
