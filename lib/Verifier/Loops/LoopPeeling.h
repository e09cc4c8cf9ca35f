//===- LoopPeeling.h - Iterations that a task runs alone --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_LOOPPEELING_H
#define TILEWS_LIB_VERIFIER_LOOPS_LOOPPEELING_H

#include "Verifier/Engine/PathConditions.h"

#include <set>

namespace tilews::verifier {

/// Peels first iterations off loops, so that loops of different tasks have the
/// same bounds:
///
///     role @load: for i = 0 to n: fill(i)     // peeled once:
///                                             // fill(0); for i = 1 to n
///     role @math: read(0)
///                 for i = 1 to n: read(i)
///
/// Also answers where a loop begins on a path, as it may be the rest of a
/// peeled one.
class LoopPeeling {
public:
  LoopPeeling(ProofContext &context, const PathValues &values,
              PathConditions &conditions)
      : context(context), values(values), conditions(conditions) {}

  /// The first value of the induction variable, and of the loop-carried values.
  Expr getLower(const Path &path, mlir::scf::ForOp loop) const;
  llvm::SmallVector<Expr> getInits(const Path &path,
                                   mlir::Operation *loop) const;

  /// The number of iterations that are left, which is below 1 if there is none.
  /// No expression (0) unless the step is a positive constant.
  Expr getTrips(const Path &path, mlir::scf::ForOp loop) const;

  /// Whether signed comparisons with the bounds are right; an obstacle if not.
  bool checkBounds(const Path &path, mlir::scf::ForOp loop) const;

  /// Begins a peeled iteration in one of the tasks that stand before a loop;
  /// `None` if no loop is left to peel.
  Progress peel(Path &path);
  /// Peeling from these places of the tasks has led to a deadlock. That holds
  /// for all later searches.
  void giveUp(std::vector<mlir::Operation *> places) {
    givenUp.insert(std::move(places));
  }
  bool isGivenUp(const std::vector<mlir::Operation *> &places) const {
    return givenUp.count(places) != 0;
  }
  /// Ends the peeled iteration of a task, which then stands before the rest of
  /// the loop.
  void endIteration(Path &path, unsigned task);

private:
  bool isAhead(const Path &path, unsigned task) const;
  Progress beginIteration(Path &path, unsigned task);

  ProofContext &context;
  const PathValues &values;
  PathConditions &conditions;
  std::set<std::vector<mlir::Operation *>> givenUp;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_LOOPPEELING_H
