//===- PathValues.h - Symbolic values of a path -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PATHVALUES_H
#define TILEWS_LIB_VERIFIER_ENGINE_PATHVALUES_H

#include "Verifier/Engine/ProofContext.h"

namespace tilews::verifier {

/// Whether the expressions of values of this type are sums: integers and
/// cursors, not conditions, floating-point numbers or tensors.
bool isSum(mlir::Type type);

/// Reads and writes the expressions of SSA values on a path. A value that the
/// slice does not compute is an atom of its own:
///
///     ^bb0(%n: index):                  // get(%n) is the sum `n`
///       %c4 = arith.constant 4          // set(%c4, 4)
///       %m = arith.addi %n, %c4         // set(%m, n + 4)
class PathValues {
public:
  explicit PathValues(ProofContext &context) : context(context) {}

  Expr get(const Path &path, mlir::Value value) const;
  llvm::SmallVector<Expr> getAll(const Path &path,
                                 mlir::ValueRange values) const;
  /// The atom that stands for a value that the slice does not compute.
  Expr getOutside(mlir::Value value) const;
  /// Sets the expression of a value that matters. One that is too large becomes
  /// an atom.
  void set(Path &path, mlir::Value value, Expr expr) const;
  /// Forgets the expressions of the values that the regions of `op` define.
  void clearInner(Path &path, mlir::Operation *op) const;

  /// The variable that stands for what differs between threads.
  Expr getThread() const;

private:
  ProofContext &context;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PATHVALUES_H
