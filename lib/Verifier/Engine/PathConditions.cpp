//===- PathConditions.cpp - Decide conditions on paths --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition is decided by the path condition, or else it is open. An open
// condition is taken apart (conjunction, disjunction, negation) until a part is
// found that has to be decided first. The path forks on this part, each side
// adds it to its path condition, and the decision is tried again.
//
// Before the fork the part is noted with the induction variables that it
// depends on. Facts from before a loop, where the variable was a constant, are
// then carried into the loop for it. A new note makes the search start over,
// with paths that carry these facts from the start.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/PathConditions.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

bool PathConditions::decide(Path &path, Expr condition) {
  ExpressionTable &table = context.table;
  for (;;) {
    context.countQuestion();
    if (std::optional<bool> known = path.facts.decide(table, condition))
      return *known;
    Expr part = path.facts.findUndecided(table, condition);
    if (inductions.note(part)) {
      LDBG_OS([&](raw_ostream &os) {
        os << "start over, as conditions ask for ";
        table.print(part, os);
      });
      context.startOver();
      return false;
    }
    LDBG_OS([&](raw_ostream &os) {
      os << "path forks on ";
      table.print(part, os);
    });
    Path other = path;
    other.facts.assume(table, part, false);
    context.fork(std::move(other));
    path.facts.assume(table, part, true);
  }
}

bool PathConditions::checkUniform(Operation *op, Expr condition) {
  if (!context.table.mentions(condition, values.getThread()))
    return true;
  context.fail(op,
               "threads of a role may take different paths here, but all of "
               "them must make the same transactions",
               /*isCertain=*/true);
  return false;
}
