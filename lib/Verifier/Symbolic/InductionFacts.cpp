//===- InductionFacts.cpp - Facts about an induction variable -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts enter a loop by renaming: each condition that the loop is known to ask
// for is looked up with the first value of the induction variable in its place.
// At the end of an iteration the caller renames i to i - step, and `trim`
// widens (Cousot and Cousot, "Abstract interpretation", 1977) what is left, or
// a loop of unknown length would have a new state in each iteration:
//
//   * an element at an index that i has passed is not read again;
//   * `i - 7 == 0` is settled once i is beyond 7;
//   * a fact about a quotient of i is kept if one of the next iterations asks
//     for it;
//   * a comparison of a quotient that only repeats after some iterations may be
//     forgotten: i % 3 < n is decided anew three iterations later;
//   * an interval of i - n is widened up to the next constant at which the
//     answer to a condition changes, give or take the reach.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/InductionFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

//===----------------------------------------------------------------------===//
// Loop-carried values
//===----------------------------------------------------------------------===//

/// Whether `e` depends on an element, not on the variable alone.
bool InductionFacts::hasElement(Expr e) const {
  if (table.getKind(e) == Kind::Atom)
    return e != variable && table.mentions(e, variable);
  return llvm::any_of(table.getOperands(e),
                      [&](Expr operand) { return hasElement(operand); });
}

void InductionFacts::relate(Expr atom, Expr value) {
  Expr zero = table.add(table.getInteger(atom), value, -1);
  for (auto [sum, interval] : std::map<Expr, Interval>(facts.getIntervals()))
    for (auto [element, factor] : table.getTerms(sum))
      if (hasElement(element)) {
        // The sign makes it the difference of the element and the atom.
        facts.setInterval(table, table.add(sum, zero, factor > 0 ? -1 : 1),
                          interval);
        break;
      }
}

void InductionFacts::keepElements(Expr atom) {
  facts.eraseIf(
      [&](Expr e) { return table.mentions(e, atom) && !hasElement(e); });
}

//===----------------------------------------------------------------------===//
// Entering a loop
//===----------------------------------------------------------------------===//

/// Whether `e` is computed from the result of a load or another operation,
/// which `variable` is an operand of.
static bool hasResultFor(const ExpressionTable &table, Expr e, Expr variable) {
  if (!table.mentions(e, variable))
    return false;
  if (table.getKind(e) == Kind::Atom)
    if (int64_t kind = table.getName(e)[0]; kind == AtomKind::Element ||
                                            kind == AtomKind::PureResult ||
                                            kind == AtomKind::Choice)
      return true;
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return hasResultFor(table, operand, variable);
  });
}

void InductionFacts::enter(Expr first, Expr step, int64_t iterations,
                           const OpenConditions &asked) {
  PathFacts entered = facts;
  // An element is asked for by its new name from here on. What follows for a
  // predicate is of use if it was asked for before the loop: with a fact about
  // a later iteration, more states differ.
  auto enterFlag = [&](Expr flag, Expr former, bool mayBeAsked = true) {
    std::optional<bool> holds = facts.getTruth(former);
    // A comparison with a bound is no predicate.
    if (!holds && mayBeAsked && isPredicate(table, flag))
      holds = facts.decide(table, getInterpreted(table, former));
    if (!holds || flag == former)
      return;
    entered.setTruth(flag, *holds);
    entered.eraseTruth(former);
  };
  auto enterSum = [&](Expr sum, Expr former, bool isRenamed) {
    if (table.getConstantValue(sum))
      return;
    // A comparison of a quotient is one of what is divided.
    Interval interval = facts.getFact(table, former)
                            .intersect(facts.getFactOfQuotients(table, former));
    if (!interval.isFull())
      entered.setInterval(table, sum, interval);
    if (table.getConstantValue(former))
      return;
    enterFlag(table.getZero(sum), table.getZero(former));
    if (isRenamed)
      entered.setInterval(table, former, {});
  };
  SmallVector<Expr> variables;
  for (int64_t k = -iterations; k <= iterations; ++k)
    variables.push_back(table.add(table.getInteger(variable), step, -k));
  for (Expr subject : asked.getSubjects()) {
    bool isRenamed = hasResultFor(table, subject, variable);
    for (auto [number, moved] : llvm::enumerate(variables)) {
      Expr now = table.substitute(subject, variable, moved);
      Expr former = table.substitute(now, variable, first);
      if (table.getKind(subject) == Kind::Linear)
        enterSum(now, former, isRenamed);
      else
        enterFlag(now, former,
                  /*mayBeAsked=*/int64_t(number) >= iterations);
    }
  }
  facts = std::move(entered);
}

//===----------------------------------------------------------------------===//
// Next iterations
//===----------------------------------------------------------------------===//

/// Whether `e` depends on a sum that lies before the variable, as mask[i - 1]
/// does in a loop that counts up: no later iteration reads such an element.
bool InductionFacts::liesBefore(Expr e, Expr step, bool isIndex) const {
  if (!table.mentions(e, variable))
    return false;
  if (isIndex && table.getKind(e) == Kind::Linear) {
    int64_t factor = 0, ahead = table.getOffset(e);
    auto terms = table.getTerms(e);
    for (auto [atom, f] : terms)
      if (atom == variable)
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
    return operand != variable && liesBefore(operand, step, isAtom);
  });
}

