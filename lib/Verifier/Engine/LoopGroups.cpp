//===- LoopGroups.cpp - Loops that run together ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product construction for the tasks' loops (Barthe, Crespo and Kunz,
// FM 2011, on relational verification). A group is the closure of one loop
// under "uses a link that a loop of another task uses": all of its tasks have
// to stand before loops with equally many iterations. The loop with the
// smallest step leads: the induction variables of the others are sums of its
// own. Then they enter, and
//
//   * when all tasks have come to the end of an iteration, one decision for all
//     of them says whether another iteration follows;
//   * facts and values about i0 are renamed to i0 - step, and trimmed;
//   * the path has `Iterated`: it may join others at this point.
//
// For scf.while each loop has its own condition, and all have to agree.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/LoopGroups.h"

#include "Verifier/Symbolic/InductionFacts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// The most iterations of a loop whose numbers may stay known.
static constexpr int64_t kMostIterations = 16;

//===----------------------------------------------------------------------===//
// Finding groups
//===----------------------------------------------------------------------===//

bool LoopGroups::haveSameTrips(const Path &path, Operation *a,
                               Operation *b) const {
  ExpressionTable &table = context.table;
  auto x = dyn_cast<scf::ForOp>(a), y = dyn_cast<scf::ForOp>(b);
  if (!x || !y)
    return !x && !y;
  Expr xStep = values.get(path, x.getStep());
  Expr yStep = values.get(path, y.getStep());
  if (xStep == yStep && peeling.getLower(path, x) == peeling.getLower(path, y))
    if (values.get(path, x.getUpperBound()) ==
        values.get(path, y.getUpperBound()))
      return true;
  Expr xTrips = peeling.getTrips(path, x), yTrips = peeling.getTrips(path, y);
  if (!xTrips || !yTrips ||
      path.facts.decide(table, table.getZero(table.add(xTrips, yTrips, -1))) !=
          true)
    return false;
  // One step has to be a multiple of the other one.
  auto [small, large] = std::minmax(*table.getConstantValue(xStep),
                                    *table.getConstantValue(yStep));
  return large % small == 0;
}

/// The loop of a group that all follow: the first one with the smallest step.
unsigned LoopGroups::getLeader(const Path &path, const LoopGroup &group) const {
  unsigned leader = 0;
  std::optional<int64_t> smallest;
  for (auto [i, op] : llvm::enumerate(group.loops)) {
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<int64_t> step =
        loop ? context.table.getConstantValue(values.get(path, loop.getStep()))
             : std::nullopt;
    if (step && (!smallest || *step < *smallest)) {
      leader = i;
      smallest = step;
    }
  }
  return leader;
}

/// The group of the loop before which `task` stands: with the loops of all
/// tasks at the other ends of links in it. None if a task is not there yet.
std::optional<LoopGroup> LoopGroups::find(const Path &path,
                                          unsigned task) const {
  const TaskProgram &program = context.program;
  llvm::SmallSet<unsigned, 4> members;
  members.insert(task);
  SmallVector<unsigned> todo = {task};
  Operation *first = path.tasks[task].back().next;
  while (!todo.empty()) {
    unsigned member = todo.pop_back_val();
    for (unsigned link : program.getLinks(path.tasks[member].back().next))
      for (unsigned other = 0; other < path.tasks.size(); ++other) {
        Operation *op = program.getTasks()[other].op;
        if (other == member || op == program.getKernel() ||
            !program.getLinks(op).contains(link))
          continue;
        Operation *loop = path.getLoopAhead(program, other);
        if (!loop || !program.getLinks(loop).contains(link) ||
            !haveSameTrips(path, first, loop))
          return std::nullopt;
        if (members.insert(other).second)
          todo.push_back(other);
      }
  }
  LoopGroup group;
  for (unsigned member = 0; member < path.tasks.size(); ++member)
    if (members.contains(member)) {
      group.tasks.push_back(member);
      group.loops.push_back(path.tasks[member].back().next);
    }
  return group;
}

