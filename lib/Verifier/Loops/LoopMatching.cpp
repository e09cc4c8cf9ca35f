//===- LoopMatching.cpp - Which loops run together ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is the closure of one loop under "uses a link that a loop of another
// task uses": all of its tasks have to stand before loops.
//
//   * If the loops have equally many iterations, they run together to their
//     ends.
//   * Otherwise they do so for a part. How often a task waits in an iteration
//     says how many iterations of the loops go together. The trip count t of
//     one loop is that of the group if each other loop has at least as many
//     iterations: t times those that go together. The path has to imply it. If
//     it is short of a constant, the group has that many iterations less.
//
// How many iterations are left is not followed: the task stands before a loop
// from the place that was reached to the same bound.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/LoopMatching.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// The most iterations of a loop that go together with one of another loop.
static constexpr int64_t kMostTogether = 1024;

/// The most iterations by which a loop may be shorter than the one whose trip
/// count a group has.
static constexpr int64_t kMostMissing = 16;

//===----------------------------------------------------------------------===//
// Equally many iterations
//===----------------------------------------------------------------------===//

bool LoopMatching::haveSameTrips(const Path &path, Operation *a,
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
  // One step has to be a multiple of the other one. Only peeling knows that the
  // variables of single iterations are the lower bounds.
  auto [small, large] = std::minmax(*table.getConstantValue(xStep),
                                    *table.getConstantValue(yStep));
  return small == large ||
         (large % small == 0 && table.getConstantValue(xTrips) != 1);
}

/// The loops that are linked to the one before which `task` stands. None if a
/// task is not before its loop, or with `haveSame` if trip counts may differ.
std::optional<LoopGroup> LoopMatching::collect(const Path &path, unsigned task,
                                               bool haveSame) const {
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
            (haveSame && !haveSameTrips(path, first, loop)))
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
      group.factors.push_back(1);
    }
  return group;
}

std::optional<LoopGroup> LoopMatching::find(const Path &path,
                                            unsigned task) const {
  return collect(path, task, /*haveSame=*/true);
}

//===----------------------------------------------------------------------===//
// Parts of loops
//===----------------------------------------------------------------------===//

/// How often a task waits for one of `links` in a block, loops counted once.
/// The events of all units count: each unit is proved for the same order.
static int64_t countWaits(const Rules &rules, Block &block,
                          const llvm::SmallSet<unsigned, 4> &links) {
  auto isOne = [&](unsigned link) { return links.contains(link); };
  int64_t waits = 0;
  for (Operation &op : block) {
    waits += isa<AcquireOp, WaitOp, MBarrierWaitOp>(op) &&
             rules.isEventOfAny(&op) &&
             llvm::any_of(rules.getLinks(&op), isOne);
    int64_t sum = 0, most = 0;
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        int64_t own = countWaits(rules, inner, links);
        sum += own;
        most = std::max(most, own);
      }
    waits += isa<scf::IfOp>(op) ? most : sum;
  }
  return waits;
}

/// How often a task waits in an iteration of `loop` for what it and `other` use
/// in common.
int64_t LoopMatching::countCommonWaits(Operation *loop,
                                       Operation *other) const {
  auto forOp = dyn_cast<scf::ForOp>(loop);
  return forOp ? countWaits(context.rules, *forOp.getBody(),
                            context.program.getLinks(other))
               : 0;
}

/// Sets how many iterations of each loop go together; false if that is not
/// known. It spreads from the first loop to those that have links in common
/// with it, and so on.
bool LoopMatching::setFactors(LoopGroup &group) const {
  SmallVector<int64_t> factors(group.loops.size(), 0);
  factors.front() = 1;
  SmallVector<unsigned> todo = {0};
  while (!todo.empty()) {
    unsigned i = todo.pop_back_val();
    for (unsigned j = 0; j < group.loops.size(); ++j) {
      int64_t own = countCommonWaits(group.loops[j], group.loops[i]);
      int64_t others = countCommonWaits(group.loops[i], group.loops[j]);
      if (i == j || own == 0 || others == 0)
        continue;
      int64_t common = std::gcd(own, others);
      own /= common;
      others /= common;
      if (factors[j] == 0) {
        // All known factors grow, so that this one is no fraction.
        int64_t scale = own / std::gcd(own, factors[i] * others);
        for (int64_t &factor : factors)
          factor *= scale;
        factors[j] = factors[i] * others / own;
        todo.push_back(j);
      }
      if (factors[j] * own != factors[i] * others || factors[j] > kMostTogether)
        return false;
    }
  }
  group.factors = factors;
  return !llvm::is_contained(factors, 0);
}

/// Whether the variables of all loops are sums of the leader's.
bool LoopMatching::haveCommonAdvance(const Path &path,
                                     const LoopGroup &group) const {
  unsigned leader = getLeader(path, group);
  auto getConstant = [&](unsigned i) {
    return context.table.getConstantValue(getAdvance(path, group, i));
  };
  for (unsigned i = 0; i < group.loops.size(); ++i)
    if (!getConstant(i) || *getConstant(i) % *getConstant(leader) != 0)
      return false;
  return true;
}

