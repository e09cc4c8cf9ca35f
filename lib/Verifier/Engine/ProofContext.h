//===- ProofContext.h - State shared by the parts of a proof ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H

#include "Verifier/Engine/Path.h"

#include "tilews/Verifier/ScheduleVerdict.h"

namespace tilews::verifier {

/// What the parts of a proof have in common: the program, its rules and
/// expressions, and how the search for obstacles goes.
///
/// The search works on an abstraction of the program that has finitely many
/// states. Where the abstraction turns out too coarse or too fine it is
/// refined, and the search starts over (Clarke et al., "Counterexample-guided
/// abstraction refinement", 2000). An example: two loop-carried numbers were
/// equal so far and had one name; in this iteration they differ, so they get
/// two names, and `startOver` is called.
class ProofContext {
public:
  ProofContext(const TaskProgram &program, const Rules &rules)
      : program(program), rules(rules) {}

  const TaskProgram &program;
  const Rules &rules;
  ExpressionTable table;

  /// Leaves a path to be searched later. The last one is taken first.
  void fork(Path path) { forks.push_back(std::move(path)); }
  bool hasForks() const { return !forks.empty(); }
  Path takeFork();

  /// The abstraction was refined: paths so far do not count.
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

  /// Counts a state of `words` words that a path comes to, over all searches;
  /// false if these are too many.
  bool countState(size_t words) {
    ++effort.states;
    return countWords(words);
  }
  /// The same for a state that a path is compared at, after a loop.
  bool countWords(size_t words) {
    numWords += words;
    return !hasTooManyStates();
  }
  void countJoin() { ++effort.joins; }
  void countWidening() { ++effort.widenings; }
  void countQuestion() { ++effort.questions; }
  const ProofEffort &getEffort() const { return effort; }
  bool hasTooManyStates() const {
    return effort.states > kMaxStates || numWords > kMaxWords;
  }

private:
  /// More states than any schedule has that is written with some care.
  static constexpr unsigned kMaxStates = 200000;
  /// The time that a state takes grows with its size. This is three seconds.
  static constexpr size_t kMaxWords = 40000000;

  std::vector<Path> forks;
  std::optional<Finding> obstacle;
  ProofEffort effort;
  size_t numWords = 0;
  bool mustRestart = false, isRuleBroken = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROOFCONTEXT_H
