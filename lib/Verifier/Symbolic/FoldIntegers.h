//===- FoldIntegers.h - Arithmetic on known integers ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_FOLDINTEGERS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_FOLDINTEGERS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tilews::verifier {

/// The number that an integer constant stands for: 0 or 1 for one bit, and a
/// signed number for other widths.
int64_t getNumber(const llvm::APInt &value);

/// The result of an operation whose operands are the integers `operands`, if it
/// has one integer or index result that they determine: `arith.addi` of 2 and 3
/// is 5. Nullopt for other operations, and for a division by 0.
std::optional<int64_t> foldIntegers(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> operands);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_FOLDINTEGERS_H
