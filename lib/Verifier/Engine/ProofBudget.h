//===- ProofBudget.h - The work that proofs may take ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROOFBUDGET_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROOFBUDGET_H

#include "Verifier/Engine/Rules.h"

namespace tilews::verifier {

/// The work of all attempts at a proof of one kernel. It is counted, not timed,
/// so that a verdict depends on the kernel alone: an executed operation is one
/// step, and so is an expression that is made, looked up or decided. A path
/// that forks or is compared with others is copied: one step for each 8 words
/// that it has. On one core of a server a step is some 0.1 microseconds.
class ProofBudget {
public:
  explicit ProofBudget(mlir::Operation *kernel) : kernel(kernel) {}

  /// Begins an attempt that may take all steps that are left. From where it
  /// comes to a comparison of numbers it may take this many: there are other
  /// ways to prove the kernel then.
  void begin(size_t mostOfComparisons = kMaxSteps) {
    most = mostOfComparisons;
    end = kMaxSteps;
  }
  void noteComparison() { end = std::min(kMaxSteps, steps + most); }

  /// Counts `more` steps; false if these are too many in all.
  bool spend(size_t more) {
    steps += more;
    return !isSpent();
  }
  bool isSpent() const { return steps > end; }
  /// Counts a path that forks at `op`.
  void countFork(mlir::Operation *op) { ++forks[op]; }
  /// Says that the budget is spent, and where paths forked most often.
  Finding describe() const;

private:
  /// Far more than almost all schedules of the tests take: four to nine
  /// seconds.
  static constexpr size_t kMaxSteps = 60000000;

  mlir::Operation *kernel;
  size_t steps = 0, end = kMaxSteps, most = kMaxSteps;
  llvm::DenseMap<mlir::Operation *, unsigned> forks;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROOFBUDGET_H
