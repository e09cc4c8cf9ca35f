//===- TaskMachine.cpp - Steps of one task --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An interpreter of structured control flow with an explicit stack of frames.
// Operations that are not in the slice are skipped. Events go to the rules with
// the constants that their slots and phases are on this path; scalars go to the
// evaluator; conditions of branches are decided. Loops are left to others, as
// several tasks may have to enter them together, except for the end of a peeled
// iteration.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/TaskMachine.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Progress TaskMachine::advance(Path &path, unsigned task) {
  bool made = false;
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
    if (progress == Progress::Failed || progress == Progress::Ended ||
        context.startsOver())
      return progress;
    if (progress == Progress::None)
      return made ? Progress::Made : Progress::None;
    made = true;
  }
}

/// Performs the next operation of a task; `None` if the task has to wait there.
Progress TaskMachine::perform(Path &path, unsigned task, Operation *op) {
  if (!context.begin(op))
    return context.giveUp();
  auto &frames = path.tasks[task];
  if (isa<gpu::ReturnOp>(op)) {
    frames.pop_back();
    return Progress::Made;
  }
  if (op == &op->getBlock()->front() && !requireSteps(path, op->getBlock()))
    return Progress::Ended;
  if (!context.program.matters(op)) {
    frames.back().next = op->getNextNode();
    return Progress::Made;
  }
  if (isa<SpecializeOp>(op))
    return specialize(path, op);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return enterBranch(path, task, branch);
  bool isTerminator = op->hasTrait<OpTrait::IsTerminator>();
  if (isTerminator && isa<scf::IfOp>(frames.back().op)) {
    leaveBranch(path, task);
    return Progress::Made;
  }
  if (frames.back().group == TaskFrame::kPeeled && isa<scf::YieldOp>(op)) {
    peeling.endIteration(path, task);
    return Progress::Made;
  }
  if (isTerminator || isa<scf::ForOp, scf::WhileOp>(op))
    return Progress::None; // LoopGroups runs the loops of a group together.
  if (Value condition = getAsserted(op))
    return require(path, task, condition);
  if (context.rules.isEvent(op))
    if (Progress progress = performEvent(path, task, op);
        progress != Progress::Made)
      return progress;
  if (!evaluator.evaluate(path, op))
    return Progress::Failed;
  // A decision may have replaced the path by its fork, and so the frames.
  path.tasks[task].back().next = op->getNextNode();
  return Progress::Made;
}

/// Adds that the steps of the loops in a block are positive; false if the path
/// contradicts it.
bool TaskMachine::requireSteps(Path &path, Block *block) {
  return llvm::all_of(context.program.getSteps(block), [&](Value step) {
    Expr sum = values.get(path, step);
    return context.table.mentions(sum, values.getThread()) ||
           conditions.require(path, context.table.getPositive(sum));
  });
}

/// Goes on where an assertion holds. A path on which it fails ends: the kernel
/// stops there.
Progress TaskMachine::require(Path &path, unsigned task, Value condition) {
  auto &frames = path.tasks[task];
  frames.back().next = frames.back().next->getNextNode();
  Expr asserted = getInterpreted(context.table, values.get(path, condition));
  // What holds for a thread may be about another number in the next one.
  if (context.table.mentions(asserted, values.getThread()))
    return Progress::Made;
  return conditions.require(path, asserted) ? Progress::Made : Progress::Ended;
}

Progress TaskMachine::performEvent(Path &path, unsigned task, Operation *op) {
  SmallVector<int64_t> inputs;
  for (Value input : context.rules.getInputs(op)) {
    std::optional<int64_t> value =
        context.table.getConstantValue(values.get(path, input));
    if (!value)
      return context.fail(op, "the slot or phase is not computed by counting "
                              "transactions from the start");
    inputs.push_back(*value);
  }
  LDBG() << context.program.getTasks()[task].name << ": "
         << context.rules.describe(op, inputs);
  Finding finding;
  switch (context.rules.step(path.state, task, op, inputs, finding)) {
  case Outcome::Done:
    return Progress::Made;
  case Outcome::Blocked:
    LDBG() << context.program.getTasks()[task].name << " must wait";
    if (mayWait)
      return Progress::None;
    waiting = task;
    return context.fail(std::move(finding));
  case Outcome::Wrong:
    return context.failByRule(std::move(finding));
  }
  llvm_unreachable("all outcomes are handled");
}

/// Starts the roles; task 0 goes on after all of them have ended.
Progress TaskMachine::specialize(Path &path, Operation *op) {
  ArrayRef<Task> tasks = context.program.getTasks();
  if (!path.rolesBegun) {
    LDBG() << "the roles begin";
    path.rolesBegun = true;
    for (unsigned i = 1; i < tasks.size(); ++i) {
      Block &body = *tasks[i].body;
      path.tasks[i].push_back(
          {tasks[i].op, body.empty() ? nullptr : &body.front()});
    }
    return Progress::Made;
  }
  for (unsigned i = 1; i < tasks.size(); ++i)
    if (!path.tasks[i].empty())
      return Progress::None;
  path.tasks[0].back().next = op->getNextNode();
  return Progress::Made;
}

Progress TaskMachine::enterBranch(Path &path, unsigned task, scf::IfOp branch) {
  Expr condition = values.get(path, branch.getCondition());
  if (!path.facts.decide(context.table, condition)) {
    if (guards.compute(path, branch)) {
      path.tasks[task].back().next = branch->getNextNode();
      return Progress::Made;
    }
    if (!context.startsOver())
      condition = guards.getWhole(path, branch);
    if (context.startsOver())
      return Progress::Failed;
  }
  if (!conditions.checkUniform(branch, condition))
    return Progress::Failed;
  bool holds = conditions.decide(path, condition);
  if (context.startsOver())
    return Progress::Failed;
  LDBG() << context.program.getTasks()[task].name << " takes the "
         << (holds ? "then" : "else") << " branch at " << branch.getLoc();
  mlir::Region &region =
      holds ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    path.tasks[task].back().next = branch->getNextNode();
  else
    path.tasks[task].push_back({branch, &region.front().front()});
  return Progress::Made;
}

void TaskMachine::leaveBranch(Path &path, unsigned task) {
  TaskFrame frame = path.tasks[task].pop_back_val();
  SmallVector<Expr> yielded = values.getAll(path, frame.next->getOperands());
  values.clearInner(path, frame.op);
  for (auto [result, expr] : llvm::zip(frame.op->getResults(), yielded))
    values.set(path, result, expr);
  path.tasks[task].back().next = frame.op->getNextNode();
}