/// Whether iterations add to a count that is waited for: of bytes that land, or
/// of groups of copies.
static bool addsUp(Operation *loop) {
  return loop
      ->walk([](Operation *op) {
        auto copy = dyn_cast<CopyOp>(op);
        return isa<CommitGroupOp>(op) || (copy && copy.getSignal())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether it matters how many iterations the loops have. A loop that carries
/// nothing and is linked to no other does the same in each iteration.
bool LoopGroups::isCounted(const LoopGroup &group) const {
  Operation *loop = group.loops.front();
  if (group.loops.size() > 1 || !isa<scf::ForOp>(loop) ||
      !context.program.getLinks(loop).empty())
    return true;
  if (llvm::any_of(getCarried(loop), [&](Value value) {
        return context.program.getNumber(value) >= 0;
      }))
    return true;
  return addsUp(loop);
}

int LoopGroups::getNumber(LoopGroup group) {
  std::vector<Operation *> key(group.loops.begin(), group.loops.end());
  auto [it, isNew] = numbers.try_emplace(key, groups.size());
  if (isNew) {
    LDBG_OS([&](raw_ostream &os) {
      os << "loop group " << it->second << ":";
      for (auto [task, loop] : llvm::zip(group.tasks, group.loops))
        os << " " << context.program.getTasks()[task].name << " at "
           << loop->getLoc();
    });
    group.number = it->second;
    inductions.add(isCounted(group));
    carried.add(group);
    groups.push_back(std::move(group));
  }
  return it->second;
}

/// Whether a loop has constant bounds, close to each other.
bool LoopGroups::hasFewIterations(const Path &path, scf::ForOp loop) const {
  ExpressionTable &table = context.table;
  Expr lower = peeling.getLower(path, loop);
  Expr span = table.add(values.get(path, loop.getUpperBound()), lower, -1);
  std::optional<int64_t> length = table.getConstantValue(span);
  std::optional<int64_t> step =
      table.getConstantValue(values.get(path, loop.getStep()));
  return table.getConstantValue(lower) && length && step &&
         *length <= kMostIterations * *step;
}

//===----------------------------------------------------------------------===//
// Entering and leaving
//===----------------------------------------------------------------------===//

Progress LoopGroups::advanceAlone(Path &path, unsigned task) {
  if (path.tasks[task].empty())
    return Progress::None;
  int number = path.tasks[task].back().group;
  if (number >= 0 && groups[number].tasks.size() == 1)
    if (Progress progress = iterate(path, number); progress != Progress::None)
      return progress;
  Operation *loop = path.getLoopAhead(context.program, task);
  if (!loop || context.program.isLinked(loop))
    return Progress::None;
  std::optional<LoopGroup> group = find(path, task);
  if (!group || group->tasks.size() > 1)
    return Progress::None;
  return enter(path, getNumber(std::move(*group)));
}

Progress LoopGroups::advanceTogether(Path &path) {
  for (auto &frames : path.tasks) {
    if (frames.empty() || frames.back().group < 0)
      continue;
    if (Progress progress = iterate(path, frames.back().group);
        progress != Progress::None)
      return progress;
  }
  for (unsigned task = 0; task < path.tasks.size(); ++task) {
    if (!path.getLoopAhead(context.program, task))
      continue;
    if (std::optional<LoopGroup> group = find(path, task))
      return enter(path, getNumber(std::move(*group)));
  }
  return compareTrips(path);
}

/// Decides what two numbers of iterations depend on, if a fork can make them
/// comparable.
Progress LoopGroups::compareTrips(Path &path) {
  auto getLoop = [&](unsigned task) {
    return dyn_cast_if_present<scf::ForOp>(
        path.getLoopAhead(context.program, task));
  };
  for (unsigned task = 0; task < path.tasks.size(); ++task)
    for (unsigned other = 0; other < task; ++other) {
      scf::ForOp a = getLoop(task), b = getLoop(other);
      Expr trips = a ? peeling.getTrips(path, a) : 0;
      Expr otherTrips = b ? peeling.getTrips(path, b) : 0;
      if (!trips || !otherTrips)
        continue;
      Expr difference = context.table.add(trips, otherTrips, -1);
      bool isDecided = conditions.decidePart(path, difference);
      if (context.startsOver())
        return Progress::Failed;
      if (isDecided)
        return Progress::Made;
    }
  return Progress::None;
}

Progress LoopGroups::enter(Path &path, int number) {
  const LoopGroup &group = groups[number];
  SmallVector<Expr> inits;
  for (Operation *loop : group.loops)
    llvm::append_range(inits, peeling.getInits(path, loop));
  if (carried.widen(group, inits))
    return Progress::Failed;
  if (auto loop = dyn_cast<scf::ForOp>(group.loops[getLeader(path, group)]))
    return enterFor(path, group, loop, inits);
  if (carried.split(group, inits))
    return Progress::Failed;
  beginIteration(path, group, inits, /*isFirst=*/true);
  return Progress::Made;
}

Progress LoopGroups::enterFor(Path &path, const LoopGroup &group,
                              scf::ForOp loop, ArrayRef<Expr> inits) {
  ExpressionTable &table = context.table;
  Expr lower = peeling.getLower(path, loop);
  Expr upper = values.get(path, loop.getUpperBound());
  Expr trips = table.add(upper, lower, -1);
  if (!context.begin(loop))
    return context.giveUp();
  if (!conditions.checkUniform(loop, trips))
    return Progress::Failed;
  for (Operation *member : group.loops)
    if (!peeling.checkBounds(path, cast<scf::ForOp>(member)))
      return Progress::Failed;
  bool runs = conditions.decide(path, table.getPositive(trips));
  if (context.startsOver())
    return Progress::Failed;
  LDBG() << "loop group " << group.number
         << (runs ? " is entered" : " has no iterations");
  if (!runs) {
    leave(path, group, inits, /*wasEntered=*/false);
    return Progress::Made;
  }
  if (carried.split(group, inits))
    return Progress::Failed;
  int number = group.number;
  Expr variable = inductions.get(number);
  bool needsNumbers = inductions.isDivided(number) || addsUp(loop);
  inductions.setShort(number, needsNumbers && hasFewIterations(path, loop));
  path.facts.forget(table, variable);
  InductionFacts(table, path.facts, variable)
      .enter(lower, values.get(path, loop.getStep()),
             context.rules.getDepth() + 1, inductions.getAsked(number));
  inductions.begin(path, number, lower);
  beginIteration(path, group, inits, /*isFirst=*/true);
  return Progress::Made;
}

/// Leaves all loops of a group. What their bodies computed is forgotten.
void LoopGroups::leave(Path &path, const LoopGroup &group,
                       ArrayRef<Expr> results, bool wasEntered) {
  ExpressionTable &table = context.table;
  path.remainders.erase(group.number);
  // Whether there was an iteration is decided anew by a later loop with these
  // bounds, unless it is another role's.
  if (auto loop = dyn_cast<scf::ForOp>(group.loops.front());
      loop && path.tasks.size() == 1) {
    Expr trips = table.add(values.get(path, loop.getUpperBound()),
                           values.get(path, loop.getLowerBound()), -1);
    if (!table.getConstantValue(trips))
      path.facts.setInterval(table, trips, {});
  }
  path.facts.forget(table, inductions.get(group.number));
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops)) {
    path.forgetPeeled(loop);
    if (!wasEntered)
      continue;
    values.clearInner(path, loop);
    path.tasks[task].pop_back();
  }
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops))
    path.tasks[task].back().next = loop->getNextNode();
  carried.end(path, group, results, wasEntered);
  path.hasLeftLoop = true;
}

