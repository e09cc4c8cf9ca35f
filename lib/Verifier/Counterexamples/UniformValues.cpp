//===- UniformValues.cpp - Execution of numbers and tiles -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats are computed in their own format, and only as long as nothing is
// rounded: then neither the order of a sum nor a fused multiply-add matters.
// Integers are folded; a tile of them is a splat constant.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Counterexamples/UniformValues.h"

#include "Verifier/Symbolic/FoldIntegers.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

static constexpr auto kRounding = llvm::RoundingMode::NearestTiesToEven;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Converts a float to another format; nullopt if it is rounded or no number.
static std::optional<APFloat> convert(APFloat value,
                                      const llvm::fltSemantics &format) {
  bool losesInfo = false;
  value.convert(format, kRounding, &losesInfo);
  if (losesInfo || value.isNaN() || value.isDenormal())
    return std::nullopt;
  return value;
}

static std::optional<UniformValue> encode(std::optional<APFloat> value) {
  if (value)
    value = convert(*value, APFloat::IEEEdouble());
  return value
             ? std::optional(llvm::bit_cast<int64_t>(value->convertToDouble()))
             : std::nullopt;
}

static std::optional<APFloat> decode(FloatType type, UniformValue value) {
  return convert(APFloat(llvm::bit_cast<double>(value)),
                 type.getFloatSemantics());
}

static FloatType getFloatType(Type type) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(type));
}

