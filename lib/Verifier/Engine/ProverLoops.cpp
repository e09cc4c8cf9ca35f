//===- ProverLoops.cpp - Loops of tasks, turn by turn ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// So many turns are few.
static constexpr int64_t kMostTurns = 16;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether a task stands before a loop.
bool Prover::isParked(const Path &path, unsigned task) const {
  const auto &frames = path.tasks[task];
  return !frames.empty() && frames.back().next &&
         isa<scf::ForOp, scf::WhileOp>(frames.back().next) &&
         program.matters(frames.back().next);
}

bool Prover::haveSameBounds(const Path &path, Operation *a,
                            Operation *b) const {
  auto x = dyn_cast<scf::ForOp>(a), y = dyn_cast<scf::ForOp>(b);
  if (!x || !y)
    return !x && !y;
  return getLower(path, x) == getLower(path, y) &&
         get(path, x.getUpperBound()) == get(path, y.getUpperBound()) &&
         get(path, x.getStep()) == get(path, y.getStep());
}

/// The loops that run together with the one before which `task` stands: those
/// of all tasks at the other ends of links in it. None if not all are there.
std::optional<Prover::Group> Prover::findGroup(const Path &path,
                                               unsigned task) const {
  llvm::SmallSet<unsigned, 4> members;
  members.insert(task);
  SmallVector<unsigned> todo = {task};
  Operation *first = path.tasks[task].back().next;
  while (!todo.empty()) {
    unsigned member = todo.pop_back_val();
    Operation *loop = path.tasks[member].back().next;
    for (unsigned link : program.getLinks(loop))
      for (unsigned other = 0; other < path.tasks.size(); ++other) {
        Operation *op = program.getTasks()[other].op;
        if (other == member || op == program.getKernel() ||
            !program.getLinks(op).contains(link))
          continue;
        if (!isParked(path, other) ||
            !program.getLinks(path.tasks[other].back().next).contains(link) ||
            !haveSameBounds(path, first, path.tasks[other].back().next))
          return std::nullopt;
        if (members.insert(other).second)
          todo.push_back(other);
      }
  }
  Group group;
  for (unsigned member = 0; member < path.tasks.size(); ++member)
    if (members.contains(member)) {
      group.tasks.push_back(member);
      group.loops.push_back(path.tasks[member].back().next);
    }
  return group;
}

int Prover::getGroup(Group group) {
  std::vector<Operation *> key(group.loops.begin(), group.loops.end());
  auto [it, isNew] = groupNumbers.try_emplace(key, groups.size());
  if (isNew) {
    group.isCounted = isCounted(group);
    group.counter = table.getAtom({5, it->second}, {}, /*isVariable=*/true);
    groups.push_back(std::move(group));
  }
  return it->second;
}

