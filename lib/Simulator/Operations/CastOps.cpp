//===- CastOps.cpp - Conversions between element types --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between element types. Values are doubles or 64-bit integers
// already, so most conversions are the identity followed by the rounding or
// wrapping that each result gets. Two cases need more. An integer of more than
// 53 bits would be rounded twice on the way to f32 (first to double), so it is
// rounded to odd first. Conversions to integers saturate, and NaN becomes zero,
// where upstream's semantics are poison.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Elementwise.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Sign extension and truncation: values are kept sign-extended and wrap to
/// their type.
static LogicalResult convertSigned(Frame &frame, const Instruction &inst) {
  return mapElements<int64_t, int64_t>(frame, inst,
                                       [](int64_t value) { return value; });
}

static LogicalResult convertUnsigned(Frame &frame, const Instruction &inst) {
  unsigned width = inst.operandType.width;
  return mapElements<int64_t, int64_t>(frame, inst, [&](int64_t value) {
    return int64_t(getUnsigned(value, width));
  });
}

/// Integer to floating point, rounded once: a double takes the integer as it
/// is, other formats take it rounded to odd.
static LogicalResult integerToReal(Frame &frame, const Instruction &inst,
                                   bool isSigned) {
  unsigned width = inst.operandType.width;
  bool isDouble = inst.resultTypes[0].element.format == FloatFormat::F64;
  return mapElements<double, int64_t>(frame, inst, [&](int64_t value) {
    bool negative = isSigned && value < 0;
    uint64_t magnitude = negative   ? 0 - uint64_t(value)
                         : isSigned ? uint64_t(value)
                                    : getUnsigned(value, width);
    double real = isDouble ? double(magnitude) : roundToOdd(magnitude);
    return negative ? -real : real;
  });
}

/// Floating point to integer: toward zero, saturating, NaN to zero.
static LogicalResult realToInteger(Frame &frame, const Instruction &inst,
                                   bool isSigned) {
  unsigned width = inst.resultTypes[0].element.width;
  double limit = std::ldexp(1.0, isSigned ? width - 1 : width);
  uint64_t highest = getUnsigned(-1, isSigned && width > 1 ? width - 1 : width);
  if (isSigned && width == 1)
    highest = 0;
  uint64_t lowest = isSigned ? ~highest : 0;
  return mapElements<int64_t, double>(frame, inst, [&](double value) {
    if (std::isnan(value))
      return int64_t(0);
    value = std::trunc(value);
    if (value >= limit)
      return int64_t(highest);
    if (value < (isSigned ? -limit : 0))
      return int64_t(lowest);
    return isSigned ? int64_t(value) : int64_t(uint64_t(value));
  });
}

static LogicalResult truncateReal(Frame &frame, const Instruction &inst) {
  auto mode = cast<arith::TruncFOp>(inst.op).getRoundingmode();
  if (mode && *mode != arith::RoundingMode::to_nearest_even)
    return frame.fail(inst, "rounds by " + arith::stringifyRoundingMode(*mode) +
                                ", but the interpreter only to nearest even");
  return mapElements<double, double>(frame, inst,
                                     [](double value) { return value; });
}

/// Reads the bits of the elements, the first one lowest, as other elements.
/// Those of one width may have no form in memory.
template <typename Out, typename In>
static LogicalResult reinterpret(Frame &frame, const Instruction &inst) {
  ElementType from = inst.operandType, to = inst.resultTypes[0].element;
  bool isSameWidth = from.width == to.width;
  unsigned fromBitCount = isSameWidth ? from.width : from.getMemoryBits();
  unsigned toBitCount = isSameWidth ? to.width : to.getMemoryBits();
  unsigned split = std::max(fromBitCount / toBitCount, 1u);
  unsigned join = std::max(toBitCount / fromBitCount, 1u);
  const Datum &source = frame.get(inst, 0);
  Datum result = makeDatum(inst.resultTypes[0]);
  for (int64_t i = 0, e = inst.resultTypes[0].countElements(); i < e; ++i) {
    uint64_t bits = 0;
    for (unsigned part = 0; part < join; ++part)
      bits |= toBits(from, source.elements<In>()[i / split * join + part])
              << part * fromBitCount;
    fromBits(to, bits >> i % split * toBitCount, result.elements<Out>()[i]);
  }
  frame.set(inst, 0, std::move(result));
  return success();
}

static LogicalResult bitcast(Frame &frame, const Instruction &inst) {
  bool fromFloat = inst.operandType.isFloat;
  if (inst.resultTypes[0].element.isFloat)
    return fromFloat ? reinterpret<double, double>(frame, inst)
                     : reinterpret<double, int64_t>(frame, inst);
  return fromFloat ? reinterpret<int64_t, double>(frame, inst)
                   : reinterpret<int64_t, int64_t>(frame, inst);
}

void sim::registerCastHandlers(Registry &registry) {
  registry.add<arith::ExtSIOp>(convertSigned);
  registry.add<arith::TruncIOp>(convertSigned);
  registry.add<arith::IndexCastOp>(convertSigned);
  registry.add<index::CastSOp>(convertSigned);
  registry.add<arith::ExtUIOp>(convertUnsigned);
  registry.add<arith::IndexCastUIOp>(convertUnsigned);
  registry.add<index::CastUOp>(convertUnsigned);
  addElementwise<arith::ExtFOp, double, double>(
      registry, [](double value) { return value; });
  registry.add<arith::TruncFOp>(truncateReal);
  registry.add<arith::BitcastOp>(bitcast);
  registry.add<tile::BitcastOp>(bitcast);
  auto addConversion = [&](StringRef name, auto convert, bool isSigned) {
    registry.add(name, [=](Frame &frame, const Instruction &inst) {
      return convert(frame, inst, isSigned);
    });
  };
  addConversion(arith::SIToFPOp::getOperationName(), integerToReal, true);
  addConversion(arith::UIToFPOp::getOperationName(), integerToReal, false);
  addConversion(arith::FPToSIOp::getOperationName(), realToInteger, true);
  addConversion(arith::FPToUIOp::getOperationName(), realToInteger, false);
}
