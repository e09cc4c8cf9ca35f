//===- UniformValues.h - Execution of numbers and tiles ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_UNIFORMVALUES_H
#define TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_UNIFORMVALUES_H

#include "mlir/IR/Operation.h"

namespace tilews::verifier {

/// A number, or a tile whose elements are all this number: an integer, or the
/// bits of a float as a double.
using UniformValue = int64_t;

/// The small integer `number` as a value of `type`; nullopt if the type does
/// not have it.
std::optional<UniformValue> makeUniform(mlir::Type type, int64_t number);

/// The value of a constant, if all its elements are equal.
std::optional<UniformValue> getUniformConstant(mlir::Operation *op);

/// The result of `op` for these operands, if every target computes exactly
/// that. Nullopt for other operations, and for a result that is rounded.
///
/// Example: the sum of 32 elements that are 1.5 is 48, in any order.
std::optional<UniformValue> foldUniform(mlir::Operation *op,
                                        llvm::ArrayRef<UniformValue> operands);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_UNIFORMVALUES_H
