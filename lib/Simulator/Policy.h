//===- Policy.h - Scheduling policies ---------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When several steps are possible, a policy chooses one: the present agent
// continues, another agent does, or an asynchronous operation completes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_POLICY_H
#define TILEWS_LIB_SIMULATOR_POLICY_H

#include "tilews/Simulator/Interpreter.h"

#include <random>

namespace tilews::sim {

class PartialOrderSearch;

enum class AsyncKind {
  /// A copy by TMA to shared memory, whose bytes land on a barrier.
  Load,
  /// A copy by cp.async.
  Copy,
  /// A copy by TMA to global memory.
  Store,
  /// An asynchronous matmul, which reads its operands until it completes.
  Matmul,
  /// Arrivals at a barrier.
  Arrival
};

/// Makes the choices of one block and records them.
///
/// Example: two agents can run and one copy can complete: `choose(2, true, 1)`
/// returns 0 (the present agent), 1 (the other one) or 2 (the copy).
class Policy {
public:
  Policy(const Timing &timing, uint64_t block)
      : kind(timing.kind), random(timing.seed * 1000003 + block) {}
  /// Repeats the given choices, then always takes the first possibility.
  explicit Policy(llvm::ArrayRef<unsigned> choices, bool isOfExhaustive = false)
      : kind(TimingKind::Replay), isOfExhaustive(isOfExhaustive),
        given(choices) {}
  /// Takes the steps that a search chooses.
  explicit Policy(PartialOrderSearch &search)
      : kind(TimingKind::Exhaustive), isOfExhaustive(true), search(&search) {}

  /// Returns whether agents continue until they must wait.
  bool isEager() const {
    return kind == TimingKind::Earliest || kind == TimingKind::Latest;
  }

  /// Returns whether each effect on other agents is a step of its own, as the
  /// policy `exhaustive` needs it: agents wait for operations to complete,
  /// instead of making them complete.
  bool isStepwise() const { return isOfExhaustive; }
  /// Returns whether operations of a kind complete when they start.
  bool completesAtOnce(AsyncKind operation) const;
  /// Returns the search that chooses the steps; null for other policies.
  PartialOrderSearch *getSearch() const { return search; }

  /// Chooses among `agents` agents that can run and `operations` operations
  /// that can complete; the latter are numbered after the agents. If `runsOn`,
  /// agent 0 is the present one.
  unsigned choose(unsigned agents, bool runsOn, unsigned operations);

  struct Choice {
    unsigned taken, possibilities;
  };
  llvm::ArrayRef<Choice> getChoices() const { return choices; }

private:
  TimingKind kind;
  bool isOfExhaustive = false;
  PartialOrderSearch *search = nullptr;
  std::mt19937_64 random;
  llvm::ArrayRef<unsigned> given;
  llvm::SmallVector<Choice, 0> choices;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_POLICY_H