//===----------------------------------------------------------------------===//
// Next iterations
//===----------------------------------------------------------------------===//

/// The induction variables of the loops of a group in their first iteration, by
/// that of the leader: in a loop from 2 with step 16 it is 16 * (i - 1) + 2 if
/// the leader's loop is from 1 with step 1.
SmallVector<Expr> LoopGroups::getVariables(const Path &path,
                                           const LoopGroup &group) const {
  ExpressionTable &table = context.table;
  auto getStep = [&](scf::ForOp loop) {
    return table.getConstantValue(values.get(path, loop.getStep())).value_or(1);
  };
  unsigned leader = getLeader(path, group);
  auto leading = cast<scf::ForOp>(group.loops[leader]);
  Expr variable = table.getInteger(inductions.get(group.number));
  Expr distance = table.add(variable, peeling.getLower(path, leading), -1);
  SmallVector<Expr> variables;
  for (auto [i, op] : llvm::enumerate(group.loops)) {
    auto loop = cast<scf::ForOp>(op);
    variables.push_back(i == leader
                            ? variable
                            : table.add(peeling.getLower(path, loop), distance,
                                        getStep(loop) / getStep(leading)));
  }
  return variables;
}

void LoopGroups::beginIteration(Path &path, const LoopGroup &group,
                                ArrayRef<Expr> passed, bool isFirst) {
  SmallVector<Expr> variables;
  bool isFor = isa<scf::ForOp>(group.loops.front());
  // Facts are renamed for the next iteration, so these expressions stay.
  if (isFor && isFirst)
    variables = getVariables(path, group);
  else if (isFor)
    for (Operation *loop : group.loops)
      variables.push_back(
          values.get(path, cast<scf::ForOp>(loop).getInductionVar()));
  for (Operation *loop : group.loops) {
    path.forgetPeeled(loop);
    values.clearInner(path, loop);
  }
  carried.begin(path, group, passed, isFirst);
  for (auto [i, loop] : llvm::enumerate(group.loops)) {
    auto &frames = path.tasks[group.tasks[i]];
    auto forOp = dyn_cast<scf::ForOp>(loop);
    Block *body =
        forOp ? forOp.getBody() : cast<scf::WhileOp>(loop).getBeforeBody();
    if (forOp)
      values.set(path, forOp.getInductionVar(), variables[i]);
    if (isFirst)
      frames.push_back({loop, nullptr, group.number});
    frames.back().next = &body->front();
  }
}

