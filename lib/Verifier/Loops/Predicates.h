//===- Predicates.h - Comparisons whose meaning is left out -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_PREDICATES_H
#define TILEWS_LIB_VERIFIER_LOOPS_PREDICATES_H

#include "Verifier/Engine/PathValues.h"

namespace tilews::verifier {

/// Takes comparisons of guards for predicates, of which only is known that
/// equal ones have equal values. So a guard costs as much as the element of a
/// mask, whatever it computes:
///
///     for i = 0 to n step s
///       if (i + 3 * s < n && (i + 3 * s) / 4 % 2 == 0)   // 1
///         copy(i + 3 * s)
///       if (i / 4 % 2 == 0)   // 2: three iterations later the same predicate
///         read(i)
///
/// Comparisons with a loop's bound, as the first one here, keep their meaning:
/// they say which iterations there are.
class Predicates {
public:
  /// Without `isEnabled` they all keep their meaning.
  Predicates(ProofContext &context, const PathValues &values, bool isEnabled)
      : context(context), values(values), enabled(isEnabled) {}

  bool areEnabled() const { return enabled; }
  /// What stands for the result of a comparison. Notes whether there is any
  /// that could be a predicate.
  Expr get(const Path &path, mlir::Operation *comparison, Expr condition);

private:
  bool comparesWithBound(const Path &path, Expr condition);

  ProofContext &context;
  const PathValues &values;
  bool enabled;
  std::optional<llvm::SmallVector<mlir::scf::ForOp>> loops;
  /// The comparisons that `get` was called for.
  llvm::DenseSet<mlir::Operation *> seen;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_PREDICATES_H
