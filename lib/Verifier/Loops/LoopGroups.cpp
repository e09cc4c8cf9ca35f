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
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/LoopGroups.h"

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

static LoopGroups::GroupKey getKey(const LoopGroup &group) {
  LoopGroups::GroupKey key;
  for (auto [loop, factor] : llvm::zip(group.loops, group.factors))
    key.push_back({loop, factor});
  return key;
}

int LoopGroups::getNumber(LoopGroup group) {
  auto [it, isNew] = numbers.try_emplace(getKey(group), groups.size());
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
  if (number >= 0 && iterateWithin(path, task))
    return Progress::Made;
  if (number >= 0 && groups[number].tasks.size() == 1)
    if (Progress progress = iterate(path, number); progress != Progress::None)
      return progress;
  Operation *loop = path.getLoopAhead(context.program, task);
  if (!loop || context.program.isLinked(loop))
    return Progress::None;
  std::optional<LoopGroup> group = matching.find(path, task);
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
    if (std::optional<LoopGroup> group = matching.find(path, task))
      return enter(path, getNumber(std::move(*group)));
  }
  Progress progress = matching.compareTrips(path);
  return progress == Progress::None ? advanceUnevenly(path) : progress;
}

/// Enters loops with different numbers of iterations, for a part of these.
Progress LoopGroups::advanceUnevenly(Path &path) {
  Progress progress = Progress::None;
  for (unsigned task = 0;
       task < path.tasks.size() && progress == Progress::None; ++task) {
    if (!path.getLoopAhead(context.program, task))
      continue;
    auto match = idle.findFirst(path, task);
    if (context.startsOver())
      return Progress::Failed;
    if (match)
      progress = enterPart(path, *match);
  }
  for (unsigned task = 0;
       task < path.tasks.size() && progress == Progress::None; ++task)
    if (path.getLoopAhead(context.program, task))
      if (auto match = matching.findPart(path, task))
        progress = enterPart(path, *match);
  return progress;
}

Progress LoopGroups::enterAlone(Path &path) {
  for (unsigned task = 0; task < path.tasks.size(); ++task)
    if (std::optional<LoopGroup> group = idle.findAlone(path, task)) {
      uneven.insert(getKey(*group));
      return enter(path, getNumber(std::move(*group)));
    }
  return Progress::None;
}

/// Enters loops that run together for a part of their iterations; `None` if
/// that part is empty.
Progress LoopGroups::enterPart(Path &path, LoopMatching::PartialMatch match) {
  bool runs = conditions.decide(path, context.table.getPositive(match.trips));
  if (context.startsOver())
    return Progress::Failed;
  if (!runs)
    return Progress::None;
  uneven.insert(getKey(match.group));
  const LoopGroup &group = groups[getNumber(std::move(match.group))];
  Progress progress = enter(path, group.number, match.trips);
  if (progress == Progress::Made)
    for (auto [task, end, hasRest] :
         llvm::zip(group.tasks, match.ends, match.haveRests)) {
      path.tasks[task].back().end = path.facts.resolve(context.table, end);
      path.tasks[task].back().hasRest = hasRest;
    }
  return progress;
}

/// Forks on remainders of the step and of the first value of a loop's variable,
/// where conditions ask for remainders of the variable.
void LoopGroups::splitRemainders(Path &path, const LoopGroup &group) {
  std::optional<int64_t> modulus = inductions.getModulus(group.number);
  if (!modulus || !isa<scf::ForOp>(group.loops.front()))
    return;
  unsigned leader = matching.getLeader(path, group);
  auto loop = cast<scf::ForOp>(group.loops[leader]);
  Expr step = matching.getAdvance(path, group, leader);
  if (conditions.splitRemainder(path, step, *modulus) && !context.startsOver())
    conditions.splitRemainder(path, peeling.getLower(path, loop), *modulus);
}

Progress LoopGroups::enter(Path &path, int number, Expr trips) {
  const LoopGroup &group = groups[number];
  if (group.loops.size() > 1) {
    path.peeledFrom.clear();
    path.triesPeeling = true;
  }
  splitRemainders(path, group);
  if (context.startsOver())
    return Progress::Failed;
  if (trips)
    trips = path.facts.resolve(context.table, trips);
  SmallVector<Expr> inits;
  for (Operation *loop : group.loops)
    llvm::append_range(inits, peeling.getInits(path, loop));
  if (carried.widen(group, inits))
    return Progress::Failed;
  if (isa<scf::ForOp>(group.loops.front()))
    return enterFor(path, group, inits, trips);
  if (carried.split(group, inits))
    return Progress::Failed;
  beginIteration(path, group, inits, /*isFirst=*/true);
  return Progress::Made;
}

Progress LoopGroups::enterFor(Path &path, const LoopGroup &group,
                              ArrayRef<Expr> inits, Expr trips) {
  ExpressionTable &table = context.table;
  unsigned leader = matching.getLeader(path, group);
  auto loop = cast<scf::ForOp>(group.loops[leader]);
  Expr lower = peeling.getLower(path, loop);
  bool isPart = trips;
  if (!trips)
    trips = table.add(values.get(path, loop.getUpperBound()), lower, -1);
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
  // Each iteration will ask for the next one. The search would start over for
  // every loop if that were noted at the end of the first iteration only.
  if (!isPart)
    inductions.note(
        path.facts.resolve(table, getGoesOn(path, group, /*end=*/0)));
  InductionFacts(table, path.facts, variable)
      .enter(lower, matching.getAdvance(path, group, leader),
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
  SmallVector<Expr> ends;
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops)) {
    path.forgetPeeled(loop);
    const TaskFrame &frame = path.tasks[task].back();
    ends.push_back(wasEntered && frame.hasRest ? frame.end : 0);
    if (!wasEntered)
      continue;
    values.clearInner(path, loop);
    path.tasks[task].pop_back();
  }
  SmallVector<Expr> named = carried.end(path, group, results, wasEntered, ends);
  ArrayRef<Expr> rest(named);
  for (auto [task, loop, end] : llvm::zip(group.tasks, group.loops, ends)) {
    ArrayRef<Expr> own = rest.take_front(loop->getNumResults());
    rest = rest.drop_front(own.size());
    path.tasks[task].back().next = end ? loop : loop->getNextNode();
    if (end)
      path.peeled.push_back({loop, 0, end, SmallVector<Expr>(own)});
  }
  path.hasLeftLoop = true;
}

