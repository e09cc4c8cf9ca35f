//===- RealEmitter.h - Arithmetic that expands functions --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expansions of functions of floating point, and the arithmetic that they
// are written in. The code generator may fuse a multiplication with a sum that
// uses it. So where an expansion relies on a rounded multiplication, no sum
// follows; it writes `fma` itself.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_THREADCODE_REALEMITTER_H
#define TILEWS_LIB_CONVERSION_THREADCODE_REALEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace tilews {

/// Emits arithmetic on numbers of one type, a scalar or a vector.
class RealEmitter {
public:
  RealEmitter(mlir::ImplicitLocOpBuilder &b, mlir::Type type);

  mlir::ImplicitLocOpBuilder &getBuilder() { return b; }
  mlir::Type getType() const { return type; }
  /// Returns integers of as many bits as the numbers.
  mlir::Type getBitsType() const { return bitsType; }
  /// Returns the type with other elements.
  mlir::Type withElement(mlir::Type element) const;

  mlir::Value number(double value);
  mlir::Value integer(int64_t value) { return integer(bitsType, value); }
  mlir::Value integer(mlir::Type type, int64_t value);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value neg(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  mlir::Value trunc(mlir::Value x);
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign);
  /// Returns `coefficients[0] + x * (coefficients[1] + x * ...)`.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);

  /// Comparisons. All but `differs` are false for NaN.
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equals(mlir::Value x, mlir::Value y);
  mlir::Value differs(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);

  mlir::Value toBits(mlir::Value x);
  mlir::Value fromBits(mlir::Value bits);
  /// Returns 2^n for integers `n` whose power is a normal number.
  mlir::Value powerOfTwo(mlir::Value n);

  /// Returns the largest element of integers, or of numbers that are not NaN.
  mlir::Value largest(mlir::Value value);

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type, bitsType;
};

/// Sines, cosines and tangents of f32.
void populateTrigonometryPatterns(mlir::RewritePatternSet &patterns);
/// Exponentials of f32, and functions made of them.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);
/// Logarithms of f32 where the instruction is not accurate.
void populateLogarithmPatterns(mlir::RewritePatternSet &patterns);
/// Powers of f32.
void populatePowerPatterns(mlir::RewritePatternSet &patterns);
/// Powers of integers.
void populateIntegerPowerPatterns(mlir::RewritePatternSet &patterns);
/// Multiply-adds of bf16 where no instruction rounds them once.
void populateNarrowFmaPatterns(mlir::RewritePatternSet &patterns);
/// Remainders of f16, bf16, f32 and f64.
void populateRemainderPatterns(mlir::RewritePatternSet &patterns);

/// Replaces operations whose first operand is f32, or a vector of it, by what
/// `emit` makes.
template <typename OpT>
struct F32Expansion : mlir::OpRewritePattern<OpT> {
  using mlir::OpRewritePattern<OpT>::OpRewritePattern;

  mlir::LogicalResult
  matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const final {
    mlir::Type type = op->getOperand(0).getType();
    if (!mlir::getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type);
        vector && vector.isScalable())
      return rewriter.notifyMatchFailure(op, "unknown number of elements");
    mlir::ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RealEmitter e(b, type);
    rewriter.replaceOp(op, emit(e, op));
    return mlir::success();
  }

  /// Emits the values that replace the results of `op`.
  virtual llvm::SmallVector<mlir::Value> emit(RealEmitter &e, OpT op) const = 0;
};

/// Replaces operations of f32 by what `Emit` makes of the operand.
template <typename OpT, mlir::Value (*Emit)(RealEmitter &, mlir::Value)>
struct UnaryExpansion : F32Expansion<OpT> {
  using F32Expansion<OpT>::F32Expansion;

  llvm::SmallVector<mlir::Value> emit(RealEmitter &e, OpT op) const override {
    return {Emit(e, op.getOperand())};
  }
};

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_THREADCODE_REALEMITTER_H
