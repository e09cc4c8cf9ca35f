//===- IdleIterations.cpp - Iterations without steps ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index set splitting (Wolfe, "High Performance Compilers for Parallel
// Computing", 1996) on paths, not on IR. All steps of a loop's body are under a
// branch, whose condition is a conjunction. A part of it that compares the
// induction variable with a bound, as `k >= m`, is false up to that bound, if
// it is false in the first iteration. So many iterations are split off.
//
// The number is read from the operations, as a linear form, and its other terms
// have their values on the path. That the guard is false there is not taken
// from this: the iterations are followed, and decide their conditions.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/IdleIterations.h"

#include "Verifier/Symbolic/LinearOffsets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// The most parts of a guard that are looked at.
static constexpr size_t kMostParts = 16;

/// The condition of the one branch that has all steps of a loop, or null. The
/// steps of all units count: each unit is proved for the same order.
Value IdleIterations::getGuard(scf::ForOp loop) const {
  auto hasStep = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return context.rules.isEventOfAny(inner) &&
                         !context.rules.getLinks(inner).empty()
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  scf::IfOp found;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!hasStep(&op))
      continue;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch || found)
      return {};
    found = branch;
  }
  if (!found || llvm::any_of(found.getElseRegion().getOps(),
                             [&](Operation &op) { return hasStep(&op); }))
    return {};
  return found.getCondition();
}

/// The comparisons of which all hold where `condition` does.
static SmallVector<arith::CmpIOp> getComparisons(Value condition) {
  SmallVector<arith::CmpIOp> found;
  SmallVector<Value> todo = {condition};
  for (size_t i = 0; i < todo.size() && i < kMostParts; ++i) {
    Value part = todo[i];
    if (auto cmp = part.getDefiningOp<arith::CmpIOp>())
      found.push_back(cmp);
    else if (auto both = part.getDefiningOp<arith::AndIOp>())
      llvm::append_range(todo, both.getOperands());
  }
  return found;
}

/// In how many first iterations of a loop a comparison is false, if it is false
/// in the first one: n - l iterations from l, if it is `k >= n`. The number is
/// not positive if it is true in the first one. 0 if it does not become true by
/// counting up.
Expr IdleIterations::countFalse(const Path &path, scf::ForOp loop,
                                arith::CmpIOp guard) const {
  using arith::CmpIPredicate;
  ExpressionTable &table = context.table;
  CmpIPredicate predicate = guard.getPredicate();
  bool isLarger =
      predicate == CmpIPredicate::sge || predicate == CmpIPredicate::sgt;
  bool isStrict =
      predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::slt;
  if (!isLarger && predicate != CmpIPredicate::sle &&
      predicate != CmpIPredicate::slt)
    return 0;
  std::optional<LinearOffset> left = getLinearOffset(guard.getLhs());
  std::optional<LinearOffset> right = getLinearOffset(guard.getRhs());
  if (!left || !right)
    return 0;
  // `sum` is `left - right`, or its negation: it has to be positive, or 0 if
  // the comparison is not strict.
  int64_t growth = 0;
  Expr sum = table.getConstant(0);
  for (auto [side, sign] : {std::pair(&*left, isLarger ? 1 : -1),
                            std::pair(&*right, isLarger ? -1 : 1)}) {
    sum = table.addConstant(sum, sign * side->constant);
    for (auto [root, factor] : side->terms) {
      if (root == loop.getInductionVar())
        growth += sign * factor;
      else if (loop.isDefinedOutsideOfLoop(root) && !getCountedLoop(root))
        sum = table.add(sum, values.get(path, root), sign * factor);
      else
        return 0;
    }
  }
  std::optional<int64_t> step =
      table.getConstantValue(values.get(path, loop.getStep()));
  if (!step || growth != *step)
    return 0;
  // The terms count from the lower bound, of which some may have been peeled.
  Expr peeled = table.add(peeling.getLower(path, loop),
                          values.get(path, loop.getLowerBound()), -1);
  sum = table.add(sum, peeled);
  Expr missing = table.addConstant(table.add(table.getConstant(0), sum, -1),
                                   isStrict ? *step : *step - 1);
  return table.getQuotient(missing, *step);
}

std::optional<LoopMatching::PartialMatch>
IdleIterations::findFirst(Path &path, unsigned task) const {
  ExpressionTable &table = context.table;
  auto loop =
      dyn_cast_if_present<scf::ForOp>(path.getLoopAhead(context.program, task));
  Value guard = loop ? getGuard(loop) : Value();
  Expr trips = guard ? peeling.getTrips(path, loop) : 0;
  if (!trips)
    return std::nullopt;
  for (arith::CmpIOp part : getComparisons(guard)) {
    Expr idle = countFalse(path, loop, part);
    if (!idle || !conditions.decide(path, table.getPositive(idle)) ||
        context.startsOver())
      continue;
    idle = path.facts.resolve(table, idle);
    Expr left = table.add(peeling.getTrips(path, loop), idle, -1);
    int64_t step = *table.getConstantValue(values.get(path, loop.getStep()));
    Expr end = table.add(peeling.getLower(path, loop), idle, step);
    if (!beginsWithOther(path, task, end, left) ||
        !conditions.decide(path, table.getPositive(left)))
      continue;
    return LoopMatching::PartialMatch{
        {0, {task}, {loop}, {1}}, idle, {end}, {true}};
  }
  return std::nullopt;
}

/// Whether another task stands before a loop that begins at `lower`, or that
/// has `trips` iterations. Otherwise its guards may exclude these iterations.
bool IdleIterations::beginsWithOther(const Path &path, unsigned task,
                                     Expr lower, Expr trips) const {
  ExpressionTable &table = context.table;
  auto areEqual = [&](Expr a, Expr b) {
    Expr difference = conditions.simplify(path, table.add(a, b, -1));
    return path.facts.decide(table, table.getZero(difference)) == true;
  };
  for (unsigned other = 0; other < path.tasks.size(); ++other) {
    auto loop = dyn_cast_if_present<scf::ForOp>(
        other == task ? nullptr : path.getLoopAhead(context.program, other));
    Expr otherTrips = loop ? peeling.getTrips(path, loop) : 0;
    if (otherTrips && (areEqual(peeling.getLower(path, loop), lower) ||
                       areEqual(otherTrips, trips)))
      return true;
  }
  return false;
}

std::optional<LoopGroup> IdleIterations::findAlone(const Path &path,
                                                   unsigned task) const {
  const TaskProgram &program = context.program;
  Operation *loop = path.getLoopAhead(program, task);
  if (!isa_and_present<scf::ForOp>(loop))
    return std::nullopt;
  for (unsigned other = 0; other < path.tasks.size(); ++other) {
    Operation *ahead =
        other == task ? nullptr : path.getLoopAhead(program, other);
    if (ahead && llvm::any_of(program.getLinks(ahead), [&](unsigned link) {
          return program.getLinks(loop).contains(link);
        }))
      return std::nullopt;
  }
  return LoopGroup{0, {task}, {loop}, {1}};
}
