//===- LoopGroups.h - Loops that run together -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H
#define TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H

#include "Verifier/Loops/LoopMatching.h"

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
        matching(context, values, conditions, peeling) {}

  /// Takes a task into a loop in which no other task takes part, or to the next
  /// iteration of one. Several iterations of a loop that make one of its group
  /// are also of its task alone.
  Progress advanceAlone(Path &path, unsigned task);
  /// The same for a group: the first one whose tasks all stand at the end of an
  /// iteration. If there is none, the first one whose tasks all stand before
  /// their loops.
  Progress advanceTogether(Path &path);

private:
  int getNumber(LoopGroup group);
  bool isCounted(const LoopGroup &group) const;
  bool hasFewIterations(const Path &path, mlir::scf::ForOp loop) const;

  void splitRemainders(Path &path, const LoopGroup &group);
  Progress enter(Path &path, int number, Expr trips = 0);
  Progress enterPart(Path &path, LoopMatching::PartialMatch match);
  Progress enterFor(Path &path, const LoopGroup &group,
                    llvm::ArrayRef<Expr> inits, Expr trips);
  bool iterateWithin(Path &path, unsigned task);
  Progress iterate(Path &path, int number);
  Expr getGoesOn(const Path &path, const LoopGroup &group, Expr end) const;
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
  std::vector<LoopGroup> groups;
  /// By the loops and their factors.
  std::map<std::vector<std::pair<mlir::Operation *, int64_t>>, int> numbers;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_LOOPGROUPS_H
