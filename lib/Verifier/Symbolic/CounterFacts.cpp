//===- CounterFacts.cpp - What is known of loops' counters ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

/// Whether `e` depends on an element counted by `counter`, not on the count
/// alone.
static bool hasElement(const ExpressionTable &table, Expr e, Expr counter) {
  if (table.getKind(e) == Kind::Atom)
    return e != counter && table.mentions(e, counter);
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return hasElement(table, operand, counter);
  });
}

void PathFacts::relate(ExpressionTable &table, Expr counter, Expr atom,
                       Expr value) {
  Expr zero = table.add(table.getInteger(atom), value, -1);
  for (auto [sum, interval] : std::map<Expr, Interval>(bounds))
    for (auto [element, factor] : table.getTerms(sum))
      if (hasElement(table, element, counter)) {
        // What is asked for is a difference.
        setInterval(table, table.add(sum, zero, factor > 0 ? -1 : 1), interval);
        break;
      }
}

void PathFacts::keepElements(const ExpressionTable &table, Expr counter,
                             Expr atom) {
  auto isStale = [&](const auto &entry) {
    return table.mentions(entry.first, atom) &&
           !hasElement(table, entry.first, counter);
  };
  eraseIf(bounds, isStale);
  eraseIf(truths, isStale);
}

/// Whether `e` is computed from an element of a memory.
static bool readsElement(const ExpressionTable &table, Expr e) {
  bool isAtom = table.getKind(e) == Kind::Atom;
  return (isAtom && table.getName(e)[0] == ExpressionTable::kElement) ||
         llvm::any_of(table.getOperands(e), [&](Expr operand) {
           return readsElement(table, operand);
         });
}

void PathFacts::enter(ExpressionTable &table, Expr counter, Expr first,
                      Expr step, int64_t turns,
                      const OpenConditions &questions) {
  PathFacts entered = *this;
  // What has become known of an element by its new name is not asked for by the
  // old one again.
  auto enterFlag = [&](Expr flag, Expr former) {
    auto it = truths.find(former);
    if (it == truths.end() || flag == former)
      return;
    entered.truths[flag] = it->second;
    entered.truths.erase(former);
  };
  auto enterSum = [&](Expr sum, Expr former) {
    if (table.getConstantValue(sum))
      return;
    Interval interval = getInterval(table, former);
    if (interval.low != INT64_MIN || interval.high != INT64_MAX)
      entered.setInterval(table, sum, interval);
    if (table.getConstantValue(former))
      return;
    enterFlag(table.getZero(sum), table.getZero(former));
    if (readsElement(table, former))
      entered.setInterval(table, former, {});
  };
  for (Expr subject : questions.get())
    for (int64_t turn = -turns; turn <= turns; ++turn) {
      Expr moved = table.add(table.getInteger(counter), step, -turn);
      Expr asked = table.substitute(subject, counter, moved);
      Expr former = table.substitute(asked, counter, first);
      if (table.getKind(subject) == Kind::Atom)
        enterFlag(asked, former);
      else
        enterSum(asked, former);
    }
  *this = std::move(entered);
}

/// Whether `e` depends on a sum that lies before `counter`: such an element is
/// not asked for again.
static bool liesBefore(const ExpressionTable &table, Expr e, Expr counter,
                       Expr step, bool isIndex = false) {
  if (!table.mentions(e, counter))
    return false;
  if (isIndex && table.getKind(e) == Kind::Linear) {
    int64_t factor = 0, ahead = table.getOffset(e);
    auto terms = table.getTerms(e);
    for (auto [atom, f] : terms)
      if (atom == counter)
        factor = f;
    for (auto [stepAtom, stepFactor] : table.getTerms(step))
      for (auto [atom, f] : terms)
        if (atom == stepAtom)
          ahead = std::min(ahead * factor, f * stepFactor * factor) * factor;
    if (ahead * factor < 0)
      return true;
  }
  bool isAtom = table.getKind(e) == Kind::Atom;
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return operand != counter &&
           liesBefore(table, operand, counter, step, isAtom);
  });
}

/// Whether `condition` compares a sum with `counter` that nobody asks for.
static bool isSettled(ExpressionTable &table, Expr condition, Expr counter,
                      Expr step, int64_t reach,
                      const OpenConditions &questions) {
  if (table.getKind(condition) != Kind::Zero)
    return false;
  Expr sum = table.getOperands(condition)[0];
  bool isTerm = false;
  for (auto [atom, factor] : table.getTerms(sum)) {
    isTerm |= atom == counter;
    if (atom != counter && table.mentions(atom, counter))
      return false;
  }
  std::optional<int64_t> width = table.getConstantValue(step);
  return isTerm &&
         !(width && questions.mayFollow(table, sum, counter, *width, reach));
}

/// Gives up bounds that are further than `reach` from all numbers at which the
/// answer to a question changes: an interval may grow, up to where they matter.
static void loosen(PathFacts::Interval &interval, ArrayRef<int64_t> constants,
                   int64_t reach) {
  PathFacts::Interval loose;
  for (int64_t constant : constants) {
    int64_t change = -constant;
    if (interval.low >= change - reach)
      loose.low = std::max(loose.low, std::min(interval.low, change + reach));
    if (interval.high <= change + reach)
      loose.high =
          std::min(loose.high, std::max(interval.high, change - reach));
  }
  interval = loose;
}

void PathFacts::trim(ExpressionTable &table, Expr counter, Expr step,
                     int64_t start, int64_t reach, bool isShort,
                     const OpenConditions &questions) {
  eraseIf(truths, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step) ||
           isSettled(table, entry.first, counter, step, reach, questions);
  });
  eraseIf(bounds, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step, /*isIndex=*/true);
  });
  std::optional<int64_t> width = table.getConstantValue(step);
  eraseIf(bounds, [&](auto &entry) {
    if (!table.mentions(entry.first, counter))
      return false;
    Interval &interval = entry.second;
    if (isShort && interval.low == interval.high)
      return false;
    auto constants = questions.getConstants(table, entry.first, counter);
    // Where all answers are the same from now on the distance does not matter.
    if (!constants.empty() && width) {
      bool grows = table.getFactor(entry.first, counter) * *width > 0;
      if (grows && interval.low > -constants.front())
        interval = {-constants.front() + 1, INT64_MAX};
      if (!grows && interval.high < -constants.back())
        interval = {INT64_MIN, -constants.back() - 1};
    }
    if (constants.empty())
      loosen(interval, {0}, start + reach);
    else
      loosen(interval, constants, reach);
    return interval.low == INT64_MIN && interval.high == INT64_MAX;
  });
}
