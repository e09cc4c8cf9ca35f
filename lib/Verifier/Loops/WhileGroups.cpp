//===- WhileGroups.cpp - Loops with conditions that run together ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of LoopGroups that is for scf.while. Each loop has a condition of
// its own at the end of its first region, and all of a group have to agree: the
// condition of the first task forks the path, and decides those of the others.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/LoopGroups.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Decides for all loops of a group whether they go on: all or none.
Progress LoopGroups::decideWhile(Path &path, const LoopGroup &group) {
  std::optional<bool> goesOn;
  for (unsigned task : group.tasks) {
    Operation *end = path.tasks[task].back().next;
    Expr condition =
        values.get(path, cast<scf::ConditionOp>(end).getCondition());
    if (!conditions.checkUniform(end, condition))
      return Progress::Failed;
    bool own = conditions.decide(path, condition);
    if (context.startsOver())
      return Progress::Failed;
    if (goesOn && own != *goesOn)
      return context.fail(
          end, "the loop of one role may end while the other's goes on");
    goesOn = own;
  }
  LDBG() << "loop group " << group.number
         << (*goesOn ? " begins its next iteration" : " ends");
  SmallVector<Expr> passed = collectPassed(path, group);
  if (!*goesOn) {
    leave(path, group, passed, /*wasEntered=*/true);
    return Progress::Made;
  }
  unsigned next = 0;
  for (auto [task, op] : llvm::zip(group.tasks, group.loops)) {
    auto loop = cast<scf::WhileOp>(op);
    for (Value argument : loop.getAfterArguments())
      values.set(path, argument, passed[next++]);
    path.tasks[task].back().next = &loop.getAfterBody()->front();
  }
  return Progress::Made;
}

Progress LoopGroups::iterateWhile(Path &path, const LoopGroup &group) {
  SmallVector<Expr> passed = collectPassed(path, group);
  if (carried.widen(group, passed) || carried.split(group, passed))
    return Progress::Failed;
  beginIteration(path, group, passed, /*isFirst=*/false);
  return Progress::Iterated;
}
