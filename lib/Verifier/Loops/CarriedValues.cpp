//===- CarriedValues.cpp - Loop-carried values of groups ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes are found by partition refinement: all values that begin equal
// are one class, and a class is split when its values differ at the end of an
// iteration. This is optimistic, so every split makes the search start over; a
// group has at most as many classes as values. Constants that keep growing are
// widened (Cousot and Cousot, "Abstract interpretation", 1977): beyond
// `kLargestCount` a number is named by its class.
//
// At the start of an iteration the variable of a class is assigned the value
// that the class has then. Facts about the variable are forgotten, or, where
// counts are related, renamed: after `c = c + 1` a fact about mask[i] - c
// becomes one about mask[i] - (c - 1).
//
// Where the loop counts iterations itself, the number needs no class: it is a
// sum of the induction variable, whose facts are renamed in the same way. So
// `c` of an iteration ahead and `c` of the present one are compared exactly.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/CarriedValues.h"

#include "Verifier/Symbolic/InductionFacts.h"
#include "Verifier/Symbolic/LinearOffsets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// Constants up to this are kept exact; larger ones are widened. Also the
/// largest difference of two values of one class.
static constexpr int64_t kLargestCount = 4;

Block::BlockArgListType verifier::getCarried(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getRegionIterArgs();
  return cast<scf::WhileOp>(op).getBeforeArguments();
}

void CarriedValues::add(const LoopGroup &group) {
  GroupRecord record;
  for (auto [number, loop] : llvm::enumerate(group.loops))
    for (BlockArgument value : getCarried(loop)) {
      record.values.push_back(value);
      record.counters.push_back(findCounter(loop, number, value));
    }
  records.push_back(std::move(record));
}

std::optional<CarriedValues::Counter>
CarriedValues::findCounter(Operation *op, unsigned number,
                           BlockArgument carried) {
  auto loop = dyn_cast<scf::ForOp>(op);
  std::optional<int64_t> increment =
      loop ? getIncrement(loop, carried) : std::nullopt;
  if (!increment || *increment == 0)
    return std::nullopt;
  int64_t step = *getConstantIntValue(loop.getStep());
  if (*increment % step != 0)
    return std::nullopt;
  return Counter{number, *increment, *increment / step};
}

bool CarriedValues::hasCounts() const {
  return llvm::any_of(records, [&](const GroupRecord &record) {
    return llvm::any_of(record.values, [&](Value value) {
      return context.program.getNumber(value) >= 0 && isSum(value.getType()) &&
             !context.program.isTracked(value);
    });
  });
}

//===----------------------------------------------------------------------===//
// Refining the abstraction
//===----------------------------------------------------------------------===//

/// Whether the carried value at `place` stays a constant.
bool CarriedValues::isConstant(const GroupRecord &record, unsigned place,
                               Expr value) const {
  return context.table.getConstantValue(value) &&
         (context.program.isTracked(record.values[place]) ||
          !record.widened.count(place));
}

bool CarriedValues::widen(const LoopGroup &group, ArrayRef<Expr> carried) {
  GroupRecord &record = records[group.number];
  for (auto [i, value] : llvm::enumerate(record.values)) {
    std::optional<int64_t> constant =
        context.table.getConstantValue(carried[i]);
    if (constant && std::abs(*constant) > kLargestCount &&
        isConstant(record, i, carried[i]) &&
        !context.program.isTracked(value)) {
      LDBG() << "carried number " << i << " of loop group " << group.number
             << " is widened at " << *constant;
      record.widened.insert(i);
      context.countWidening();
      context.startOver();
    }
  }
  return context.startsOver();
}

/// Whether one variable can name two values of a carried one, or of two.
bool CarriedValues::fitOneClass(Value carried, Expr a, Expr b) const {
  if (a == b || !relatesCounts || !isSum(carried.getType()))
    return a == b;
  std::optional<int64_t> difference =
      context.table.getConstantValue(context.table.add(a, b, -1));
  return difference && std::abs(*difference) <= kLargestCount;
}

