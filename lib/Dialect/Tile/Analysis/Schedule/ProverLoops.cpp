//===- ProverLoops.cpp - Loops of tasks, turn by turn ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prover.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::tile::schedule;

/// Turns whose counters are told apart where that matters. More than there are
/// stages.
static constexpr int64_t kExactTurns = 12;
/// Carried numbers up to which each is told apart from others.
static constexpr int64_t kLargestCount = 4;

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

//===----------------------------------------------------------------------===//
// Carried values
//===----------------------------------------------------------------------===//

static Block::BlockArgListType getArguments(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getRegionIterArgs();
  return cast<scf::WhileOp>(op).getBeforeArguments();
}

SmallVector<Value> Prover::getCarried(const Group &group) const {
  SmallVector<Value> carried;
  for (Operation *loop : group.loops)
    llvm::append_range(carried, getArguments(loop));
  return carried;
}

static bool isSum(Type type) {
  return type.isIntOrIndex() && !type.isInteger(1);
}

/// Whether two values of a carried one, or of two, can be told by one atom.
bool Prover::areOfOneClass(Value carried, Expr a, Expr b) const {
  if (a == b || !relatesCounts || !isSum(carried.getType()))
    return a == b;
  std::optional<int64_t> difference =
      table.getConstantValue(table.add(a, b, -1));
  return difference && std::abs(*difference) <= kLargestCount;
}

/// Gives values that have become unequal different classes: then all begins
/// again. `values` are those of the carried ones that matter.
bool Prover::splitClasses(Group &group, ArrayRef<Expr> values) {
  SmallVector<Value> carried = getCarried(group);
  bool isFirst = group.classes.empty();
  group.classes.resize(carried.size());
  // The first value of each class; the classes that have been split off others.
  std::map<int64_t, Expr> representatives;
  std::multimap<int64_t, int64_t> split;
  int64_t next = 0;
  for (int64_t number : group.classes)
    next = std::max(next, number + 1);
  bool changed = false;
  for (auto [i, value] : llvm::enumerate(carried)) {
    if (program.getNumber(value) < 0 ||
        (isExact(group, i, value, values[i]) && !isFirst))
      continue;
    int64_t &number = group.classes[i];
    Expr first = representatives.try_emplace(number, values[i]).first->second;
    if (areOfOneClass(value, values[i], first))
      continue;
    changed = true;
    auto [begin, end] = split.equal_range(number);
    while (begin != end &&
           !areOfOneClass(value, values[i], representatives[begin->second]))
      ++begin;
    if (begin == end) {
      representatives[next] = values[i];
      begin = split.insert({number, next++});
    }
    number = begin->second;
  }
  restart |= changed && !isFirst;
  return changed && !isFirst;
}

/// Whether a carried value stays a constant.
bool Prover::isExact(const Group &group, unsigned place, Value carried,
                     Expr value) const {
  return table.getConstantValue(value) &&
         (program.isTracked(carried) || !group.widened.count(place));
}

/// Counts that grow are not told apart: then all begins again.
bool Prover::widen(Group &group, ArrayRef<Expr> values) {
  for (auto [i, value] : llvm::enumerate(getCarried(group))) {
    std::optional<int64_t> constant = table.getConstantValue(values[i]);
    if (constant && std::abs(*constant) > kLargestCount &&
        isExact(group, i, value, values[i]) && !program.isTracked(value)) {
      group.widened.insert(i);
      restart = true;
    }
  }
  return restart;
}

/// The name of a carried value if `atom` is that of another value, `base`.
static Expr rename(ExpressionTable &table, Value carried, Expr atom, Expr value,
                   Expr base) {
  if (!isSum(carried.getType()))
    return atom;
  return table.add(table.getInteger(atom), table.add(value, base, -1));
}

