//===- Prover.h - Proofs of schedules ---------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROVER_H

#include "Verifier/Engine/TaskMachine.h"
#include "Verifier/Loops/LoopGroups.h"

namespace tilews::verifier {

struct ProverOptions {
  /// The order in which tasks run; by number if it is empty.
  llvm::SmallVector<unsigned> order = {};
  /// Whether a task may block. If not, the order must depend on control flow
  /// alone, and a task that blocks is an obstacle.
  bool mayWait = true;
  /// Events that only add happens-before knowledge may be left out.
  bool isLean = false;
  /// The conditions of several guards are decided as one.
  bool joinsGuards = true;
  /// Comparisons of remainders of an induction variable are decided anew where
  /// they repeat.
  bool forgetsRepeats = true;
  /// Loop-carried numbers that differ by small constants have one name, so that
  /// facts relate the counts of several roles.
  bool relatesCounts = false;
  /// Joins paths that differ in happens-before knowledge only. A clock of the
  /// joined path has the bits that it has on all of them.
  bool joinsKnowledge = false;
  /// Comparisons of guards are predicates: see Predicates.
  bool takesPredicates = false;
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
  Prover(const TaskProgram &program, const Rules &rules, ProofBudget &budget,
         ProverOptions options);

  /// Returns the obstacle to a proof, which need not be a fault of the
  /// schedule.
  std::optional<Finding> run();

  /// Whether a rule was broken after a join had cleared bits of knowledge. The
  /// rule may hold on each of the joined paths.
  bool hasLostKnowledge() const { return hasLost && context.hasBrokenRule(); }
  /// Whether conditions of several guards were decided as one.
  bool haveGuardsJoined() const { return context.haveGuardsJoined(); }
  /// Whether comparisons that may repeat were forgotten.
  bool haveForgottenRepeats() const { return context.haveForgottenRepeats(); }
  /// Whether guards compare numbers, which may be taken for predicates.
  bool hasComparisons() const { return context.hasComparisons(); }
  /// Whether loops carry numbers that may be related.
  bool hasCounts() const { return carried.hasCounts(); }
  /// The task that blocked although none may.
  std::optional<unsigned> getWaiting() const { return machine.getWaiting(); }
  const ProofEffort &getEffort() const { return context.getEffort(); }
  /// The groups of loops that have run for a part of their iterations.
  const std::set<LoopGroups::GroupKey> &getUneven() const {
    return loops.getUneven();
  }
  /// Whether the search was given up because the budget is spent.
  bool isExhausted() const { return context.isExhausted(); }

private:
  ProverOptions options;
  ProofContext context;
  PathValues values;
  InductionVariables inductions;
  PathConditions conditions;
  Predicates predicates;
  ScalarEvaluator evaluator;
  Guards guards;
  CarriedValues carried;
  LoopPeeling peeling;
  LoopGroups loops;
  TaskMachine machine;
  bool hasLost = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
