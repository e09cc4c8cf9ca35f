//===- Prover.cpp - All ways through a schedule ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// More states than any schedule has that is written with some care.
static constexpr unsigned kMaxSteps = 4000000;
static constexpr unsigned kMaxRestarts = 256;

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

std::optional<Finding> Prover::run() {
  for (unsigned i = 0; i < kMaxRestarts; ++i) {
    restart = false;
    finding.reset();
    paths.clear();
    seen.clear();
    visits.clear();
    open.clear();
    hasLost = isWrong = false;
    bool proved = explore();
    if (!restart)
      return proved ? std::nullopt : finding;
  }
  return Finding{program.getKernel(),
                 "no end was found of what its loops carry"};
}

bool Prover::explore() {
  Path first;
  first.tasks.resize(program.getTasks().size());
  first.values.assign(program.getNumValues(), 0);
  first.state = rules.getInitial();
  const Task &kernel = program.getTasks().front();
  first.tasks[0].push_back({kernel.op, &kernel.body->front()});
  paths.push_back(std::move(first));
  while (!restart && !(paths.empty() && open.empty())) {
    Path path = takePath();
    if (advance(path) == Progress::Failed)
      return false;
  }
  return true;
}

/// The next path: those that come to a visit before those that go on from one.
Prover::Path Prover::takePath() {
  Path path;
  if (!paths.empty()) {
    path = std::move(paths.back());
    paths.pop_back();
  } else {
    path = *std::exchange(visits[open.front()].path, std::nullopt);
    open.pop_front();
  }
  return path;
}

Prover::Progress Prover::fail(Operation *op, const Twine &text) {
  if (!finding)
    finding = Finding{op, text.str()};
  return Progress::Failed;
}

Prover::Progress Prover::advance(Path &path) {
  for (;;) {
    bool made = false;
    for (unsigned task : order) {
      Progress progress = advanceTask(path, task);
      while (progress == Progress::Made || progress == Progress::None) {
        made |= progress == Progress::Made;
        progress = advanceAlone(path, task);
        if (progress == Progress::None)
          break;
        if (progress == Progress::Made)
          progress = advanceTask(path, task);
      }
      if (progress == Progress::Failed || progress == Progress::Ended ||
          restart)
        return progress;
    }
    if (made)
      continue;
    Progress progress = meet(path);
    if (progress != Progress::Made)
      return progress;
  }
}

/// Takes a task on to the next turn of a loop that no other task is linked to.
Prover::Progress Prover::advanceAlone(Path &path, unsigned task) {
  if (restart || path.tasks[task].empty())
    return Progress::None;
  int group = path.tasks[task].back().group;
  if (group >= 0 && groups[group].tasks.size() == 1) {
    Progress progress = turnLoops(path, group);
    if (progress != Progress::None)
      return progress;
  }
  if (!isParked(path, task) || program.isLinked(path.tasks[task].back().next))
    return Progress::None;
  std::optional<Group> found = findGroup(path, task);
  if (!found || found->tasks.size() > 1)
    return Progress::None;
  return enter(path, getGroup(std::move(*found)));
}

/// All tasks have gone as far as each can alone.
Prover::Progress Prover::meet(Path &path) {
  if (llvm::all_of(path.tasks, [](auto &frames) { return frames.empty(); })) {
    Finding end;
    if (rules.finish(path.state, end))
      return Progress::Ended;
    finding = end;
    isWrong = true;
    return Progress::Failed;
  }
  for (auto &frames : path.tasks) {
    if (frames.empty() || frames.back().group < 0)
      continue;
    Progress progress = turnLoops(path, frames.back().group);
    if (progress != Progress::None)
      return progress;
  }
  Progress entered = enterLoops(path);
  if (entered != Progress::None)
    return entered;
  // What is said in the end is how it began.
  if (!hasPeeled(path))
    path.stuck = describeStuck(path);
  Progress peeled = peelTurns(path);
  if (peeled == Progress::None) {
    finding = path.stuck;
    return Progress::Failed;
  }
  return peeled;
}