/// The atom of a class becomes the name of `value`: what is known of it is
/// forgotten, or, where counts are related, followed.
void Prover::moveClass(Path &path, const Group &group, Expr atom, Expr value,
                       bool isFirst) {
  if (value == atom || value == table.getInteger(atom))
    return;
  if (!relatesCounts || table.getKind(value) != ExpressionTable::Kind::Linear)
    return path.facts.forget(table, atom);
  Expr sum = table.getInteger(atom), step = table.add(value, sum, -1);
  if (isFirst) {
    path.facts.forget(table, atom);
    path.facts.relate(table, group.counter, atom, value);
  } else if (table.getConstantValue(step)) {
    path.facts.shift(table, atom, table.add(sum, step, -1));
    path.facts.keepElements(table, group.counter, atom);
  } else {
    path.facts.forget(table, atom);
  }
}

/// Begins a turn in all loops of a group.
void Prover::beginTurn(Path &path, int number, ArrayRef<Expr> carried,
                       bool isFirst) {
  const Group &group = groups[number];
  for (Operation *loop : group.loops)
    forgetRest(path, loop);
  clearInner(path, number);
  // The values of which the atoms of classes are the new names.
  std::map<Expr, Expr> bases;
  for (auto [i, value] : llvm::enumerate(getCarried(group))) {
    if (program.getNumber(value) < 0)
      continue;
    if (isExact(group, i, value, carried[i])) {
      set(path, value, carried[i]);
      continue;
    }
    Expr atom = table.getAtom({6, number, group.classes[i]}, {},
                              /*isVariable=*/true);
    Expr base = bases.try_emplace(atom, carried[i]).first->second;
    set(path, value, rename(table, value, atom, carried[i], base));
  }
  for (auto [atom, base] : bases)
    moveClass(path, group, atom, base, isFirst);
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops)) {
    auto &frames = path.tasks[task];
    auto forOp = dyn_cast<scf::ForOp>(loop);
    Block *body =
        forOp ? forOp.getBody() : cast<scf::WhileOp>(loop).getBeforeBody();
    if (forOp)
      set(path, forOp.getInductionVar(), table.getInteger(group.counter));
    if (isFirst)
      frames.push_back({loop, nullptr, number});
    frames.back().next = &body->front();
  }
}

/// Leaves all loops of a group. What their bodies computed is gone.
void Prover::endLoops(Path &path, int number, ArrayRef<Expr> results,
                      bool wasEntered) {
  const Group &group = groups[number];
  path.facts.forget(table, group.counter);
  for (Operation *loop : group.loops)
    forgetRest(path, loop);
  if (wasEntered)
    clearInner(path, number);
  unsigned next = 0;
  std::map<Expr, Expr> bases;
  for (auto [task, loop] : llvm::zip(group.tasks, group.loops)) {
    if (wasEntered)
      path.tasks[task].pop_back();
    path.tasks[task].back().next = loop->getNextNode();
    for (Value result : loop->getResults()) {
      Expr expr = results[next];
      // Final values that are not constants are told apart by place only.
      if (wasEntered && expr && !table.getConstantValue(expr)) {
        int64_t place = isa<scf::ForOp>(loop) ? group.classes[next]
                                              : int64_t(next) + (1 << 20);
        Expr atom = table.getAtom({7, number, place}, {}, /*isVariable=*/true);
        path.facts.forget(table, atom);
        Expr base = bases.try_emplace(atom, expr).first->second;
        expr = rename(table, result, atom, expr, base);
      }
      set(path, result, expr);
      ++next;
    }
  }
}

void Prover::clearInner(Path &path, int number) {
  for (Operation *loop : groups[number].loops)
    for (unsigned value : program.getInnerValues(loop))
      path.values[value] = 0;
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
  Facts::Interval turns = path.facts.getInterval(table, trips);
  path.facts.forget(table, group.counter);
  path.facts.lift(table, group.counter, lower, factors[number]);
  Expr counter = table.getInteger(group.counter);
  std::optional<int64_t> start = table.getConstantValue(lower);
  bool isExact = table.getConstantValue(upper) || exactCounters.count(number);
  if (start && isExact && group.isCounted)
    path.facts.setInterval(table, counter, {*start, *start});
  if ((!table.getConstantValue(upper) || !start) && group.isCounted)
    path.facts.setInterval(table, table.add(upper, counter, -1), turns);
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
  path.facts.trim(table, group.counter, step, start + kExactTurns * width);
  beginTurn(path, number, carried, /*isFirst=*/false);
  return isNew(path) ? Progress::Made : Progress::Ended;
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
  return isNew(path) ? Progress::Made : Progress::Ended;
}

