//===- Policy.h - Who decides what happens next -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wherever more than one thing can happen next, a policy chooses: an agent runs
// on, another one does, or something asynchronous completes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_POLICY_H
#define TILEWS_LIB_SIMULATOR_POLICY_H

#include "tilews/Simulator/Interpreter.h"

#include <random>

namespace tilews::sim {

/// Makes the choices of one block and remembers them.
class Policy {
public:
  Policy(const Timing &timing, uint64_t block)
      : kind(timing.kind), random(timing.seed * 1000003 + block) {}
  /// Repeats choices; where they end, the first possibility is taken.
  explicit Policy(llvm::ArrayRef<unsigned> choices)
      : kind(TimingKind::Replay), given(choices) {}

  /// Whether agents run on until they have to wait.
  bool isEager() const {
    return kind == TimingKind::Earliest || kind == TimingKind::Latest;
  }
  /// Whether what is asynchronous completes at once.
  bool completesAtOnce() const { return kind == TimingKind::Earliest; }

  /// One of `agents` agents that can run, the present one first if `runsOn`,
  /// or, numbered behind them, of `operations` that can complete.
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