//===----------------------------------------------------------------------===//
// Next iterations
//===----------------------------------------------------------------------===//

void LoopGroups::beginIteration(Path &path, const LoopGroup &group,
                                ArrayRef<Expr> passed, bool isFirst) {
  SmallVector<Expr> variables, counts;
  bool isFor = isa<scf::ForOp>(group.loops.front());
  // Facts are renamed for the next iteration, so these expressions stay.
  if (isFor && isFirst) {
    variables =
        matching.getVariables(path, group, inductions.get(group.number));
    for (auto [op, variable] : llvm::zip_equal(group.loops, variables))
      counts.push_back(context.table.add(
          variable, peeling.getLower(path, cast<scf::ForOp>(op)), -1));
  } else if (isFor) {
    for (auto [op, factor] : llvm::zip(group.loops, group.factors)) {
      // It was the same sum of the leader's in the first one of `factor`
      // iterations.
      auto loop = cast<scf::ForOp>(op);
      variables.push_back(
          context.table.add(values.get(path, loop.getInductionVar()),
                            values.get(path, loop.getStep()), 1 - factor));
    }
  }
  for (Operation *loop : group.loops) {
    if (isFirst && !path.findPeeled(loop))
      context.rules.enterLoop(path.state, loop);
    path.forgetPeeled(loop);
    values.clearInner(path, loop);
  }
  carried.begin(path, group, passed, isFirst, counts);
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
    frames.back().done = 0;
  }
}

/// Takes a task at the end of an iteration to the next one that is a part of
/// the same iteration of its group; false if there is none.
bool LoopGroups::iterateWithin(Path &path, unsigned task) {
  TaskFrame &frame = path.tasks[task].back();
  const LoopGroup &group = groups[frame.group];
  unsigned i = llvm::find(group.tasks, task) - group.tasks.begin();
  if (!frame.next->hasTrait<OpTrait::IsTerminator>() ||
      frame.done + 1 == group.factors[i])
    return false;
  auto loop = cast<scf::ForOp>(frame.op);
  SmallVector<Expr> passed = values.getAll(path, frame.next->getOperands());
  Expr variable = context.table.add(values.get(path, loop.getInductionVar()),
                                    values.get(path, loop.getStep()));
  values.clearInner(path, loop);
  values.set(path, loop.getInductionVar(), variable);
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), passed))
    values.set(path, argument, value);
  frame.next = &loop.getBody()->front();
  ++frame.done;
  return true;
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

/// The condition at the end of an iteration that there is another one, before
/// `end` if that is not 0.
Expr LoopGroups::getGoesOn(const Path &path, const LoopGroup &group,
                           Expr end) const {
  ExpressionTable &table = context.table;
  unsigned leader = matching.getLeader(path, group);
  auto loop = cast<scf::ForOp>(group.loops[leader]);
  Expr sum = table.getInteger(inductions.get(group.number));
  Expr step = matching.getAdvance(path, group, leader);
  Expr left =
      table.add(end ? end : values.get(path, loop.getUpperBound()), sum, -1);
  // The variable comes to the end of a part in whole steps.
  if (end)
    left = table.addConstant(table.add(left, step, -1), 1);
  return table.getPositive(table.add(left, step, -1));
}

/// Forgets facts that no later iteration of a group asks for.
void LoopGroups::trimFacts(Path &path, const LoopGroup &group, Expr step) {
  ExpressionTable &table = context.table;
  auto loop = cast<scf::ForOp>(group.loops[matching.getLeader(path, group)]);
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
  window.forgetsRepeats = context.mayForgetRepeats();
  InductionFacts facts(table, path.facts, inductions.get(group.number));
  if (facts.trim(window, inductions.getAsked(group.number)))
    context.forgetRepeats();
}

Progress LoopGroups::iterateFor(Path &path, const LoopGroup &group) {
  ExpressionTable &table = context.table;
  unsigned leader = matching.getLeader(path, group);
  auto loop = cast<scf::ForOp>(group.loops[leader]);
  Expr variable = inductions.get(group.number);
  Expr sum = table.getInteger(variable);
  Expr step = matching.getAdvance(path, group, leader);
  Expr end = path.tasks[group.tasks[leader]].back().end;
  bool isCounted = inductions.isCounted(group.number);
  if (!context.begin(loop))
    return context.giveUp();
  bool goesOn =
      !isCounted || conditions.decide(path, getGoesOn(path, group, end));
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
  // A guard may repeat after some iterations.
  if (path.facts.areContradictory())
    return Progress::Ended;
  trimFacts(path, group, step);
  inductions.step(path, group.number, step);
  beginIteration(path, group, passed, /*isFirst=*/false);
  return Progress::Iterated;
}