/// Whether `value` may still be used.
bool Prover::isLive(const Path &path, Value value) const {
  for (const auto &frames : path.tasks)
    for (Operation *user : value.getUsers()) {
      const Frame *inner = nullptr;
      for (const Frame &frame : frames) {
        if (!frame.op->isProperAncestor(user))
          continue;
        inner = &frame;
        // Another turn may use it again.
        if (frame.group != -1 &&
            !frame.op->isAncestor(value.getParentBlock()->getParentOp()))
          return true;
      }
      if (!inner || !inner->next)
        continue;
      // What a frame further in executes has got its operands.
      Operation *at = inner->next->getBlock()->findAncestorOpInBlock(*user);
      bool isUsed =
          at == inner->next && (inner != &frames.back() ||
                                (isa<SpecializeOp>(at) && path.rolesBegun));
      if (at && !isUsed && !at->isBeforeInBlock(inner->next))
        return true;
    }
  return false;
}

/// The variables that do not come from values.
std::set<Expr> Prover::getCounters(const Path &path) const {
  std::set<Expr> counters = {getThreadVariable()};
  for (const auto &frames : path.tasks)
    for (const Frame &frame : frames)
      if (frame.group >= 0)
        counters.insert(groups[frame.group].counter);
  return counters;
}

/// The numbers of the values that may still be used where the tasks of `path`
/// are, which `place` tells.
const std::vector<unsigned> &Prover::getLive(const Path &path,
                                             const std::string &place) {
  auto [it, isNew] = liveByPlace.try_emplace(place);
  if (isNew)
    for (unsigned number = 0; number < path.values.size(); ++number)
      if (isLive(path, program.getValue(number)))
        it->second.push_back(number);
  return it->second;
}

/// Whether nothing like `path` has been seen, but for where the slots of
/// channels begin.
bool Prover::isNew(Path &path) {
  if (++numStates > kMaxStates)
    return true;
  std::string key;
  auto append = [&](int64_t value) { appendTo(key, value); };
  append(path.rolesBegun);
  for (const auto &frames : path.tasks) {
    append(frames.size());
    for (const Frame &frame : frames)
      append(reinterpret_cast<int64_t>(frame.next));
  }
  const std::vector<unsigned> &live = getLive(path, key);
  State state = path.state;
  protocol.reduce(state, path.rolesBegun);
  SmallVector<int64_t> bases;
  for (unsigned link = 0; link < protocol.getNumLinks(); ++link) {
    bases.push_back(protocol.getBase(state, link));
    protocol.rotate(state, link, bases.back());
  }
  std::set<Expr> variables = getCounters(path);
  for (unsigned number : live) {
    Expr value = path.values[number];
    append(value != 0);
    if (!value)
      continue;
    llvm::for_each(table.getVariables(value),
                   [&](Expr variable) { variables.insert(variable); });
    std::optional<int64_t> place = table.getConstantValue(value);
    const auto &links = program.getPlacesOf(number);
    if (!place || links.empty()) {
      append(value);
      continue;
    }
    for (unsigned link : links)
      append(protocol.rotateInput(*place, link, bases[link]));
  }
  for (const Rest &rest : path.rests) {
    append(reinterpret_cast<int64_t>(rest.loop));
    append(rest.lower);
    llvm::for_each(rest.carried, append);
  }
  for (int64_t word : state)
    append(word);
  // What is known of values that are gone is no longer asked.
  path.facts.keepOnly(table, variables);
  path.facts.appendTo(key);
  return seen.insert(std::move(key)).second;
}
