//===- PartialOrderSearch.h - All orders of a run's steps -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic partial-order reduction for the policy `exhaustive`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_PARTIALORDERSEARCH_H
#define TILEWS_LIB_SIMULATOR_PARTIALORDERSEARCH_H

#include "StepTrace.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace tilews::sim {

/// Chooses the steps of repeated runs so that every order that matters occurs.
///
/// Example: agents 1 and 2 each arrive once at a barrier of count 1, and
/// nothing orders them. The first run lets agent 1 arrive first. Its two
/// arrivals are in different phases, so that the second run lets agent 2 arrive
/// first. With count 2 there is one run.
class PartialOrderSearch {
public:
  /// Without `reduces`, every order of all steps is tried.
  explicit PartialOrderSearch(bool reduces) : reduces(reduces) {}

  //===--------------------------------------------------------------------===//
  // Runs
  //===--------------------------------------------------------------------===//

  /// Prepares the next run; returns false if there is none.
  bool beginRun();
  /// Ends a run: decides which runs it makes necessary.
  void endRun();
  /// Starts the search again with all updates of a barrier dependent.
  void makeExact();

  bool isReducing() const { return reduces; }
  bool isExact() const { return dependency.isExact; }
  /// Returns whether the present run was given up, because all that could
  /// follow is covered by other runs.
  bool wasCutOff() const { return isCutOff; }
  /// Returns whether a run could not repeat the steps of the one before it.
  bool hasDeparted() const { return isDeparted; }
  /// Returns the numbers of the steps that were chosen, where there was a
  /// choice.
  llvm::SmallVector<unsigned> getChoices() const;
  /// Returns how many runs differ in more than the order of independent steps.
  uint64_t countTraces() const { return hashes.size(); }

  //===--------------------------------------------------------------------===//
  // During a run
  //===--------------------------------------------------------------------===//

  /// Chooses among the processes that can take a step, and begins the step.
  /// Returns nothing if the run ends here.
  std::optional<unsigned> choose(llvm::ArrayRef<Process> possible);
  /// Notes a wait that is not over when the run is given up.
  void addBlocked(Process process, const Touch &wait);
  StepTrace &getTrace() { return *trace; }

private:
  /// The next step of a process, as it was seen in another run.
  struct Seen {
    Process process;
    llvm::SmallVector<Touch, 2> touches;
  };
  /// The state before a step.
  struct SearchNode {
    llvm::SmallVector<Process, 8> possible;
    unsigned chosen = 0;
    /// The numbers of the steps to try from here.
    llvm::BitVector backtrack;
    /// Steps that need not be tried, because runs with them first are done.
    llvm::SmallVector<Seen, 4> asleep;

    std::optional<unsigned> find(Process process) const;
    bool isAsleep(Process process) const;
  };

  SearchNode makeNode(llvm::ArrayRef<Process> possible) const;
  void reverseRaces(const StepTrace::TracedStep &step, unsigned number);
  void reverse(unsigned earlier, const StepTrace::TracedStep &step,
               unsigned number);

  bool reduces;
  Dependency dependency;
  std::optional<StepTrace> trace;
  std::vector<SearchNode> nodes;
  /// The waits that are not over at the end of the run.
  std::vector<StepTrace::TracedStep> blocked;
  /// How many choices of the present run repeat those of the one before.
  unsigned numGiven = 0;
  bool isCutOff = false, isDeparted = false;
  llvm::DenseSet<uint64_t> hashes;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_PARTIALORDERSEARCH_H