/// Where the tasks stand that cannot go on.
Finding Prover::describeStuck(const Path &path) const {
  Finding stuck;
  for (auto [i, frames] : llvm::enumerate(path.tasks)) {
    if (frames.empty() || isa_and_present<SpecializeOp>(frames.back().next))
      continue;
    Operation *op = frames.back().next ? frames.back().next : frames.back().op;
    std::string text = program.getTasks()[i].name;
    Finding own;
    if (rules.isEvent(op)) {
      State copy = path.state;
      SmallVector<int64_t> inputs;
      for (Value input : rules.getInputs(op))
        inputs.push_back(table.getConstantValue(get(path, input)).value_or(0));
      if (rules.step(copy, i, op, inputs, own) == Outcome::Blocked)
        text += " " + own.text;
    } else {
      text += " is at '" + op->getName().getStringRef().str() + "'";
    }
    if (!stuck.op)
      stuck = {op, text};
    else if (!stuck.other)
      stuck = {stuck.op, stuck.text, op, text};
  }
  stuck.text = "no order of the roles' events was found in which all go on: " +
               stuck.text;
  return stuck;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Prover::Progress Prover::advanceTask(Path &path, unsigned task) {
  bool made = false;
  if (numStates > kMaxStates || ++numSteps > kMaxSteps)
    return fail(program.getKernel(),
                "its loops and conditions have too many states");
  for (;;) {
    auto &frames = path.tasks[task];
    if (frames.empty())
      return made ? Progress::Made : Progress::None;
    Operation *op = frames.back().next;
    if (!op) { // The end of a role.
      frames.pop_back();
      made = true;
      continue;
    }
    Progress progress = perform(path, task, op);
    if (progress == Progress::Failed || restart)
      return progress;
    if (progress == Progress::None)
      return made ? Progress::Made : Progress::None;
    made = true;
  }
}

/// Does the next operation of a task: `None` if the task has to wait there.
Prover::Progress Prover::perform(Path &path, unsigned task, Operation *op) {
  auto &frames = path.tasks[task];
  auto goOn = [&] {
    path.tasks[task].back().next = op->getNextNode();
    return Progress::Made;
  };
  if (isa<gpu::ReturnOp>(op)) {
    frames.pop_back();
    return Progress::Made;
  }
  if (!program.matters(op))
    return goOn();
  if (isa<SpecializeOp>(op)) {
    if (!path.rolesBegun) {
      path.rolesBegun = true;
      for (unsigned i = 1; i < path.tasks.size(); ++i) {
        const Task &role = program.getTasks()[i];
        Block &body = *role.body;
        path.tasks[i].push_back(
            {role.op, body.empty() ? nullptr : &body.front()});
      }
      return Progress::Made;
    }
    for (unsigned i = 1; i < path.tasks.size(); ++i)
      if (!path.tasks[i].empty())
        return Progress::None;
    return goOn();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Expr condition = get(path, branch.getCondition());
    if (!checkUniform(op, condition))
      return Progress::Failed;
    bool holds = decide(path, condition);
    if (restart)
      return Progress::Failed;
    mlir::Region &region =
        holds ? branch.getThenRegion() : branch.getElseRegion();
    if (region.empty())
      return goOn();
    path.tasks[task].push_back({op, &region.front().front()});
    return Progress::Made;
  }
  if (op->hasTrait<OpTrait::IsTerminator>() &&
      isa<scf::IfOp>(frames.back().op)) {
    leaveBranch(path, task);
    return Progress::Made;
  }
  if (frames.back().group == kPeeled && isa<scf::YieldOp>(op)) {
    endPeeledTurn(path, task);
    return Progress::Made;
  }
  if (isa<scf::ForOp, scf::WhileOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return Progress::None; // Done by all loops of a group.
  if (rules.isEvent(op)) {
    SmallVector<int64_t> inputs;
    for (Value input : rules.getInputs(op)) {
      std::optional<int64_t> value = table.getConstantValue(get(path, input));
      if (!value)
        return fail(op, "the slot or phase that it uses is not computed by "
                        "counting transactions from the start");
      inputs.push_back(*value);
    }
    Finding wrong;
    switch (rules.step(path.state, task, op, inputs, wrong)) {
    case Outcome::Blocked:
      if (mayWait)
        return Progress::None;
      waiting = task;
      finding = wrong;
      return Progress::Failed;
    case Outcome::Wrong:
      finding = wrong;
      isWrong = true;
      return Progress::Failed;
    case Outcome::Done:
      break;
    }
  }
  if (evaluate(path, task, op) == Progress::Failed)
    return Progress::Failed;
  return goOn();
}

void Prover::leaveBranch(Path &path, unsigned task) {
  Frame frame = path.tasks[task].pop_back_val();
  SmallVector<Expr> yielded = getOperands(path, frame.next->getOperands());
  for (unsigned number : program.getInnerValues(frame.op))
    path.values[number] = 0;
  for (auto [result, expr] : llvm::zip(frame.op->getResults(), yielded))
    set(path, result, expr);
  path.tasks[task].back().next = frame.op->getNextNode();
}

/// All threads that execute `op` have to come to the same decision.
bool Prover::checkUniform(Operation *op, Expr condition) {
  if (!table.mentions(condition, getThreadVariable()))
    return true;
  fail(op,
       "threads of a role may decide differently here, but transactions are "
       "made by all of them");
  finding->isCertain = true;
  return false;
}
