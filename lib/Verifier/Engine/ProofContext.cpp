//===- ProofContext.cpp - State shared by the parts of a proof ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forked paths are a stack: the search is depth first, so that at most one path
// a decision waits. The first obstacle of a search is kept, as what follows may
// be a consequence of it. Broken rules and deadlocks end the search at once and
// replace what was noted before.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/ProofContext.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

void ProofContext::fork(Path path) {
  budget.countFork(place);
  budget.spend(countCopy(path));
  forks.push_back(std::move(path));
}

Path ProofContext::takeFork() {
  Path path = std::move(forks.back());
  forks.pop_back();
  return path;
}

void ProofContext::noteComparison() {
  if (!std::exchange(comparesNumbers, true))
    budget.noteComparison();
}

void ProofContext::begin() {
  forks.clear();
  obstacle.reset();
  mustRestart = isRuleBroken = false;
}

Progress ProofContext::fail(Operation *op, const Twine &text, bool isCertain) {
  LDBG() << "obstacle at " << op->getLoc() << ": " << text;
  if (!obstacle)
    obstacle = Finding{op, text.str()};
  obstacle->isCertain |= isCertain;
  return Progress::Failed;
}

Progress ProofContext::fail(Finding newObstacle) {
  LDBG() << "obstacle: " << newObstacle.text;
  obstacle = std::move(newObstacle);
  return Progress::Failed;
}

Progress ProofContext::failByRule(Finding broken) {
  isRuleBroken = true;
  return fail(std::move(broken));
}
