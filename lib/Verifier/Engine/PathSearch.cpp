//===- PathSearch.cpp - A search through all paths ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Explicit-state model checking (Holzmann, "The model checker SPIN", 1997) of a
// program with symbolic data. A worklist holds the paths yet to follow. A path
// is followed until it ends, fails, or comes to a state that was seen before:
// states are compared at the end of loop iterations, where every path that does
// not end comes by.
//
// Tasks run in a fixed order, each as far as it can go alone. That is a
// partial-order reduction (Godefroid, "Partial-Order Methods for the
// Verification of Concurrent Systems", 1996) with one order for all: events of
// different tasks commute, and no event of a task makes another task wait that
// could go on. docs/verifier-proof.md has the proof.
//
// Where happens-before knowledge is joined, all paths that differ in knowledge
// only share a join point. It keeps the intersection of their knowledge, and
// one path continues with it. If a later path lowers the intersection, another
// path continues from there: a fixpoint iteration over a finite lattice of bit
// sets.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/PathSearch.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Path PathSearch::getFirstPath() const {
  Path first;
  first.tasks.resize(context.program.getTasks().size());
  first.values.assign(context.program.getNumValues(), 0);
  first.state = context.rules.getInitial();
  const Task &kernel = context.program.getTasks().front();
  first.tasks[0].push_back({kernel.op, &kernel.body->front()});
  return first;
}

bool PathSearch::run() {
  context.begin();
  context.fork(getFirstPath());
  while (!context.startsOver() && (context.hasForks() || !open.empty())) {
    Path path = takePath();
    if (std::exchange(path.hasLeftLoop, false) &&
        visit(path) == Progress::Ended)
      continue;
    if (advance(path) == Progress::Failed)
      return false;
  }
  return true;
}

/// Prefers paths that have yet to come to a join point: more of them may then
/// join before one goes on.
Path PathSearch::takePath() {
  if (context.hasForks())
    return context.takeFork();
  Path path = *std::exchange(joinPoints[open.front()].path, std::nullopt);
  open.pop_front();
  return path;
}

//===----------------------------------------------------------------------===//
// One path
//===----------------------------------------------------------------------===//

/// Follows `path` until it ends or fails.
Progress PathSearch::advance(Path &path) {
  for (;;) {
    bool made = false;
    for (unsigned task : order) {
      Progress progress = advanceTask(path, task);
      if (progress == Progress::Failed || progress == Progress::Ended ||
          context.startsOver())
        return progress;
      made |= progress == Progress::Made;
    }
    if (made)
      continue;
    Progress progress = advanceTogether(path);
    if (progress != Progress::Made)
      return progress;
  }
}

/// Runs a task, with the loops that no other task takes part in; `None` if it
/// has performed no operation.
Progress PathSearch::advanceTask(Path &path, unsigned task) {
  bool made = false;
  for (;;) {
    Progress progress = machine.advance(path, task);
    if (progress == Progress::Failed || progress == Progress::Ended ||
        context.startsOver())
      return progress;
    made |= progress == Progress::Made;
    progress = endIteration(path, loops.advanceAlone(path, task));
    if (progress == Progress::None)
      return made ? Progress::Made : Progress::None;
    if (progress != Progress::Made || context.startsOver())
      return progress;
  }
}

/// Makes a step of several tasks, where no task can go on alone.
Progress PathSearch::advanceTogether(Path &path) {
  if (llvm::all_of(path.tasks, [](auto &frames) { return frames.empty(); })) {
    Finding end;
    return context.rules.finish(path.state, end)
               ? Progress::Ended
               : context.failByRule(std::move(end));
  }
  Progress progress = endIteration(path, loops.advanceTogether(path));
  if (progress != Progress::None)
    return progress;
  // A deadlock is reported as it was before peeling tried to resolve it.
  if (!path.hasPeeled() || !path.stuck.op)
    path.stuck = describeStuck(path);
  LDBG() << "no task can go on alone: " << path.stuck.text;
  if (Progress peeled = peel(path); peeled != Progress::None)
    return peeled;
  if (Progress alone = endIteration(path, loops.enterAlone(path));
      alone != Progress::None)
    return alone;
  if (path.peeledFrom.empty())
    return context.fail(path.stuck);
  // The path itself cannot go back: states that it has visited since are not
  // proved, but would end it, and have ended others.
  LDBG() << "start over without iterations that were peeled";
  peeling.giveUp(path.peeledFrom);
  context.startOver();
  return Progress::Failed;
}

