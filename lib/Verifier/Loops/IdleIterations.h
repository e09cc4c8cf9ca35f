//===- IdleIterations.h - Iterations without steps --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_IDLEITERATIONS_H
#define TILEWS_LIB_VERIFIER_LOOPS_IDLEITERATIONS_H

#include "Verifier/Loops/LoopMatching.h"

namespace tilews::verifier {

/// Finds iterations of a loop that no other task takes part in, so that the
/// task may run them alone.
///
/// Example: after its first %m iterations, the loop of @load has as many as
/// that of @math.
///
///     role @math: for k = m to n: wait, release
///     role @load: for k = 0 to n: if k >= m: acquire, commit
class IdleIterations {
public:
  IdleIterations(ProofContext &context, const PathValues &values,
                 PathConditions &conditions, LoopPeeling &peeling)
      : context(context), values(values), conditions(conditions),
        peeling(peeling) {}

  /// The first iterations of the loop before which `task` stands, if a guard
  /// excludes all steps in them and another loop begins after them. The path
  /// may fork on that; the result does not count if the search starts over.
  std::optional<LoopMatching::PartialMatch> findFirst(Path &path,
                                                      unsigned task) const;
  /// The loop before which `task` stands, if no other task stands before a
  /// loop that it might run with.
  std::optional<LoopGroup> findAlone(const Path &path, unsigned task) const;

private:
  mlir::Value getGuard(mlir::scf::ForOp loop) const;
  bool beginsWithOther(const Path &path, unsigned task, Expr lower,
                       Expr trips) const;
  Expr countFalse(const Path &path, mlir::scf::ForOp loop,
                  mlir::arith::CmpIOp guard) const;

  ProofContext &context;
  const PathValues &values;
  PathConditions &conditions;
  LoopPeeling &peeling;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_IDLEITERATIONS_H
