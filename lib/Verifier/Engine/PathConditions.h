//===- PathConditions.h - Decide conditions on paths ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PATHCONDITIONS_H
#define TILEWS_LIB_VERIFIER_ENGINE_PATHCONDITIONS_H

#include "Verifier/Engine/PathValues.h"
#include "Verifier/Loops/InductionVariables.h"

namespace tilews::verifier {

/// Decides conditions on a path, which forks where a condition is open:
///
///     role @load: if (mask[i]) copy    // open: one path assumes mask[i], a
///                                      // fork of it assumes not mask[i]
///     role @math: if (mask[i]) read    // decided on both paths
class PathConditions {
public:
  PathConditions(ProofContext &context, InductionVariables &inductions,
                 const PathValues &values)
      : context(context), inductions(inductions), values(values) {}

  /// Whether `condition` holds on `path`. Where it is open, `path` goes on with
  /// the parts that hold, and the forks with those that do not. The result does
  /// not count if the search starts over.
  bool decide(Path &path, Expr condition);
  /// Adds that `condition` holds; false if the path contradicts it.
  bool require(Path &path, Expr condition, bool holds = true);
  /// Replaces the parts of `sum` that the path decides: max(n, 0) becomes n or
  /// 0.
  Expr simplify(const Path &path, Expr sum);
  /// Decides such a part of `sum` that is open, so that the path may fork.
  /// Returns false if there is none.
  bool decidePart(Path &path, Expr sum);
  /// The remainder of a sum from outside of loops. The path forks on it if it
  /// is open and makes a definition: n becomes 4 * q + 3. Other sums have none.
  std::optional<int64_t> splitRemainder(Path &path, Expr sum, int64_t divisor);
  /// Whether all threads that execute `op` agree on `condition`. If not, this
  /// is an obstacle that is certain.
  bool checkUniform(mlir::Operation *op, Expr condition);

private:
  /// An atom that is equal to `then` or `otherwise`.
  struct AtomChoice {
    Expr atom = 0, condition = 0, then = 0, otherwise = 0;
  };
  llvm::SmallVector<AtomChoice, 2> findChoices(Expr sum);
  Expr simplifyPart(const Path &path, Expr part);
  std::optional<bool> decideByCases(const Path &path, Expr part);
  void assume(Path &path, Expr part, bool holds, bool isAsserted);

  ProofContext &context;
  InductionVariables &inductions;
  const PathValues &values;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PATHCONDITIONS_H
