//===- TaskMachine.h - Steps of one task ------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_TASKMACHINE_H
#define TILEWS_LIB_VERIFIER_ENGINE_TASKMACHINE_H

#include "Verifier/Engine/Guards.h"
#include "Verifier/Engine/ScalarEvaluator.h"
#include "Verifier/Loops/LoopPeeling.h"

namespace tilews::verifier {

/// Runs one task on a path: an operation at a time, until the task ends, has to
/// wait for another task, or comes to the start or the end of a loop.
///
///     tile.acquire %c[%p]        // event: the rules change the state, or
///                                // the task waits (`None`)
///     scf.if %guard { ... }      // decided, the path may fork; a frame is
///                                // pushed for the branch
///     %q = tile.advance %p       // scalar: evaluated
///     scf.for ...                // `None`: LoopGroups goes on from here
class TaskMachine {
public:
  /// Without `mayWait`, a task that has to wait is an obstacle.
  TaskMachine(ProofContext &context, const PathValues &values,
              PathConditions &conditions, ScalarEvaluator &evaluator,
              Guards &guards, LoopPeeling &peeling, bool mayWait)
      : context(context), values(values), conditions(conditions),
        evaluator(evaluator), guards(guards), peeling(peeling),
        mayWait(mayWait) {}

  /// Runs a task as far as it can go alone; `None` if it performs no operation.
  Progress advance(Path &path, unsigned task);
  /// The task that had to wait although none may.
  std::optional<unsigned> getWaiting() const { return waiting; }

private:
  Progress perform(Path &path, unsigned task, mlir::Operation *op);
  Progress performEvent(Path &path, unsigned task, mlir::Operation *op);
  bool requireSteps(Path &path, mlir::Block *block);
  Progress require(Path &path, unsigned task, mlir::Value condition);
  Progress specialize(Path &path, mlir::Operation *op);
  Progress enterBranch(Path &path, unsigned task, mlir::scf::IfOp branch);
  void leaveBranch(Path &path, unsigned task);

  ProofContext &context;
  const PathValues &values;
  PathConditions &conditions;
  ScalarEvaluator &evaluator;
  Guards &guards;
  LoopPeeling &peeling;
  bool mayWait;
  std::optional<unsigned> waiting;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_TASKMACHINE_H