/// The most iterations of a group, at most `trips`, that all loops have by what
/// the path implies; 0 if that is not known.
Expr LoopMatching::findTrips(const Path &path, const LoopGroup &group,
                             Expr trips) const {
  ExpressionTable &table = context.table;
  int64_t missing = 0;
  for (auto [loop, factor] : llvm::zip(group.loops, group.factors)) {
    Expr own = peeling.getTrips(path, cast<scf::ForOp>(loop));
    if (!own)
      return 0;
    Expr left = conditions.simplify(path, table.add(own, trips, -factor));
    Expr isNatural = table.getPositive(table.addConstant(left, 1));
    if (path.facts.infer(table, isNatural) == true)
      continue;
    int64_t least = path.facts.getInterval(table, left).low;
    if (least < -kMostMissing)
      return 0;
    missing = std::min(missing, llvm::divideFloorSigned(least, factor));
  }
  return table.addConstant(trips, missing);
}

std::optional<LoopMatching::PartialMatch>
LoopMatching::findPart(const Path &path, unsigned task) const {
  ExpressionTable &table = context.table;
  std::optional<LoopGroup> group = collect(path, task, /*haveSame=*/false);
  if (!group || group->loops.size() == 1 || !setFactors(*group) ||
      !haveCommonAdvance(path, *group))
    return std::nullopt;
  PartialMatch match{*group, 0, {}, {}};
  for (auto [loop, factor] : llvm::zip(group->loops, group->factors))
    if (Expr trips = peeling.getTrips(path, cast<scf::ForOp>(loop));
        trips && factor == 1 && !match.trips)
      match.trips = findTrips(path, *group, trips);
  if (!match.trips)
    return std::nullopt;
  bool isConstant = true;
  for (auto [i, op] : llvm::enumerate(group->loops)) {
    auto loop = cast<scf::ForOp>(op);
    Expr all = peeling.getTrips(path, loop);
    Expr left = conditions.simplify(
        path, table.add(all, match.trips, -group->factors[i]));
    isConstant &= table.getConstantValue(left).has_value();
    match.ends.push_back(
        table.add(peeling.getLower(path, loop), match.trips,
                  *table.getConstantValue(getAdvance(path, *group, i))));
    match.haveRests.push_back(path.facts.decide(table, table.getZero(left)) !=
                              true);
  }
  // A task whose loop has fewer iterations by a constant may be ahead by these:
  // LoopPeeling lets the others catch up. If that leads to a deadlock, the task
  // is not.
  if (isConstant && llvm::all_equal(group->factors) && path.triesPeeling)
    return std::nullopt;
  return match;
}

Progress LoopMatching::compareTrips(Path &path) {
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
      LoopGroup pair{0, {task, other}, {a, b}, {1, 1}};
      if (!setFactors(pair))
        pair.factors = {1, 1};
      Expr difference =
          context.table.add(context.table.add(context.table.getConstant(0),
                                              trips, pair.factors[1]),
                            otherTrips, -pair.factors[0]);
      bool isDecided = conditions.decidePart(path, difference);
      if (context.startsOver())
        return Progress::Failed;
      if (isDecided)
        return Progress::Made;
    }
  return Progress::None;
}

//===----------------------------------------------------------------------===//
// Induction variables
//===----------------------------------------------------------------------===//

Expr LoopMatching::getAdvance(const Path &path, const LoopGroup &group,
                              unsigned i) const {
  auto loop = cast<scf::ForOp>(group.loops[i]);
  return context.table.add(context.table.getConstant(0),
                           values.get(path, loop.getStep()), group.factors[i]);
}

unsigned LoopMatching::getLeader(const Path &path,
                                 const LoopGroup &group) const {
  unsigned leader = 0;
  std::optional<int64_t> smallest;
  for (auto [i, op] : llvm::enumerate(group.loops)) {
    std::optional<int64_t> advance =
        isa<scf::ForOp>(op)
            ? context.table.getConstantValue(getAdvance(path, group, i))
            : std::nullopt;
    if (advance && (!smallest || *advance < *smallest)) {
      leader = i;
      smallest = advance;
    }
  }
  return leader;
}

/// In a loop from 2 with step 16 it is 16 * (i - 1) + 2 if the leader's loop is
/// from 1 with step 1.
SmallVector<Expr> LoopMatching::getVariables(const Path &path,
                                             const LoopGroup &group,
                                             Expr variable) const {
  ExpressionTable &table = context.table;
  auto getConstant = [&](unsigned i) {
    return table.getConstantValue(getAdvance(path, group, i)).value_or(1);
  };
  unsigned leader = getLeader(path, group);
  auto leading = cast<scf::ForOp>(group.loops[leader]);
  Expr sum = table.getInteger(variable);
  Expr distance = table.add(sum, peeling.getLower(path, leading), -1);
  SmallVector<Expr> variables;
  for (auto [i, op] : llvm::enumerate(group.loops)) {
    auto loop = cast<scf::ForOp>(op);
    variables.push_back(i == leader
                            ? sum
                            : table.add(peeling.getLower(path, loop), distance,
                                        getConstant(i) / getConstant(leader)));
  }
  return variables;
}
