//===- ProverCarried.cpp - What loops of a schedule carry -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Carried numbers up to which each is told apart from others.
static constexpr int64_t kLargestCount = 4;

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

bool Prover::hasCounts() const {
  return llvm::any_of(groups, [&](const Group &group) {
    return llvm::any_of(getCarried(group), [&](Value value) {
      return program.getNumber(value) >= 0 && isSum(value.getType()) &&
             !program.isTracked(value);
    });
  });
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
/// The final value of a number to which each turn adds the same; 0 for others.
/// Roles may count in loops of their own.
Expr Prover::getCount(const Path &path, Operation *op, unsigned number) const {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || table.getConstantValue(get(path, loop.getStep())) != 1)
    return 0;
  auto add = loop.getYieldedValues()[number].getDefiningOp<arith::AddIOp>();
  IntegerAttr increment;
  if (!add || add.getLhs() != loop.getRegionIterArg(number) ||
      !matchPattern(add.getRhs(), m_Constant(&increment)))
    return 0;
  Expr trips = table.add(get(path, loop.getUpperBound()),
                         get(path, loop.getLowerBound()), -1);
  return table.add(get(path, loop.getInitArgs()[number]), trips,
                   increment.getInt());
}

void Prover::endLoops(Path &path, int number, ArrayRef<Expr> results,
                      bool wasEntered) {
  const Group &group = groups[number];
  path.remainders.erase(number);
  // How many turns there were is asked anew, unless by another role.
  if (auto loop = dyn_cast<scf::ForOp>(group.loops.front());
      loop && path.tasks.size() == 1) {
    Expr trips = table.add(get(path, loop.getUpperBound()),
                           get(path, loop.getLowerBound()), -1);
    if (!table.getConstantValue(trips))
      path.facts.setInterval(table, trips, {});
  }
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
    for (OpResult result : loop->getResults()) {
      Expr expr = results[next];
      // Final values that are not constants are told apart by place only.
      bool isOpen = wasEntered && expr && !table.getConstantValue(expr);
      Expr count = isOpen ? getCount(path, loop, result.getResultNumber()) : 0;
      if (count) {
        expr = count;
      } else if (isOpen) {
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
