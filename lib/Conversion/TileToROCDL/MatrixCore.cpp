//===- MatrixCore.cpp - AMD's matrix instructions -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions of AMD GPUs: mfma (CDNA) and wmma (RDNA). An instruction
// is an operation of the rocdl dialect, chosen by its name, which is composed
// of the types and extents:
//
//   f16 x f16 -> f32, 32x32x8    rocdl.mfma.f32.32x32x8f16
//   fp8 x bf8 -> f32, 16x16x32   rocdl.mfma.f32.16x16x32.fp8.bf8
//   fp8 x bf8 -> f32, 16x16x128  rocdl.mfma.scale.f32.16x16x128.f8f6f4
//
// The last one takes two numbers that name the types of its operands.
//
// If the dialect has no such operation, the result is null and the matmul
// reports that the chip has no instruction. Registers of a lane are bitcast to
// the type that the operation takes.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile-to-rocdl"

using namespace mlir;
using namespace tilews;

/// AMD's name of an fp8 type: fp8 has a mantissa of three bits, bf8 of two.
static StringRef getFp8Name(Type type) {
  return isa<Float8E4M3FNType, Float8E4M3FNUZType>(type) ? "fp8" : "bf8";
}

static bool isFp8(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

static StringRef getAccName(Type acc) {
  return acc.isInteger() ? "i32" : acc.isF64() ? "f64" : "f32";
}

/// Casts the registers of a lane to `type`.
static Value castTo(ImplicitLocOpBuilder &b, Value vector, Type type) {
  if (vector.getType() == type)
    return vector;
  if (cast<VectorType>(vector.getType()).getElementType() == type)
    return vector::ExtractOp::create(b, vector, int64_t(0));
  return LLVM::BitcastOp::create(b, type, vector);
}

static Value createOp(ImplicitLocOpBuilder &b, StringRef name,
                      ValueRange operands, ArrayRef<NamedAttribute> attributes,
                      Type result) {
  LDBG() << "instruction " << name;
  OperationState state(b.getLoc(), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(result);
  return b.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// mfma
//===----------------------------------------------------------------------===//

/// Returns the name of the operation. Instructions of gfx90a have the type of
/// the operands right after the extents. Later ones, with more than four
/// elements a lane, have a period in between.
static std::string getMfmaName(const MmaOperands &op, int64_t perLane) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "rocdl.mfma." << getAccName(op.accElement) << "." << op.mma.m << "x"
     << op.mma.n << "x" << op.mma.k;
  bool late = perLane > 4;
  if (isFp8(op.lhsElement)) {
    os << "." << getFp8Name(op.lhsElement) << "." << getFp8Name(op.rhsElement);
    return name;
  }
  os << (late ? "." : "");
  if (op.lhsElement.isInteger())
    os << "i8";
  else
    os << op.lhsElement;
  if (op.lhsElement.isBF16() && !late)
    os << ".1k";
  return name;
}

/// Returns the type in which mfma takes the registers of an operand.
static Type getMfmaType(Builder &b, Type element, int64_t perLane) {
  if (element.isF32() || element.isF64())
    return element;
  if (element.getIntOrFloatBitWidth() == 8) {
    if (perLane <= 8)
      return b.getIntegerType(perLane * 8);
    return VectorType::get({perLane / 4}, b.getI32Type());
  }
  if (element.isBF16() && perLane == 4)
    return VectorType::get({perLane}, b.getI16Type());
  return VectorType::get({perLane}, element);
}

/// Returns the number by which the mfma of small types knows a type ("AMD
/// Instinct CDNA4 Instruction Set Architecture", fields CBSZ and BLGP).
static int32_t getSmallFormat(Type type) {
  return llvm::TypeSwitch<Type, int32_t>(type)
      .Case([](Float8E4M3FNType) { return 0; })
      .Case([](Float8E5M2Type) { return 1; })
      .Case([](Float6E2M3FNType) { return 2; })
      .Case([](Float6E3M2FNType) { return 3; })
      .Case([](Float4E2M1FNType) { return 4; });
}

/// Emits the mfma of small types. LLVM selects the instruction without scales
/// if both scales are the constant 0. A scale, of which only the lowest byte
/// counts, gets another bit, so that it never is.
static Value emitSmallMfma(ImplicitLocOpBuilder &b, const MmaOperands &op,
                           Value lhs, Value rhs, Value acc) {
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  auto toWords = [&](Value bytes, const FragmentLayout &layout) {
    int64_t words = layout.getNumValues() / 4;
    return castTo(b, bytes, VectorType::get({words}, b.getI32Type()));
  };
  std::string name;
  llvm::raw_string_ostream(name) << "rocdl.mfma.scale.f32." << op.mma.m << "x"
                                 << op.mma.n << "x" << op.mma.k << ".f8f6f4";
  Value zero = number(0);
  auto getScale = [&](Value scale) -> Value {
    if (!scale)
      return zero;
    return arith::OrIOp::create(b, scale, number(1 << 8));
  };
  return createOp(b, name,
                  {toWords(lhs, op.mma.lhs), toWords(rhs, op.mma.rhs), acc,
                   number(getSmallFormat(op.lhsElement)),
                   number(getSmallFormat(op.rhsElement)), zero,
                   getScale(op.lhsScale), zero, getScale(op.rhsScale)},
                  {}, acc.getType());
}

static Value emitMfma(ImplicitLocOpBuilder &b, const MmaOperands &op, Value lhs,
                      Value rhs, Value acc) {
  if (isa<FloatType>(op.lhsElement) && op.mma.k * op.mma.m == 2048)
    return emitSmallMfma(b, op, lhs, rhs, acc);
  int64_t perLane = op.mma.lhs.getNumValues();
  std::string name = getMfmaName(op, perLane);
  if (!b.getContext()->isOperationRegistered(name))
    return {};
  // No broadcast within, and no permutation of, the operands.
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Type type = getMfmaType(b, op.lhsElement, perLane);
  return createOp(
      b, name,
      {castTo(b, lhs, type), castTo(b, rhs, type), acc, zero, zero, zero}, {},
      acc.getType());
}

//===----------------------------------------------------------------------===//
// wmma
//===----------------------------------------------------------------------===//

static Value emitWmma(ImplicitLocOpBuilder &b, const MmaOperands &op, Value lhs,
                      Value rhs, Value acc) {
  int64_t perLane = op.mma.lhs.getNumValues();
  std::string name =
      ("rocdl.wmma." + getAccName(op.accElement) + ".16x16x16.").str();
  Type type = VectorType::get({perLane / 4}, b.getI32Type());
  SmallVector<NamedAttribute> attributes;
  if (isFp8(op.lhsElement)) {
    name += (getFp8Name(op.lhsElement) + "_" + getFp8Name(op.rhsElement)).str();
  } else if (op.lhsElement.isInteger()) {
    name += "iu8";
    attributes.push_back(b.getNamedAttr("signA", b.getBoolAttr(true)));
    attributes.push_back(b.getNamedAttr("signB", b.getBoolAttr(true)));
  } else if (op.lhsElement.isBF16()) {
    name += "bf16";
    type = VectorType::get({perLane}, b.getI16Type());
  } else {
    name += "f16";
    type = VectorType::get({perLane}, op.lhsElement);
  }
  if (!b.getContext()->isOperationRegistered(name))
    return {};
  return createOp(b, name, {castTo(b, lhs, type), castTo(b, rhs, type), acc},
                  attributes, acc.getType());
}

Value ROCDLLowering::emitMma(ImplicitLocOpBuilder &b, const MmaOperands &op,
                             Value lhs, Value rhs, Value acc) const {
  return info.hasMfma() ? emitMfma(b, op, lhs, rhs, acc)
                        : emitWmma(b, op, lhs, rhs, acc);
}
