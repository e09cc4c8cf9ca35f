//===- LoopGroups.h - Loops that run together -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H
#define TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H

#include "Verifier/Loops/IdleIterations.h"

#include <set>

namespace tilews::verifier {

/// Runs loops of several tasks together, iteration by iteration. Loops that use
/// a link (a channel or a barrier) in common and have equally many iterations
/// are a group:
///
///     role @load: for i = 0 to n: acquire, copy, commit      \ one group, one
///     role @math: for i = 0 to n: wait, read, release        / variable i0
///
/// All tasks end iteration 1 before one begins iteration 2. So a path has one
/// value of i0 at a time, and the distance between two tasks is finite.
class LoopGroups {
public:
  LoopGroups(ProofContext &context, const PathValues &values,
             PathConditions &conditions, InductionVariables &inductions,
             CarriedValues &carried, LoopPeeling &peeling)
      : context(context), values(values), conditions(conditions),
        inductions(inductions), carried(carried), peeling(peeling),
        matching(context, values, conditions, peeling),
        idle(context, values, conditions, peeling) {}

  /// Takes a task into a loop in which no other task takes part, or to the next
  /// iteration of one. Several iterations of a loop that make one of its group
  /// are also of its task alone.
  Progress advanceAlone(Path &path, unsigned task);
  /// The same for a group: the first one whose tasks all stand at the end of an
  /// iteration. If there is none, the first one whose tasks all stand before
  /// their loops.
  Progress advanceTogether(Path &path);
  /// Takes a task into a loop that it runs alone, although other tasks use its
  /// links: where none of them has a loop to run with it.
  Progress enterAlone(Path &path);

  /// The loops of a group, and how many of their iterations go together.
  using GroupKey = std::vector<std::pair<mlir::Operation *, int64_t>>;
  /// The groups of this search that have run for a part of their iterations, or
  /// without tasks that use their links. What is proved of several units has to
  /// be for the same groups.
  const std::set<GroupKey> &getUneven() const { return uneven; }
  /// A new search begins.
  void begin() { uneven.clear(); }

private:
  int getNumber(LoopGroup group);
  bool isCounted(const LoopGroup &group) const;
  bool hasFewIterations(const Path &path, mlir::scf::ForOp loop) const;

  void splitRemainders(Path &path, const LoopGroup &group);
  Progress enter(Path &path, int number, Expr trips = 0);
  Progress enterPart(Path &path, LoopMatching::PartialMatch match);
  Progress advanceUnevenly(Path &path);
  Progress enterFor(Path &path, const LoopGroup &group,
                    llvm::ArrayRef<Expr> inits, Expr trips);
  bool iterateWithin(Path &path, unsigned task);
  Progress iterate(Path &path, int number);
  Expr getGoesOn(const Path &path, const LoopGroup &group, Expr end) const;
  void trimFacts(Path &path, const LoopGroup &group, Expr step);
  Progress iterateFor(Path &path, const LoopGroup &group);
  Progress iterateWhile(Path &path, const LoopGroup &group);
  Progress decideWhile(Path &path, const LoopGroup &group);
  llvm::SmallVector<Expr> collectPassed(const Path &path,
                                        const LoopGroup &group) const;
  void beginIteration(Path &path, const LoopGroup &group,
                      llvm::ArrayRef<Expr> passed, bool isFirst);
  void leave(Path &path, const LoopGroup &group, llvm::ArrayRef<Expr> results,
             bool wasEntered);

  ProofContext &context;
  const PathValues &values;
  PathConditions &conditions;
  InductionVariables &inductions;
  CarriedValues &carried;
  LoopPeeling &peeling;
  LoopMatching matching;
  IdleIterations idle;
  std::vector<LoopGroup> groups;
  std::map<GroupKey, int> numbers;
  std::set<GroupKey> uneven;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H
