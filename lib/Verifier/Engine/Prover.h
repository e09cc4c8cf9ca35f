//===- Prover.h - Proofs of schedules ---------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROVER_H

#include "Verifier/Engine/LoopGroups.h"
#include "Verifier/Engine/TaskMachine.h"

namespace tilews::verifier {

struct ProverOptions {
  /// Tasks go on in this order; by number if there is none.
  llvm::SmallVector<unsigned> order = {};
  /// Whether a task may have to wait. If not, the order must depend on control
  /// flow alone, and waiting is an obstacle.
  bool mayWait = true;
  /// Loop-carried numbers that differ by small constants have one name, so that
  /// facts relate the counts of several roles.
  bool relatesCounts = false;
  /// Paths join that differ in happens-before knowledge only. What tasks know
  /// on the joined path is what they know on all of them.
  bool joinsKnowledge = false;
};

/// Proves that no path through a program breaks a rule or gets stuck. The proof
/// is for all arguments and all loaded values:
///
///     TaskProgram program(kernel, rules);         // tasks and their slices
///     program.build();
///     Prover prover(program, rules, {});
///     std::optional<Finding> obstacle = prover.run();   // nullopt: proved
///
/// The prover owns the parts of the proof. PathSearch goes through all paths,
/// TaskMachine runs the tasks of a path, and LoopGroups runs their loops
/// together.
class Prover {
public:
  Prover(const TaskProgram &program, const Rules &rules, ProverOptions options);

  /// Returns the obstacle to a proof, which need not be a fault of the
  /// schedule.
  std::optional<Finding> run();

  /// Whether a rule was broken, and joined paths knew less than each of them:
  /// the rule may hold on each.
  bool hasLostKnowledge() const { return hasLost && context.hasBrokenRule(); }
  /// Whether loops carry numbers that may be related.
  bool hasCounts() const { return carried.hasCounts(); }
  /// The task that had to wait although none may.
  std::optional<unsigned> getWaiting() const { return machine.getWaiting(); }
  unsigned getNumStates() const { return context.getNumStates(); }
  /// Whether it gave up because of too many states.
  bool isExhausted() const { return context.hasTooManyStates(); }

private:
  ProverOptions options;
  ProofContext context;
  PathValues values;
  InductionVariables inductions;
  PathConditions conditions;
  ScalarEvaluator evaluator;
  CarriedValues carried;
  LoopPeeling peeling;
  LoopGroups loops;
  TaskMachine machine;
  bool hasLost = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