/// The result of an operation whose operands and result have one format.
static std::optional<APFloat> compute(Operation *op, ArrayRef<APFloat> v) {
  APFloat result = v[0];
  auto exactly = [&](APFloat::opStatus status) {
    return status == APFloat::opOK ? std::optional(result) : std::nullopt;
  };
  using Result = std::optional<APFloat>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::AddFOp>(
          [&](auto) { return exactly(result.add(v[1], kRounding)); })
      .Case<arith::SubFOp>(
          [&](auto) { return exactly(result.subtract(v[1], kRounding)); })
      .Case<arith::MulFOp>(
          [&](auto) { return exactly(result.multiply(v[1], kRounding)); })
      .Case<arith::NegFOp>([&](auto) { return Result(-v[0]); })
      .Case<math::AbsFOp>([&](auto) { return Result(abs(v[0])); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return Result(maximum(v[0], v[1])); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return Result(minimum(v[0], v[1])); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return Result(v[0]); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The result of an operation that has floats as operands.
static std::optional<UniformValue> foldFloats(Operation *op,
                                              ArrayRef<UniformValue> operands) {
  SmallVector<APFloat> v;
  for (auto [value, type] : llvm::zip_equal(operands, op->getOperandTypes())) {
    FloatType format = getFloatType(type);
    std::optional<APFloat> decoded =
        format ? decode(format, value) : std::nullopt;
    if (!decoded)
      return std::nullopt;
    v.push_back(*decoded);
  }
  Type type = op->getResult(0).getType();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return arith::applyCmpPredicate(compare.getPredicate(), v[0], v[1]);
  if (FloatType format = getFloatType(type)) {
    std::optional<APFloat> result = compute(op, v);
    return encode(result ? convert(*result, format.getFloatSemantics())
                         : std::nullopt);
  }
  if (!isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return std::nullopt;
  llvm::APSInt integer(getElementTypeOrSelf(type).getIntOrFloatBitWidth(),
                       isa<arith::FPToUIOp>(op));
  bool isExact = false;
  v[0].convertToInteger(integer, kRounding, &isExact);
  return isExact ? std::optional(verifier::getNumber(integer)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Folds an operation on tiles of integers.
static std::optional<UniformValue> foldTiles(Operation *op,
                                             ArrayRef<UniformValue> operands) {
  SmallVector<Attribute> constants;
  for (auto [value, type] : llvm::zip_equal(operands, op->getOperandTypes())) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isIntOrIndex())
      return std::nullopt;
    Attribute number = IntegerAttr::get(element, value);
    auto tile = dyn_cast<RankedTensorType>(type);
    constants.push_back(tile ? DenseElementsAttr::get(tile, ArrayRef(number))
                             : number);
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(constants, results)) || results.size() != 1)
    return std::nullopt;
  if (auto same = dyn_cast<Value>(results[0])) {
    auto it = llvm::find(op->getOperands(), same);
    return it == op->operand_end() ? std::nullopt
                                   : std::optional(operands[it.getIndex()]);
  }
  auto folded = dyn_cast<DenseElementsAttr>(cast<Attribute>(results[0]));
  if (!folded || !folded.isSplat())
    return std::nullopt;
  if (isa<FloatType>(folded.getElementType()))
    return encode(folded.getSplatValue<APFloat>());
  return getNumber(folded.getSplatValue<APInt>());
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

/// `count` times `value`, if no sum of fewer of them is rounded or wraps
/// around.
static std::optional<UniformValue> multiply(Type type, UniformValue value,
                                            int64_t count) {
  FloatType format = getFloatType(type);
  if (!format) {
    int64_t sum = value * count;
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    return llvm::isIntN(width, sum) ? std::optional(sum) : std::nullopt;
  }
  // All integers up to this size are floats.
  unsigned digits = APFloat::semanticsPrecision(format.getFloatSemantics());
  double number = llvm::bit_cast<double>(value);
  if (std::abs(number) * double(count) > double(int64_t(1) << digits) ||
      number != std::trunc(number))
    return std::nullopt;
  return encode(APFloat(number * double(count)));
}

/// The reduction of elements that are all `value`.
static std::optional<UniformValue> reduce(ReduceOp op, UniformValue value) {
  auto type = cast<RankedTensorType>(op.getSource().getType());
  switch (op.getKind()) {
  case ReductionKind::Sum:
    return multiply(type, value, type.getDimSize(op.getAxis()));
  case ReductionKind::Max:
  case ReductionKind::Min:
  case ReductionKind::UMax:
  case ReductionKind::UMin:
  case ReductionKind::And:
  case ReductionKind::Or:
  case ReductionKind::Any:
  case ReductionKind::All:
    return value;
  case ReductionKind::AbsMax:
  case ReductionKind::AbsMin:
  case ReductionKind::Xor:
    return std::nullopt;
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<UniformValue> verifier::makeUniform(Type type, int64_t number) {
  Type element = getElementTypeOrSelf(type);
  if (element.isInteger(1))
    return number != 0;
  if (auto format = dyn_cast<FloatType>(element)) {
    std::optional<APFloat> value =
        convert(APFloat(double(number)), format.getFloatSemantics());
    return encode(value);
  }
  return element.isIntOrIndex() ? std::optional(number) : std::nullopt;
}

std::optional<UniformValue> verifier::getUniformConstant(Operation *op) {
  Attribute constant;
  if (!matchPattern(op, m_Constant(&constant)))
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(constant))
    constant = dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
  if (auto number = dyn_cast_if_present<IntegerAttr>(constant))
    return getNumber(number.getValue());
  if (auto number = dyn_cast_if_present<FloatAttr>(constant))
    return encode(number.getValue());
  return std::nullopt;
}

std::optional<UniformValue>
verifier::foldUniform(Operation *op, ArrayRef<UniformValue> operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || operands.empty())
    return std::nullopt;
  if (isa<ConvertLayoutOp, BroadcastOp, ExpandDimsOp, SliceOp, TransposeOp,
          FlipOp, ReshapeOp, tensor::SplatOp, tensor::ExtractOp>(op))
    return operands[0];
  if (auto reduction = dyn_cast<ReduceOp>(op))
    return reduce(reduction, operands[0]);
  Type type = op->getResult(0).getType();
  bool isFlag = getElementTypeOrSelf(op->getOperand(0)).isInteger(1);
  if ((isa<arith::SIToFPOp>(op) && !isFlag) ||
      (isa<arith::UIToFPOp>(op) && operands[0] >= 0))
    return makeUniform(type, operands[0]);
  if (getFloatType(op->getOperand(0).getType()))
    return foldFloats(op, operands);
  return isa<RankedTensorType>(type) ? foldTiles(op, operands)
                                     : foldIntegers(op, operands);
}
