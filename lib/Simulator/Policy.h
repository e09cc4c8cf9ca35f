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

/// Makes the choices of one block and records them.
///
/// Example: two agents can run and one copy can complete: `choose(2, true, 1)`
/// returns 0 (the present agent), 1 (the other one) or 2 (the copy).
class Policy {
public:
  Policy(const Timing &timing, uint64_t block)
      : kind(timing.kind), random(timing.seed * 1000003 + block) {}
  /// Repeats the given choices, then always takes the first possibility.
  explicit Policy(llvm::ArrayRef<unsigned> choices)
      : kind(TimingKind::Replay), given(choices) {}

  /// Returns whether agents continue until they must wait.
  bool isEager() const {
    return kind == TimingKind::Earliest || kind == TimingKind::Latest;
  }
  /// Returns whether asynchronous operations complete when they start.
  bool completesAtOnce() const { return kind == TimingKind::Earliest; }

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
  std::mt19937_64 random;
  llvm::ArrayRef<unsigned> given;
  llvm::SmallVector<Choice, 0> choices;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_POLICY_H
