//===- ProverPeeling.cpp - Turns of loops that tasks run alone ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task may have turns of a loop in front of a shorter loop, as
// `--tile-overlap-products` makes them, while the other tasks have them in the
// loop. Where nothing else goes on, such loops are run for a turn; what is left
// of them may have the same bounds as the shorter one.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Turns that are run alone before no order is said to be found.
static constexpr unsigned kMaxPeeled = 4;

const Prover::Rest *Prover::findRest(const Path &path, Operation *loop) {
  const Rest *rest = llvm::find_if(
      path.rests, [&](const Rest &other) { return other.loop == loop; });
  return rest != path.rests.end() ? rest : nullptr;
}

Expr Prover::getLower(const Path &path, scf::ForOp loop) const {
  const Rest *rest = findRest(path, loop);
  return rest ? rest->lower : get(path, loop.getLowerBound());
}

SmallVector<Expr> Prover::getInits(const Path &path, Operation *loop) const {
  const Rest *rest = findRest(path, loop);
  if (rest)
    return rest->carried;
  auto forOp = dyn_cast<scf::ForOp>(loop);
  return getOperands(path, forOp ? ValueRange(forOp.getInitArgs())
                                 : ValueRange(loop->getOperands()));
}

/// Whether a task has run turns of a loop alone that is not at its end.
bool Prover::hasPeeled(const Path &path) {
  return !path.rests.empty() || llvm::any_of(path.tasks, [](auto &frames) {
    return llvm::any_of(frames,
                        [](auto &frame) { return frame.group == kPeeled; });
  });
}

void Prover::forgetRest(Path &path, Operation *loop) {
  llvm::erase_if(path.rests,
                 [&](const Rest &rest) { return rest.loop == loop; });
}

/// Whether another task stands before a loop that `task` will not catch up with
/// by running turns of its own.
bool Prover::isAhead(const Path &path, unsigned task) const {
  auto loop = cast<scf::ForOp>(path.tasks[task].back().next);
  for (unsigned other = 0; other < path.tasks.size(); ++other) {
    if (other == task || !isParked(path, other))
      continue;
    auto loops = dyn_cast<scf::ForOp>(path.tasks[other].back().next);
    if (!loops ||
        get(path, loops.getUpperBound()) != get(path, loop.getUpperBound()))
      continue;
    std::optional<int64_t> distance = table.getConstantValue(
        table.add(getLower(path, loop), getLower(path, loops), -1));
    if (distance && *distance > 0)
      return true;
  }
  return false;
}

Prover::Progress Prover::peelTurns(Path &path) {
  for (unsigned task = 0; task < path.tasks.size(); ++task) {
    if (!isParked(path, task) ||
        !isa<scf::ForOp>(path.tasks[task].back().next) || isAhead(path, task))
      continue;
    const Rest *rest = findRest(path, path.tasks[task].back().next);
    if (!rest || rest->turns < kMaxPeeled)
      return peelTurn(path, task);
  }
  return Progress::None;
}

/// Runs a turn of the loop before which `task` stands, if there is one.
Prover::Progress Prover::peelTurn(Path &path, unsigned task) {
  auto loop = cast<scf::ForOp>(path.tasks[task].back().next);
  Expr lower = getLower(path, loop);
  Expr trips = table.add(get(path, loop.getUpperBound()), lower, -1);
  if (!checkUniform(loop, trips))
    return Progress::Failed;
  bool runs = decide(path, table.getPositive(trips));
  if (restart)
    return Progress::Failed;
  SmallVector<Expr> carried = getInits(path, loop);
  if (!runs) {
    forgetRest(path, loop);
    path.tasks[task].back().next = loop->getNextNode();
    for (auto [result, value] : llvm::zip_equal(loop.getResults(), carried))
      set(path, result, value);
    return Progress::Made;
  }
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), carried))
    set(path, argument, value);
  set(path, loop.getInductionVar(), lower);
  path.tasks[task].push_back({loop, &loop.getBody()->front(), kPeeled});
  return Progress::Made;
}

/// Leaves the body of a loop; `task` stands before what is left of it.
void Prover::endPeeledTurn(Path &path, unsigned task) {
  Frame frame = path.tasks[task].pop_back_val();
  auto loop = cast<scf::ForOp>(frame.op);
  const Rest *before = findRest(path, loop);
  Rest rest = {loop, before ? before->turns + 1 : 1,
               table.add(getLower(path, loop), get(path, loop.getStep())),
               getOperands(path, frame.next->getOperands())};
  for (unsigned number : program.getInnerValues(loop))
    path.values[number] = 0;
  forgetRest(path, loop);
  path.rests.push_back(std::move(rest));
  path.tasks[task].back().next = loop;
}