/// Takes the loops of a group to their next iteration, or out of it, if all
/// tasks have ended the present one.
Progress LoopGroups::iterate(Path &path, int number) {
  const LoopGroup &group = groups[number];
  Operation *first = nullptr;
  for (unsigned task : group.tasks) {
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
    return iterateFor(path, group);
  return isa<scf::ConditionOp>(first) ? decideWhile(path, group)
                                      : iterateWhile(path, group);
}

/// What the loops of a group pass on at the end of an iteration.
SmallVector<Expr> LoopGroups::collectPassed(const Path &path,
                                            const LoopGroup &group) const {
  SmallVector<Expr> passed;
  for (unsigned task : group.tasks) {
    Operation *end = path.tasks[task].back().next;
    unsigned skipped = isa<scf::ConditionOp>(end);
    llvm::append_range(
        passed, values.getAll(path, end->getOperands().drop_front(skipped)));
  }
  return passed;
}

Progress LoopGroups::iterateFor(Path &path, const LoopGroup &group) {
  ExpressionTable &table = context.table;
  auto loop = cast<scf::ForOp>(group.loops[getLeader(path, group)]);
  Expr variable = inductions.get(group.number);
  Expr sum = table.getInteger(variable);
  Expr step = values.get(path, loop.getStep());
  Expr left = table.add(values.get(path, loop.getUpperBound()), sum, -1);
  bool isCounted = inductions.isCounted(group.number);
  if (!context.begin(loop))
    return context.giveUp();
  bool goesOn =
      !isCounted ||
      conditions.decide(path, table.getPositive(table.add(left, step, -1)));
  if (context.startsOver())
    return Progress::Failed;
  SmallVector<Expr> passed = collectPassed(path, group);
  if (carried.widen(group, passed) || carried.split(group, passed))
    return Progress::Failed;
  LDBG() << "loop group " << group.number
         << (!isCounted ? " may end or go on"
             : goesOn   ? " begins its next iteration"
                        : " ends");
  if (!goesOn) {
    leave(path, group, passed, /*wasEntered=*/true);
    return Progress::Made;
  }
  if (!isCounted) {
    Path other = path;
    leave(other, group, passed, /*wasEntered=*/true);
    context.fork(std::move(other));
  }
  path.facts.substitute(table, variable, table.add(sum, step, -1));
  int64_t width = std::abs(table.getConstantValue(step).value_or(1));
  InductionFacts::Window window;
  window.step = step;
  window.start =
      std::abs(table.getConstantValue(values.get(path, loop.getLowerBound()))
                   .value_or(0));
  // The iterations under way look this far ahead. Add one for each end.
  window.reach = (context.rules.getDepth() + 2) * width;
  window.isShort = inductions.isShort(group.number);
  window.iterations = context.rules.getDepth() + 1;
  InductionFacts(table, path.facts, variable)
      .trim(window, inductions.getAsked(group.number));
  inductions.step(path, group.number, step);
  beginIteration(path, group, passed, /*isFirst=*/false);
  return Progress::Iterated;
}

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
