//===- ProofContext.h - State shared by the parts of a proof ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H

#include "Verifier/Engine/Path.h"
#include "Verifier/Engine/ProofBudget.h"

#include "tilews/Verifier/ScheduleVerdict.h"

namespace tilews::verifier {

/// What the parts of a proof have in common: the program, its rules and
/// expressions, and how the search for obstacles goes.
///
/// The search works on an abstraction of the program that has finitely many
/// states. Where the abstraction turns out too coarse for a proof, it is
/// refined, and the search starts over (Clarke et al., "Counterexample-guided
/// abstraction refinement", 2000). An example: two loop-carried numbers were
/// equal so far and had one name; in this iteration they differ, so they get
/// two names, and `startOver` is called.
class ProofContext {
public:
  ProofContext(const TaskProgram &program, const Rules &rules,
               ProofBudget &budget, bool mayJoinGuards, bool mayForgetRepeats)
      : program(program), rules(rules), budget(budget),
        guardsMayJoin(mayJoinGuards), repeatsMayGo(mayForgetRepeats) {}

  const TaskProgram &program;
  const Rules &rules;
  ExpressionTable table;

  /// Charges the next steps to `op`. Returns false if the budget is spent.
  bool begin(mlir::Operation *op) {
    place = op;
    return budget.spend(1 + table.takeWork());
  }
  /// Whether the conditions of several guards may be decided as one.
  /// `joinGuards` records that they were: less is then known about each of
  /// them.
  bool mayJoinGuards() const { return guardsMayJoin; }
  void joinGuards() { guardsJoined = true; }
  bool haveGuardsJoined() const { return guardsJoined; }
  /// Whether comparisons of quotients may be forgotten that only repeat after
  /// some iterations. `forgetRepeats` records that some were.
  bool mayForgetRepeats() const { return repeatsMayGo; }
  void forgetRepeats() { repeatsForgotten = true; }
  bool haveForgottenRepeats() const { return repeatsForgotten; }
  /// Notes that a guard compares numbers. A proof that takes such comparisons
  /// for predicates may be the shorter one.
  void noteComparison();
  bool hasComparisons() const { return comparesNumbers; }

  /// Leaves a path to be searched later. The last one is taken first.
  void fork(Path path);
  bool hasForks() const { return !forks.empty(); }
  Path takeFork();

  /// Makes the search start over, because the abstraction was refined. The
  /// paths so far do not count.
  void startOver() { mustRestart = true; }
  bool startsOver() const { return mustRestart; }
  /// Begins a search, with no paths and no obstacle.
  void begin();

  /// Notes an obstacle to the proof, unless one was noted before; returns
  /// `Failed`.
  Progress fail(mlir::Operation *op, const llvm::Twine &text,
                bool isCertain = false);
  /// Replaces the obstacle; returns `Failed`.
  Progress fail(Finding newObstacle);
  /// The same for a rule that is broken on this path.
  Progress failByRule(Finding broken);
  const std::optional<Finding> &getObstacle() const { return obstacle; }
  bool hasBrokenRule() const { return isRuleBroken; }

  /// Counts a state that `path` comes to; false if the budget is spent.
  bool countState(const Path &path) {
    ++effort.states;
    return countComparison(path);
  }
  /// The same for a state after a loop.
  bool countComparison(const Path &path) {
    return budget.spend(countCopy(path));
  }
  void countJoin() { ++effort.joins; }
  void countWidening() { ++effort.widenings; }
  void countQuestion() { ++effort.questions; }
  const ProofEffort &getEffort() const { return effort; }
  bool isExhausted() const { return budget.isSpent(); }
  /// Gives up, as the budget is spent; returns `Failed`.
  Progress giveUp() { return fail(budget.describe()); }

private:
  /// The steps that a copy of a path costs.
  static size_t countCopy(const Path &path) {
    return (path.values.size() + path.state.size()) / 8;
  }

  ProofBudget &budget;
  mlir::Operation *place = nullptr;
  std::vector<Path> forks;
  std::optional<Finding> obstacle;
  ProofEffort effort;
  bool mustRestart = false, isRuleBroken = false;
  bool guardsMayJoin, guardsJoined = false, comparesNumbers = false;
  bool repeatsMayGo, repeatsForgotten = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H
