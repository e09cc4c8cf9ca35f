//===- LoopPeeling.cpp - Iterations that a task runs alone ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loop peeling (Bacon, Graham and Sharp, "Compiler transformations for
// high-performance computing", 1994) on paths, not on IR. A task may have
// iterations of a loop in front of a shorter loop, as `--tile-overlap-products`
// makes them, while the other tasks have them in the loop. Where all tasks
// stand before loops and no group of them has the same bounds, the loop of a
// task that is not ahead of the others runs for an iteration. What is left of
// it may have the same bounds as the shorter one; after `kMaxPeeled` iterations
// this is given up.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/LoopPeeling.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// The most iterations of a loop that are peeled.
static constexpr unsigned kMaxPeeled = 4;

Expr LoopPeeling::getLower(const Path &path, scf::ForOp loop) const {
  const PeeledLoop *rest = path.findPeeled(loop);
  return rest ? rest->lower : values.get(path, loop.getLowerBound());
}

SmallVector<Expr> LoopPeeling::getInits(const Path &path,
                                        Operation *loop) const {
  const PeeledLoop *rest = path.findPeeled(loop);
  if (rest)
    return rest->carried;
  auto forOp = dyn_cast<scf::ForOp>(loop);
  return values.getAll(path, forOp ? ValueRange(forOp.getInitArgs())
                                   : ValueRange(loop->getOperands()));
}

Expr LoopPeeling::getTrips(const Path &path, scf::ForOp loop) const {
  ExpressionTable &table = context.table;
  std::optional<int64_t> step =
      table.getConstantValue(values.get(path, loop.getStep()));
  if (!step || *step <= 0)
    return 0;
  Expr span = table.add(values.get(path, loop.getUpperBound()),
                        getLower(path, loop), -1);
  return conditions.simplify(
      path, table.getQuotient(table.addConstant(span, *step - 1), *step));
}

bool LoopPeeling::checkBounds(const Path &path, scf::ForOp loop) const {
  for (Expr bound :
       {getLower(path, loop), values.get(path, loop.getUpperBound())})
    if (loop.getUnsignedCmp() &&
        path.facts.getInterval(context.table, bound).low < 0) {
      context.fail(loop,
                   "the loop compares without sign, and its bounds may be "
                   "negative");
      return false;
    }
  return true;
}

/// Whether another task stands before a loop that has more iterations, by a
/// constant: then peeling has to bring that one here.
bool LoopPeeling::isAhead(const Path &path, unsigned task) const {
  auto loop = cast<scf::ForOp>(path.tasks[task].back().next);
  Expr trips = getTrips(path, loop);
  for (unsigned other = 0; other < path.tasks.size(); ++other) {
    if (other == task)
      continue;
    auto otherLoop = dyn_cast_if_present<scf::ForOp>(
        path.getLoopAhead(context.program, other));
    Expr otherTrips = otherLoop ? getTrips(path, otherLoop) : 0;
    if (!trips || !otherTrips)
      continue;
    std::optional<int64_t> more = context.table.getConstantValue(
        context.table.add(otherTrips, trips, -1));
    if (more && *more > 0)
      return true;
  }
  return false;
}

Progress LoopPeeling::peel(Path &path) {
  for (unsigned task = 0; task < path.tasks.size(); ++task) {
    Operation *loop = path.getLoopAhead(context.program, task);
    if (!isa_and_present<scf::ForOp>(loop) || isAhead(path, task))
      continue;
    const PeeledLoop *rest = path.findPeeled(loop);
    if (!rest || rest->iterations < kMaxPeeled)
      return beginIteration(path, task);
  }
  return Progress::None;
}

/// Runs an iteration of the loop before which `task` stands, if there is one.
Progress LoopPeeling::beginIteration(Path &path, unsigned task) {
  auto loop = cast<scf::ForOp>(path.tasks[task].back().next);
  LDBG() << context.program.getTasks()[task].name
         << ": an iteration is peeled at " << loop.getLoc();
  Expr lower = getLower(path, loop);
  Expr trips = context.table.add(values.get(path, loop.getUpperBound()), lower,
                                 /*factor=*/-1);
  if (!conditions.checkUniform(loop, trips) || !checkBounds(path, loop))
    return Progress::Failed;
  bool runs = conditions.decide(path, context.table.getPositive(trips));
  if (context.startsOver())
    return Progress::Failed;
  SmallVector<Expr> carried = getInits(path, loop);
  if (!runs) {
    path.forgetPeeled(loop);
    path.tasks[task].back().next = loop->getNextNode();
    for (auto [result, value] : llvm::zip_equal(loop.getResults(), carried))
      values.set(path, result, value);
    return Progress::Made;
  }
  if (!path.findPeeled(loop))
    context.rules.enterLoop(path.state, loop);
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), carried))
    values.set(path, argument, value);
  values.set(path, loop.getInductionVar(), lower);
  path.tasks[task].push_back(
      {loop, &loop.getBody()->front(), TaskFrame::kPeeled});
  return Progress::Made;
}

void LoopPeeling::endIteration(Path &path, unsigned task) {
  TaskFrame frame = path.tasks[task].pop_back_val();
  auto loop = cast<scf::ForOp>(frame.op);
  const PeeledLoop *before = path.findPeeled(loop);
  PeeledLoop rest = {
      loop, before ? before->iterations + 1 : 1,
      context.table.add(getLower(path, loop), values.get(path, loop.getStep())),
      values.getAll(path, frame.next->getOperands())};
  values.clearInner(path, loop);
  path.forgetPeeled(loop);
  path.peeled.push_back(std::move(rest));
  path.tasks[task].back().next = loop;
}