/// A loop that carries nothing, and is linked to no other, does the same in all
/// of its turns: they need not be told apart.
bool Prover::isCounted(const Group &group) const {
  Operation *loop = group.loops.front();
  if (group.loops.size() > 1 || !isa<scf::ForOp>(loop) ||
      !program.getLinks(loop).empty())
    return true;
  if (llvm::any_of(getCarried(group),
                   [&](Value value) { return program.getNumber(value) >= 0; }))
    return true;
  // Groups of copies age by number.
  return loop->walk([](CommitGroupOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether a loop has constant bounds, close to each other.
bool Prover::hasFewTurns(const Path &path, scf::ForOp loop) const {
  Expr lower = getLower(path, loop);
  Expr span = table.add(get(path, loop.getUpperBound()), lower, -1);
  std::optional<int64_t> length = table.getConstantValue(span),
                         step =
                             table.getConstantValue(get(path, loop.getStep()));
  return table.getConstantValue(lower) && length && step &&
         *length <= kMostTurns * *step;
}

//===----------------------------------------------------------------------===//
// Entering loops
//===----------------------------------------------------------------------===//

Prover::Progress Prover::enterLoops(Path &path) {
  for (unsigned task = 0; task < path.tasks.size(); ++task) {
    if (!isParked(path, task))
      continue;
    std::optional<Group> group = findGroup(path, task);
    if (!group)
      continue;
    return enter(path, getGroup(std::move(*group)));
  }
  return Progress::None;
}

Prover::Progress Prover::enter(Path &path, int number) {
  Group &group = groups[number];
  SmallVector<Expr> inits;
  for (Operation *loop : group.loops)
    llvm::append_range(inits, getInits(path, loop));
  if (widen(group, inits))
    return Progress::Failed;
  auto loop = dyn_cast<scf::ForOp>(group.loops.front());
  if (!loop) {
    if (splitClasses(group, inits))
      return Progress::Failed;
    beginTurn(path, number, inits, /*isFirst=*/true);
    return Progress::Made;
  }
  Expr lower = getLower(path, loop);
  Expr upper = get(path, loop.getUpperBound());
  Expr trips = table.add(upper, lower, -1);
  if (!checkUniform(loop, trips))
    return Progress::Failed;
  bool runs = decide(path, table.getPositive(trips));
  if (restart)
    return Progress::Failed;
  if (!runs) {
    endLoops(path, number, inits, /*wasEntered=*/false);
    return Progress::Made;
  }
  if (splitClasses(group, inits))
    return Progress::Failed;
  group.isShort = divided.count(number) && hasFewTurns(path, loop);
  path.facts.forget(table, group.counter);
  path.facts.enter(table, group.counter, lower, get(path, loop.getStep()),
                   rules.getDepth() + 1, questions[number]);
  beginRemainder(path, number, lower);
  beginTurn(path, number, inits, /*isFirst=*/true);
  return Progress::Made;
}

//===----------------------------------------------------------------------===//
// Next turns
//===----------------------------------------------------------------------===//

/// Takes the loops of a group to their next turn if all tasks have ended the
/// present one.
Prover::Progress Prover::turnLoops(Path &path, int number) {
  const Group &group = groups[number];
  Operation *first = nullptr;
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops)) {
    const auto &frames = path.tasks[task];
    if (frames.empty() || frames.back().group != number ||
        !frames.back().next->hasTrait<OpTrait::IsTerminator>())
      return Progress::None;
    Operation *end = frames.back().next;
    if (first && first->getName() != end->getName())
      return Progress::None;
    first = end;
  }
  if (isa<scf::ForOp>(group.loops.front()))
    return turnFor(path, number);
  return isa<scf::ConditionOp>(first) ? chooseWhile(path, number)
                                      : turnWhile(path, number);
}

/// What the loops of a group pass on at the end of a turn.
SmallVector<Expr> Prover::collect(const Path &path, int number) const {
  SmallVector<Expr> values;
  for (unsigned task : groups[number].tasks) {
    Operation *end = path.tasks[task].back().next;
    unsigned skipped = isa<scf::ConditionOp>(end);
    llvm::append_range(
        values, getOperands(path, end->getOperands().drop_front(skipped)));
  }
  return values;
}

Prover::Progress Prover::turnFor(Path &path, int number) {
  Group &group = groups[number];
  auto loop = cast<scf::ForOp>(group.loops.front());
  Expr counter = table.getInteger(group.counter);
  Expr step = get(path, loop.getStep());
  Expr left = table.add(get(path, loop.getUpperBound()), counter, -1);
  bool goesOn = !group.isCounted ||
                decide(path, table.getPositive(table.add(left, step, -1)));
  if (restart)
    return Progress::Failed;
  SmallVector<Expr> carried = collect(path, number);
  if (widen(group, carried) || splitClasses(group, carried))
    return Progress::Failed;
  if (!goesOn) {
    endLoops(path, number, carried, /*wasEntered=*/true);
    return Progress::Made;
  }
  if (!group.isCounted) {
    Path other = path;
    endLoops(other, number, carried, /*wasEntered=*/true);
    paths.push_back(std::move(other));
  }
  path.facts.shift(table, group.counter, table.add(counter, step, -1));
  int64_t width = std::abs(table.getConstantValue(step).value_or(1));
  int64_t start = std::abs(
      table.getConstantValue(get(path, loop.getLowerBound())).value_or(0));
  // As far as turns under way look ahead, and one more each way.
  int64_t reach = (rules.getDepth() + 2) * width;
  path.facts.trim(table, group.counter, step, start, reach, group.isShort,
                  questions[number]);
  stepRemainder(path, number, step);
  beginTurn(path, number, carried, /*isFirst=*/false);
  return visit(path);
}

/// All loops of a group decide whether they go on.
Prover::Progress Prover::chooseWhile(Path &path, int number) {
  Group &group = groups[number];
  std::optional<bool> goesOn;
  for (unsigned task : group.tasks) {
    Operation *end = path.tasks[task].back().next;
    Expr condition = get(path, cast<scf::ConditionOp>(end).getCondition());
    if (!checkUniform(end, condition))
      return Progress::Failed;
    bool own = decide(path, condition);
    if (restart)
      return Progress::Failed;
    if (goesOn && own != *goesOn)
      return fail(end,
                  "the loop of one role may end while the other's goes on");
    goesOn = own;
  }
  SmallVector<Expr> passed = collect(path, number);
  if (!*goesOn) {
    endLoops(path, number, passed, /*wasEntered=*/true);
    return Progress::Made;
  }
  unsigned next = 0;
  for (auto [task, op] : llvm::zip(group.tasks, group.loops)) {
    auto loop = cast<scf::WhileOp>(op);
    for (Value argument : loop.getAfterArguments())
      set(path, argument, passed[next++]);
    path.tasks[task].back().next = &loop.getAfterBody()->front();
  }
  return Progress::Made;
}

Prover::Progress Prover::turnWhile(Path &path, int number) {
  SmallVector<Expr> carried = collect(path, number);
  if (widen(groups[number], carried) || splitClasses(groups[number], carried))
    return Progress::Failed;
  beginTurn(path, number, carried, /*isFirst=*/false);
  return visit(path);
}
