//===- IndexArithmetic.h - Sums and products of indices ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_COMMON_MEMORY_INDEXARITHMETIC_H
#define TILEWS_LIB_CONVERSION_COMMON_MEMORY_INDEXARITHMETIC_H

#include "tilews/Conversion/Common/Emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

/// Returns a sum that does not overflow. Null stands for zero.
inline mlir::Value createAdd(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                             mlir::Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return mlir::arith::AddIOp::create(b, lhs, rhs,
                                     mlir::arith::IntegerOverflowFlags::nsw);
}

/// Returns a multiple that does not overflow.
inline mlir::Value createMul(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                             int64_t factor) {
  if (factor == 1)
    return value;
  return mlir::arith::MulIOp::create(b, value,
                                     createInteger(b, value.getType(), factor),
                                     mlir::arith::IntegerOverflowFlags::nsw);
}

/// Returns whether both conditions hold. Null stands for true.
inline mlir::Value createAnd(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                             mlir::Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return mlir::arith::AndIOp::create(b, lhs, rhs);
}

/// Extends or truncates an integer to the type that addresses of a memory are
/// computed in. Null stays null.
inline mlir::Value createResize(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value value, mlir::Type type) {
  if (!value || value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return mlir::arith::ExtSIOp::create(b, type, value);
  return mlir::arith::TruncIOp::create(b, type, value);
}

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_COMMON_MEMORY_INDEXARITHMETIC_H