bool CarriedValues::split(const LoopGroup &group, ArrayRef<Expr> carried) {
  GroupRecord &record = records[group.number];
  bool isFirst = record.classes.empty();
  record.classes.resize(record.values.size());
  // The first value of each class; the classes that were split off each class.
  std::map<int64_t, Expr> representatives;
  std::multimap<int64_t, int64_t> parts;
  int64_t next = 0;
  for (int64_t number : record.classes)
    next = std::max(next, number + 1);
  bool changed = false;
  for (auto [i, value] : llvm::enumerate(record.values)) {
    if (context.program.getNumber(value) < 0 ||
        (isConstant(record, i, carried[i]) && !isFirst))
      continue;
    int64_t &number = record.classes[i];
    Expr first = representatives.try_emplace(number, carried[i]).first->second;
    if (fitOneClass(value, carried[i], first))
      continue;
    changed = true;
    auto [part, end] = parts.equal_range(number);
    while (part != end &&
           !fitOneClass(value, carried[i], representatives[part->second]))
      ++part;
    if (part == end) {
      representatives[next] = carried[i];
      part = parts.insert({number, next++});
    }
    number = part->second;
  }
  if (isFirst || !changed)
    return false;
  LDBG() << "carried values of loop group " << group.number
         << " have become different";
  context.startOver();
  return true;
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// The name of a carried value where `atom` is the name of `base`.
Expr CarriedValues::rename(Value carried, Expr atom, Expr value,
                           Expr base) const {
  if (!isSum(carried.getType()))
    return atom;
  return context.table.add(context.table.getInteger(atom),
                           context.table.add(value, base, -1));
}

/// The name of a number that counts iterations. Later ones have the name of the
/// first one, as the induction variable is renamed: what one iteration of the
/// group has added is taken away again.
Expr CarriedValues::getCount(const LoopGroup &group, const Counter &counter,
                             Expr carried, bool isFirst,
                             ArrayRef<Expr> counts) const {
  if (isFirst)
    return context.table.add(carried, counts[counter.loop], counter.factor);
  return context.table.addConstant(carried, -counter.increment *
                                                group.factors[counter.loop]);
}

/// Assigns `value` to the variable of a class.
void CarriedValues::moveClass(Path &path, const LoopGroup &group, Expr atom,
                              Expr value, bool isFirst) {
  ExpressionTable &table = context.table;
  if (value == atom || value == table.getInteger(atom))
    return;
  if (!relatesCounts || table.getKind(value) != ExpressionTable::Kind::Linear)
    return path.facts.forget(table, atom);
  InductionFacts facts(table, path.facts, inductions.get(group.number));
  Expr sum = table.getInteger(atom), step = table.add(value, sum, -1);
  if (isFirst) {
    path.facts.forget(table, atom);
    facts.relate(atom, value);
  } else if (table.getConstantValue(step)) {
    path.facts.substitute(table, atom, table.add(sum, step, -1));
    facts.keepElements(atom);
  } else {
    path.facts.forget(table, atom);
  }
}

void CarriedValues::begin(Path &path, const LoopGroup &group,
                          ArrayRef<Expr> carried, bool isFirst,
                          ArrayRef<Expr> counts) {
  const GroupRecord &record = records[group.number];
  // The value that the variable of each class is assigned.
  std::map<Expr, Expr> bases;
  for (auto [i, value] : llvm::enumerate(record.values)) {
    if (context.program.getNumber(value) < 0)
      continue;
    if (isConstant(record, i, carried[i])) {
      values.set(path, value, carried[i]);
      continue;
    }
    if (record.counters[i]) {
      values.set(
          path, value,
          getCount(group, *record.counters[i], carried[i], isFirst, counts));
      continue;
    }
    Expr atom = context.table.getAtom(
        {AtomKind::Carried, group.number, record.classes[i]}, {},
        /*isVariable=*/true);
    Expr base = bases.try_emplace(atom, carried[i]).first->second;
    values.set(path, value, rename(value, atom, carried[i], base));
  }
  for (auto [atom, base] : bases)
    moveClass(path, group, atom, base, isFirst);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The value after iterations up to `end`, or all if it is 0, of a number to
/// which each adds the same constant; 0 for others. With it, tasks may count in
/// loops of their own.
Expr CarriedValues::getFinalCount(const Path &path, Operation *op,
                                  unsigned number, Expr end) const {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop ||
      context.table.getConstantValue(values.get(path, loop.getStep())) != 1)
    return 0;
  auto add = loop.getYieldedValues()[number].getDefiningOp<arith::AddIOp>();
  IntegerAttr increment;
  if (!add || add.getLhs() != loop.getRegionIterArg(number) ||
      !matchPattern(add.getRhs(), m_Constant(&increment)))
    return 0;
  Expr trips =
      context.table.add(end ? end : values.get(path, loop.getUpperBound()),
                        values.get(path, loop.getLowerBound()), -1);
  return context.table.add(values.get(path, loop.getInitArgs()[number]), trips,
                           increment.getInt());
}

SmallVector<Expr> CarriedValues::end(Path &path, const LoopGroup &group,
                                     ArrayRef<Expr> results, bool wasEntered,
                                     ArrayRef<Expr> ends) {
  unsigned next = 0;
  SmallVector<Expr> named;
  std::map<Expr, Expr> bases;
  for (auto [loop, end] : llvm::zip_equal(group.loops, ends))
    for (OpResult result : loop->getResults()) {
      Expr expr = results[next];
      // A constant stays. Another value is named by the loop and its class, as
      // it is not the one that the variable of the class has next.
      bool isOpen = wasEntered && expr && !context.table.getConstantValue(expr);
      Expr count =
          isOpen ? getFinalCount(path, loop, result.getResultNumber(), end) : 0;
      if (count) {
        expr = count;
      } else if (isOpen) {
        // Results of scf.while may be others than the carried values.
        int64_t place = isa<scf::ForOp>(loop)
                            ? records[group.number].classes[next]
                            : int64_t(next) + (1 << 20);
        Expr atom = context.table.getAtom(
            {AtomKind::LoopResult, group.number, place}, {},
            /*isVariable=*/true);
        path.facts.forget(context.table, atom);
        Expr base = bases.try_emplace(atom, expr).first->second;
        expr = rename(result, atom, expr, base);
      }
      values.set(path, result, expr);
      named.push_back(expr);
      ++next;
    }
  return named;
}
