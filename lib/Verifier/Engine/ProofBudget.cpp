//===- ProofBudget.cpp - The work that proofs may take --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most proofs that take too long do so because of one condition: each iteration
// in which it is open doubles the paths, and the states keep as many of its
// values as there are iterations under way. The forks at each operation tell
// which one it is.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/ProofBudget.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

Finding ProofBudget::describe() const {
  std::string text = "the proof was given up after " +
                     std::to_string(kMaxSteps / 1000000) + " million steps";
  Operation *worst = nullptr;
  // The first one in the kernel, so that equal numbers give equal messages.
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (forks.lookup(op) > forks.lookup(worst))
      worst = op;
  });
  if (!worst)
    return {kernel, text};
  return {worst, text + ": paths forked most often at this condition, " +
                     std::to_string(forks.lookup(worst)) +
                     " times, and each iteration between a decision and its "
                     "use multiplies the states"};
}
