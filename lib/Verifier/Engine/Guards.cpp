//===- Guards.cpp - Branches whose conditions are taken together ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If-conversion (Allen et al., "Conversion of control dependence to data
// dependence", 1983) of two kinds of branches. One computes flags from elements
// of memory, as `or` and `and` of the frontend do: its results are expressions
// of both sides. The other does nothing but another branch, and yields the same
// wherever one of the two is not taken: both are one branch.
//
// The operations between two branches are evaluated before it is known whether
// they are executed. They have no effect, and their values are forgotten.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Guards.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Whether `op` computes scalars and does nothing else.
bool Guards::isScalar(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return onlyComputes(branch);
  return op->getNumRegions() == 0 && !context.rules.isEvent(op) &&
         (isMemoryEffectFree(op) || context.program.getEpoch(op));
}

/// Whether `branch` computes flags and does nothing else.
bool Guards::findOnlyComputes(scf::IfOp branch) {
  const TaskProgram &program = context.program;
  bool areFlags = llvm::all_of(branch.getResults(), [&](Value result) {
    return program.getNumber(result) < 0 || result.getType().isInteger(1);
  });
  return areFlags &&
         llvm::all_of(branch->getRegions(), [&](mlir::Region &region) {
           return region.empty() ||
                  llvm::all_of(region.front().without_terminator(),
                               [&](Operation &op) {
                                 return !program.matters(&op) || isScalar(&op);
                               });
         });
}

/// Remembers the answers: each visit to a nest of branches asks for all of
/// them.
bool Guards::onlyComputes(scf::IfOp branch) {
  auto known = computingBranches.find(branch);
  if (known != computingBranches.end())
    return known->second;
  bool result = findOnlyComputes(branch);
  computingBranches.insert({branch, result});
  return result;
}

bool Guards::evaluate(Path &path, Operation *op) {
  if (!context.program.matters(op))
    return true;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return compute(path, branch);
  return evaluator.evaluate(path, op);
}

bool Guards::compute(Path &path, scf::IfOp branch) {
  if (branch->getNumResults() == 0 || !onlyComputes(branch))
    return false;
  ExpressionTable &table = context.table;
  Expr condition = values.get(path, branch.getCondition());
  SmallVector<Expr> then, otherwise;
  for (mlir::Region *region : branch.getRegions()) {
    for (Operation &op : region->front().without_terminator())
      if (!evaluate(path, &op))
        return false;
    (then.empty() ? then : otherwise) =
        values.getAll(path, region->front().getTerminator()->getOperands());
  }
  values.clearInner(path, branch);
  for (auto [result, a, b] : llvm::zip(branch.getResults(), then, otherwise))
    if (context.program.getNumber(result) >= 0)
      values.set(
          path, result,
          table.getBoth(table.getConjunction({condition, a}),
                        table.getConjunction({table.getNot(condition), b}),
                        /*isAnd=*/false));
  return true;
}

/// Whether leaving out `op` leaves the state as it is, or with less knowledge.
/// That of a commit might merge two fills of a buffer.
static bool onlyAddsKnowledge(const Rules &rules, Operation *op) {
  return isa<BarrierOp, gpu::BarrierOp, CopyGroupWaitOp, ProxyFenceOp, WaitOp>(
             op) &&
         rules.getInputs(op).empty();
}

/// The one branch in `branch` that does anything, if it yields the same as
/// `branch` wherever it is not taken.
scf::IfOp Guards::findInner(scf::IfOp branch) {
  const TaskProgram &program = context.program;
  auto matters = [&](Operation &op) { return program.matters(&op); };
  auto isEmpty = [&](scf::IfOp op) {
    return op.getElseRegion().empty() ||
           llvm::none_of(op.elseBlock()->without_terminator(), matters);
  };
  scf::IfOp inner;
  for (Operation &op : branch.thenBlock()->without_terminator()) {
    if (!matters(op) || (isScalar(&op) && !inner))
      continue;
    if (isLean && context.rules.isEvent(&op) &&
        onlyAddsKnowledge(context.rules, &op))
      continue;
    if (inner || !isa<scf::IfOp>(op))
      return {};
    inner = cast<scf::IfOp>(op);
  }
  if (!inner || !isEmpty(branch) || !isEmpty(inner))
    return {};
  for (OpResult result : branch.getResults()) {
    if (program.getNumber(result) < 0)
      continue;
    unsigned number = result.getResultNumber();
    Value yielded = branch.thenYield().getOperand(number);
    if (yielded.getDefiningOp() == inner)
      yielded = inner.elseYield().getOperand(
          cast<OpResult>(yielded).getResultNumber());
    if (yielded != branch.elseYield().getOperand(number))
      return {};
  }
  return inner;
}

scf::IfOp Guards::getInner(scf::IfOp branch) {
  auto [it, isNew] = innerBranches.try_emplace(branch);
  if (isNew)
    it->second = findInner(branch);
  return it->second;
}

/// Whether `condition` may be decided together with others. All threads must
/// take the same side of each branch, even where the other conditions hide it.
bool Guards::mayJoin(Expr condition) const {
  return isFlag(context.table, condition) &&
         !context.table.mentions(condition, values.getThread());
}

Expr Guards::getWhole(Path &path, scf::IfOp branch) {
  Expr condition = values.get(path, branch.getCondition());
  if (!context.mayJoinGuards() || !mayJoin(condition))
    return condition;
  scf::IfOp inner = getInner(branch);
  if (!inner)
    return condition;
  for (Operation &op : *inner->getBlock()) {
    if (&op == inner)
      break;
    if (isScalar(&op) && !evaluate(path, &op))
      return condition;
  }
  Expr other = getWhole(path, inner);
  values.clearInner(path, branch);
  if (!mayJoin(other))
    return condition;
  context.joinGuards();
  return context.table.getConjunction({condition, other});
}
