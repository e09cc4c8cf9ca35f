//===- LoopMatching.h - Which loops run together ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_LOOPMATCHING_H
#define TILEWS_LIB_VERIFIER_LOOPS_LOOPMATCHING_H

#include "Verifier/Loops/CarriedValues.h"
#include "Verifier/Loops/LoopPeeling.h"

namespace tilews::verifier {

/// Finds the loops that may run together from where a path stands.
///
/// Example: from the wait and the acquire for one channel in
///
///     role @load: for i = 0 to n step 1: acquire, commit
///     role @math: for j = 0 to 2 * n step 2: wait, release
///
/// `find` returns the group of both loops, which have n iterations each. @load
/// has the leader, and the variable of @math's loop is 2 * i.
class LoopMatching {
public:
  LoopMatching(ProofContext &context, const PathValues &values,
               PathConditions &conditions, LoopPeeling &peeling)
      : context(context), values(values), conditions(conditions),
        peeling(peeling) {}

  /// The group of the loop before which `task` stands: this loop, and the loops
  /// of all tasks that use a link of it. None if their numbers of iterations
  /// differ, or if a task has not come to its loop yet.
  std::optional<LoopGroup> find(const Path &path, unsigned task) const;

  /// Loops that run together for a part of their iterations.
  struct PartialMatch {
    /// Its number is not known yet.
    LoopGroup group;
    /// How many iterations the group has.
    Expr trips;
    /// By loop: the value of its induction variable after these, and whether it
    /// may have others.
    llvm::SmallVector<Expr> ends;
    llvm::SmallVector<bool> haveRests;
  };
  /// The same for loops with different numbers of iterations. The group takes
  /// all iterations of one loop, or all but a few, and the path implies that
  /// the others have as many. A loop in which a task waits half as often as
  /// others has two iterations for one of theirs.
  ///
  ///     role @math: for k = 0 to n / 2: wait, release, wait, release
  ///                 if n % 2: wait, release
  ///     role @load: for k = 0 to n: acquire, commit
  ///
  /// run together for n / 2 iterations, and @load then stands before a loop
  /// from 2 * (n / 2) to n.
  std::optional<PartialMatch> findPart(const Path &path, unsigned task) const;

  /// Decides what two numbers of iterations depend on, if a fork can make them
  /// comparable.
  Progress compareTrips(Path &path);

  /// The leader of a group, by whose variable those of the other loops are
  /// expressed: the first loop whose variable an iteration of the group changes
  /// least.
  unsigned getLeader(const Path &path, const LoopGroup &group) const;
  /// What an iteration of the group adds to the variable of its loop `i`.
  Expr getAdvance(const Path &path, const LoopGroup &group, unsigned i) const;
  /// The induction variables of the loops of a group in their first iteration,
  /// by that of the leader, whose name is `variable`.
  llvm::SmallVector<Expr> getVariables(const Path &path, const LoopGroup &group,
                                       Expr variable) const;

private:
  std::optional<LoopGroup> collect(const Path &path, unsigned task,
                                   bool haveSame) const;
  bool haveSameTrips(const Path &path, mlir::Operation *a,
                     mlir::Operation *b) const;
  int64_t countCommonWaits(mlir::Operation *loop, mlir::Operation *other) const;
  bool setFactors(LoopGroup &group) const;
  bool haveCommonAdvance(const Path &path, const LoopGroup &group) const;
  Expr findTrips(const Path &path, const LoopGroup &group, Expr trips) const;

  ProofContext &context;
  const PathValues &values;
  PathConditions &conditions;
  LoopPeeling &peeling;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_LOOPMATCHING_H
