//===- PathSearch.h - A search through all paths ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PATHSEARCH_H
#define TILEWS_LIB_VERIFIER_ENGINE_PATHSEARCH_H

#include "Verifier/Engine/StateKey.h"
#include "Verifier/Engine/TaskMachine.h"
#include "Verifier/Loops/LoopGroups.h"

#include <deque>
#include <unordered_map>

namespace tilews::verifier {

/// One search through all paths of a program, until no new state comes up. For
/// a producer and a consumer
///
///     role @load: for i = 0 to n: if (mask[i]) fill
///     role @math: for i = 0 to n: if (mask[i]) read
///
/// it follows n <= 0; in the first iteration mask[0], and not mask[0]; and at
/// the end of each n == 1 and n > 1. In the second iteration the states repeat,
/// up to the name of the next slot, so the search ends there.
class PathSearch {
public:
  /// With `joinsKnowledge` paths join that differ in happens-before knowledge
  /// only. Tasks go on in this order.
  PathSearch(ProofContext &context, const PathValues &values,
             TaskMachine &machine, LoopGroups &loops, LoopPeeling &peeling,
             StateKey &key, llvm::ArrayRef<unsigned> order, bool joinsKnowledge)
      : context(context), values(values), machine(machine), loops(loops),
        peeling(peeling), key(key), order(order),
        joinsKnowledge(joinsKnowledge) {}

  /// Returns whether all paths end without an obstacle. If not, the context has
  /// the obstacle, or the search has to start over.
  bool run();
  /// Whether a joined state has less knowledge than each path that led to it,
  /// so that a path with this state may not exist.
  bool hasLostKnowledge() const { return hasLost; }

private:
  /// Where paths join that differ in knowledge only.
  struct JoinPoint {
    /// The knowledge that all of them have.
    State known;
    /// The path that has yet to go on from there.
    std::optional<Path> path;
  };

  Path getFirstPath() const;
  Path takePath();
  Progress advance(Path &path);
  Progress advanceTask(Path &path, unsigned task);
  Progress advanceTogether(Path &path);
  Progress peel(Path &path);
  Progress endIteration(Path &path, Progress progress);
  Progress visit(Path &path);
  bool join(State &state, State &known);
  Finding describeStuck(const Path &path) const;
  std::string describeTask(const Path &path, unsigned task,
                           mlir::Operation *op) const;

  ProofContext &context;
  const PathValues &values;
  TaskMachine &machine;
  LoopGroups &loops;
  LoopPeeling &peeling;
  StateKey &key;
  llvm::ArrayRef<unsigned> order;
  bool joinsKnowledge, hasLost = false;
  /// By key: the number of the state, and of its join point.
  std::unordered_map<std::string, unsigned> seen;
  std::deque<JoinPoint> joinPoints;
  /// The join points with paths, in the order in which these go on.
  std::deque<unsigned> open;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PATHSEARCH_H