/// Peels an iteration, unless that was given up here: then loops may run
/// together.
Progress PathSearch::peel(Path &path) {
  std::vector<Operation *> places = path.peeledFrom;
  if (places.empty() && path.triesPeeling) {
    places = path.getPlaces();
    if (peeling.isGivenUp(places)) {
      path.triesPeeling = false;
      return Progress::Made;
    }
  }
  Progress peeled = peeling.peel(path);
  if (peeled != Progress::None)
    path.peeledFrom = std::move(places);
  return peeled;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Compares the path with others if `progress` is the end of an iteration, or
/// if the path has left a loop. Without the latter, paths through a sequence of
/// loops multiply: those that skip a loop and those that leave it after one
/// iteration have not been compared yet.
Progress PathSearch::endIteration(Path &path, Progress progress) {
  bool hasLeftLoop = std::exchange(path.hasLeftLoop, false);
  if (progress == Progress::Iterated)
    return context.countState(path) ? visit(path) : context.giveUp();
  if (!hasLeftLoop || progress != Progress::Made)
    return progress;
  return context.countComparison(path) ? visit(path) : context.giveUp();
}

/// Ends a path whose state was visited before by another one. Where knowledge
/// is joined, the path ends here in any case; one path goes on later, after
/// more paths may have joined.
Progress PathSearch::visit(Path &path) {
  auto [it, isNew] = seen.try_emplace(key.get(path), seen.size());
  LDBG() << "state " << it->second << (isNew ? ":" : ", seen before");
  LLVM_DEBUG(if (isNew) path.print(context.program, context.rules,
                                   context.table, llvm::dbgs()));
  if (!isNew)
    context.countJoin();
  if (!joinsKnowledge)
    return isNew ? Progress::Made : Progress::Ended;
  if (isNew)
    joinPoints.emplace_back();
  JoinPoint &point = joinPoints[it->second];
  if (!isNew && !join(path.state, point.known))
    return Progress::Ended;
  if (isNew)
    for (unsigned word : context.rules.getKnowledge())
      point.known.push_back(path.state[word]);
  if (!point.path)
    open.push_back(it->second);
  point.path = std::move(path);
  return Progress::Ended;
}

/// Sets the knowledge in `state` and `known` to the intersection of both;
/// returns whether that removes anything from `known`.
bool PathSearch::join(State &state, State &known) {
  bool isLess = false, isReal = true;
  for (auto [before, word] : llvm::zip(known, context.rules.getKnowledge())) {
    int64_t both = before & state[word];
    isLess |= both != before;
    isReal &= both == state[word];
    before = state[word] = both;
  }
  hasLost |= isLess && !isReal;
  if (isLess)
    LDBG() << "paths join, with less knowledge than before";
  return isLess;
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// Names the operation at which a task stands, and the reason why it waits.
std::string PathSearch::describeTask(const Path &path, unsigned task,
                                     Operation *op) const {
  const std::string &name = context.program.getTasks()[task].name;
  if (!context.rules.isEvent(op))
    return name + " is at '" + op->getName().getStringRef().str() + "'";
  State copy = path.state;
  SmallVector<int64_t> inputs;
  for (Value input : context.rules.getInputs(op))
    inputs.push_back(
        context.table.getConstantValue(values.get(path, input)).value_or(0));
  Finding finding;
  bool isBlocked =
      context.rules.step(copy, task, op, inputs, finding) == Outcome::Blocked;
  return isBlocked ? name + " waits for " + finding.text : name;
}

/// Describes a deadlock by the first two tasks that cannot go on.
Finding PathSearch::describeStuck(const Path &path) const {
  Finding stuck;
  for (auto [task, frames] : llvm::enumerate(path.tasks)) {
    if (frames.empty() || isa_and_present<SpecializeOp>(frames.back().next))
      continue;
    Operation *op = frames.back().next ? frames.back().next : frames.back().op;
    std::string text = describeTask(path, task, op);
    if (!stuck.op)
      stuck = {op, text};
    else if (!stuck.other)
      stuck = {stuck.op, stuck.text, op, text};
  }
  stuck.text =
      "the proof found no order of events in which all roles finish: " +
      stuck.text;
  return stuck;
}