/// Whether `condition` compares a sum of the variable with 0, and no later
/// iteration asks for that.
bool InductionFacts::isSettled(Expr condition, const Window &window,
                               const OpenConditions &asked) const {
  if (table.getKind(condition) != Kind::Zero)
    return false;
  Expr sum = table.getOperands(condition)[0];
  bool isTerm = false;
  for (auto [atom, factor] : table.getTerms(sum)) {
    isTerm |= atom == variable;
    if (atom != variable && table.mentions(atom, variable))
      return false;
  }
  std::optional<int64_t> width = table.getConstantValue(window.step);
  return isTerm && !(width && asked.mayAskForZero(table, sum, variable, *width,
                                                  window.reach));
}

/// Gives up bounds that are further than `reach` from all numbers at which the
/// answer to a condition changes, and moves the others up to these numbers.
static void loosen(Interval &interval, ArrayRef<int64_t> constants,
                   int64_t reach) {
  Interval loose;
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

/// Widens the interval of a sum; returns whether nothing is left of it.
bool InductionFacts::widen(Expr sum, Interval &interval, const Window &window,
                           const OpenConditions &asked) const {
  if (!table.mentions(sum, variable))
    return false;
  if (window.isShort && interval.low == interval.high)
    return false;
  auto constants = asked.getConstants(table, sum, variable);
  // Where the answers to all conditions stay the same from now on, the distance
  // from the last constant does not matter.
  std::optional<int64_t> width = table.getConstantValue(window.step);
  if (!constants.empty() && width) {
    bool grows = table.getFactor(sum, variable) * *width > 0;
    if (grows && interval.low > -constants.front())
      interval = {-constants.front() + 1, INT64_MAX};
    if (!grows && interval.high < -constants.back())
      interval = {INT64_MIN, -constants.back() - 1};
  }
  int64_t factor =
      std::max<int64_t>(std::abs(table.getFactor(sum, variable)), 1);
  if (constants.empty())
    loosen(interval, {0}, factor * (window.start + window.reach));
  else
    loosen(interval, constants, factor * window.reach);
  return interval.isFull();
}

/// Whether `e` depends on a quotient of the variable. Where this lies before
/// the variable is not seen from its terms.
bool InductionFacts::hasQuotient(Expr e) const {
  if (!table.mentions(e, variable))
    return false;
  if (table.getKind(e) == Kind::Atom &&
      table.getName(e)[0] == AtomKind::Quotient)
    return true;
  return llvm::any_of(table.getOperands(e),
                      [&](Expr operand) { return hasQuotient(operand); });
}

/// Whether `condition` is or has a predicate of the variable: where that lies
/// before the variable is not seen from it.
bool InductionFacts::hasPredicate(Expr condition) const {
  if (!table.mentions(condition, variable))
    return false;
  return isPredicate(table, condition) ||
         llvm::any_of(table.getOperands(condition),
                      [&](Expr part) { return hasPredicate(part); });
}

/// Whether this iteration or one of the next may ask for a flag, or for whether
/// a sum is 0.
bool InductionFacts::isAskedLater(Expr condition, const Window &window,
                                  const OpenConditions &asked) const {
  auto isAsked = [&](Expr part) {
    return asked.mayAskFor(table, part, variable, window.step,
                           window.iterations);
  };
  // Of some conjunctions a part was decided, and the rest is not asked for.
  return isAsked(condition) ||
         (table.getKind(condition) == Kind::And &&
          llvm::all_of(table.getOperands(condition), [&](Expr part) {
            return isAsked(table.getKind(part) == Kind::Not
                               ? table.getOperands(part)[0]
                               : part);
          }));
}

bool InductionFacts::trim(const Window &window, const OpenConditions &asked) {
  facts.eraseTruthsIf([&](Expr condition) {
    if (hasPredicate(condition) || (hasQuotient(condition) && !window.isShort))
      return !isAskedLater(condition, window, asked);
    return liesBefore(condition, window.step) ||
           isSettled(condition, window, asked);
  });
  bool hasForgotten = false;
  facts.eraseIntervalsIf([&](Expr sum, Interval &) {
    if (liesBefore(sum, window.step, /*isIndex=*/true))
      return true;
    bool isForgotten = window.forgetsRepeats && hasQuotient(sum) &&
                       !asked.mayAskAgain(table, sum, variable, window.step,
                                          window.iterations);
    hasForgotten |= isForgotten;
    return isForgotten;
  });
  facts.eraseIntervalsIf([&](Expr sum, Interval &interval) {
    Interval before = interval;
    bool isGone = widen(sum, interval, window, asked);
    if (interval.low != before.low || interval.high != before.high) {
      LDBG_OS([&](raw_ostream &os) {
        table.print(sum, os);
        os << " in " << before << " is widened to " << interval;
      });
    }
    return isGone;
  });
  return hasForgotten;
}
