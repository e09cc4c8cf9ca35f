//===- RealEmitter.cpp - Arithmetic that expands functions ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short names for the operations that expansions consist of. Polynomials are
// evaluated by Horner's rule, one fused multiply-add for each coefficient. The
// largest element of a vector is found by a tree, so that one branch decides
// for all elements of a thread; LLVM's own reductions of long vectors of
// conditions collect bits in one wide integer.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"
#include "tilews/Conversion/Common/Emit.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;

RealEmitter::RealEmitter(ImplicitLocOpBuilder &b, Type type)
    : b(b), type(type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  bitsType = withElement(b.getIntegerType(width));
}

Type RealEmitter::withElement(Type element) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Value RealEmitter::number(double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, attr);
}
Value RealEmitter::integer(Type type, int64_t value) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type),
                                    APInt(width, value, /*isSigned=*/true,
                                          /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, attr);
}

Value RealEmitter::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}
Value RealEmitter::sub(Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}
Value RealEmitter::mul(Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}
Value RealEmitter::div(Value x, Value y) {
  return arith::DivFOp::create(b, x, y);
}
Value RealEmitter::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}
Value RealEmitter::neg(Value x) { return arith::NegFOp::create(b, x); }
Value RealEmitter::abs(Value x) { return math::AbsFOp::create(b, x); }
Value RealEmitter::trunc(Value x) { return math::TruncOp::create(b, x); }
Value RealEmitter::copySign(Value magnitude, Value sign) {
  return math::CopySignOp::create(b, magnitude, sign);
}

Value RealEmitter::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(x, sum, number(coefficient));
  return sum;
}

Value RealEmitter::less(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
}
Value RealEmitter::equals(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
}
Value RealEmitter::differs(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x, y);
}
Value RealEmitter::both(Value x, Value y) {
  return arith::AndIOp::create(b, x, y);
}
Value RealEmitter::either(Value x, Value y) {
  return arith::OrIOp::create(b, x, y);
}
Value RealEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value RealEmitter::toBits(Value x) {
  return arith::BitcastOp::create(b, bitsType, x);
}
Value RealEmitter::fromBits(Value bits) {
  return arith::BitcastOp::create(b, type, bits);
}
Value RealEmitter::powerOfTwo(Value n) {
  bool isDouble = getElementTypeOrSelf(type).isF64();
  Value exponent = arith::AddIOp::create(b, n, integer(isDouble ? 1023 : 127));
  return fromBits(
      arith::ShLIOp::create(b, exponent, integer(isDouble ? 52 : 23)));
}

Value RealEmitter::largest(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return value;
  auto flat = VectorType::get(vector.getNumElements(), vector.getElementType());
  SmallVector<Value> values =
      unpack(b, vector::ShapeCastOp::create(b, flat, value).getResult());
  bool isReal = isa<FloatType>(vector.getElementType());
  while (values.size() > 1) {
    SmallVector<Value> larger;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      Value x = values[i], y = values[i + 1];
      if (isReal)
        larger.push_back(arith::MaxNumFOp::create(b, x, y));
      else
        larger.push_back(arith::MaxSIOp::create(b, x, y));
    }
    if (values.size() % 2)
      larger.push_back(values.back());
    values = std::move(larger);
  }
  return values.front();
}
