//===- PathFacts.cpp - The path condition ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An abstract domain of intervals (Cousot and Cousot, "Abstract
// interpretation", 1977) over sums, and of truth values for all other
// conditions. `sum > 0` and `sum == 0` are decided by the interval of the sum;
// `sum == 0` also by its truth value, since "not 0" is no interval. Negations,
// conjunctions and disjunctions are decided by their operands. The facts are
// ordered by expression, so equal facts append equal bytes to a key.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/PathFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

Interval PathFacts::getInterval(ExpressionTable &table, Expr sum) const {
  return getFact(table, sum).intersect(table.getBounds(sum));
}

Interval PathFacts::getFact(ExpressionTable &table, Expr sum) const {
  if (std::optional<int64_t> value = table.getConstantValue(sum))
    return {*value, *value};
  auto [primitive, factor] = table.getMultiple(sum);
  auto it = intervals.find(primitive);
  Interval interval = it == intervals.end() ? Interval() : it->second;
  return interval.times(factor).add(table.getOffset(sum));
}

void PathFacts::setInterval(ExpressionTable &table, Expr sum,
                            Interval interval) {
  auto [primitive, factor] = table.getMultiple(sum);
  interval = interval.add(-table.getOffset(sum))
                 .times(factor < 0 ? -1 : 1)
                 .shrink(std::abs(factor));
  // What holds for all values is no fact, or equal states would differ.
  Interval bounds = table.getBounds(primitive);
  if (interval.low <= bounds.low)
    interval.low = INT64_MIN;
  if (interval.high >= bounds.high)
    interval.high = INT64_MAX;
  if (interval.isFull())
    intervals.erase(primitive);
  else
    intervals[primitive] = interval;
}

std::optional<bool> verifier::decideBy(Interval interval, Kind kind) {
  if (kind == Kind::Positive && interval.low > 0)
    return true;
  if (kind == Kind::Positive && interval.high <= 0)
    return false;
  if (kind == Kind::Zero && (interval.low > 0 || interval.high < 0))
    return false;
  if (kind == Kind::Zero && interval.low == 0 && interval.high == 0)
    return true;
  return std::nullopt;
}

std::optional<bool> PathFacts::decidePart(ExpressionTable &table,
                                          Expr part) const {
  if (isComparison(table.getKind(part))) {
    Expr sum = table.getOperands(part)[0];
    if (std::optional<bool> known =
            decideBy(getInterval(table, sum), table.getKind(part)))
      return known;
  }
  return getTruth(part);
}

std::optional<bool> PathFacts::decide(ExpressionTable &table,
                                      Expr condition) const {
  Kind kind = table.getKind(condition);
  if (kind == Kind::Atom || isComparison(table.getKind(condition)))
    return decidePart(table, condition);
  std::optional<int64_t> value =
      table.getConstantValue(reduce(table, condition));
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::optional<bool> PathFacts::getTruth(Expr condition) const {
  auto it = truths.find(condition);
  return it == truths.end() ? std::nullopt : std::optional(it->second);
}

/// Whether a conjunction of fewer or as many parts is known not to hold.
bool PathFacts::isExcluded(ExpressionTable &table, Expr conjunction) const {
  ArrayRef<Expr> parts = table.getOperands(conjunction);
  table.countWork(truths.size() / 8);
  return llvm::any_of(truths, [&](const std::pair<const Expr, bool> &fact) {
    return table.getKind(fact.first) == Kind::And &&
           llvm::includes(parts, table.getOperands(fact.first));
  });
}

Expr PathFacts::simplify(ExpressionTable &table, Expr condition) const {
  SmallVector<Expr> operands(table.getOperands(condition));
  if (table.getKind(condition) == Kind::Not)
    return table.getNot(simplify(table, operands[0]));
  if (table.getKind(condition) != Kind::And)
    return condition;
  for (Expr &operand : operands) {
    operand = reduce(table, operand);
    if (table.getConstantValue(operand) == 0)
      return operand;
  }
  return table.getConjunction(operands);
}

/// `condition` without the parts that the facts imply, or a constant if they
/// imply it. Each part is looked at once: the cost of a condition is that of
/// its tree, however conjunctions and disjunctions are nested.
Expr PathFacts::reduce(ExpressionTable &table, Expr condition) const {
  if (table.getConstantValue(condition))
    return condition;
  Kind kind = table.getKind(condition);
  if (kind == Kind::Not)
    return table.getNot(reduce(table, table.getOperands(condition)[0]));
  if (kind != Kind::And) {
    std::optional<bool> known = decidePart(table, condition);
    return known ? table.getConstant(*known) : condition;
  }
  table.countWork(1);
  Expr open = simplify(table, condition);
  if (table.getConstantValue(open))
    return open;
  // A conjunction that does not hold may be known without what was implied.
  bool isFalse = isExcluded(table, condition) ||
                 (open != condition && table.getKind(open) == Kind::And &&
                  isExcluded(table, open));
  return isFalse ? table.getConstant(false) : open;
}

bool verifier::isFlag(const ExpressionTable &table, Expr condition) {
  if (table.getKind(condition) == Kind::Atom)
    return true;
  if (!isComparison(table.getKind(condition)))
    return llvm::all_of(table.getOperands(condition),
                        [&](Expr part) { return isFlag(table, part); });
  bool hasElement = false;
  for (auto [atom, factor] : table.getTerms(table.getOperands(condition)[0])) {
    int64_t kind = table.getName(atom)[0];
    // Other elements may be bounds of loops.
    hasElement |= kind == AtomKind::Element &&
                  llvm::any_of(table.getOperands(atom), [&](Expr index) {
                    return table.getConstantValue(index) ||
                           !table.getVariables(index).empty();
                  });
    // Facts relate loop-carried values to elements.
    if (kind == AtomKind::Carried || kind == AtomKind::LoopResult)
      return false;
  }
  return hasElement;
}

/// The first part that is no negation, no conjunction, and no flag unless
/// `takesFlags`; 0 if there is none.
static Expr findPart(const ExpressionTable &table, Expr condition,
                     bool takesFlags) {
  if (isComparison(table.getKind(condition)) ||
      table.getKind(condition) == Kind::Atom)
    return takesFlags || !isFlag(table, condition) ? condition : 0;
  for (Expr part : table.getOperands(condition))
    if (Expr found = findPart(table, part, takesFlags))
      return found;
  return 0;
}

Expr PathFacts::findUndecided(ExpressionTable &table, Expr condition,
                              bool joinsGuards) const {
  condition = simplify(table, condition);
  if (Expr part = findPart(table, condition, /*takesFlags=*/!joinsGuards))
    return part;
  return table.getKind(condition) == Kind::Not ? table.getOperands(condition)[0]
                                               : condition;
}

void PathFacts::assume(ExpressionTable &table, Expr part, bool holds) {
  LDBG_OS([&](raw_ostream &os) {
    os << "assume " << (holds ? "" : "not ");
    table.print(part, os);
  });
  Kind kind = table.getKind(part);
  SmallVector<Expr> operands(table.getOperands(part));
  if (kind == Kind::Not)
    return assume(table, operands[0], !holds);
  if (kind == Kind::And && holds) {
    for (Expr operand : operands)
      assume(table, operand, true);
    return;
  }
  if (isComparison(table.getKind(part)))
    assumeComparison(table, part, holds);
  else
    truths[part] = holds;
  propagate(table, part);
}

/// Whether the value of `condition` may depend on that of `part`: it has the
/// part, or both compare sums.
static bool mayDependOn(const ExpressionTable &table, Expr condition,
                        Expr part) {
  Kind kind = table.getKind(condition);
  if (kind == Kind::Not || kind == Kind::And)
    return llvm::any_of(table.getOperands(condition), [&](Expr operand) {
      return mayDependOn(table, operand, part);
    });
  return condition == part || (isComparison(table.getKind(condition)) &&
                               isComparison(table.getKind(part)));
}

/// Applies the value of `part` to the conjunctions that do not hold: of one
/// with a single open part, this part does not hold.
void PathFacts::propagate(ExpressionTable &table, Expr part) {
  SmallVector<Expr> conjunctions;
  for (auto [condition, holds] : truths)
    if (table.getKind(condition) == Kind::And &&
        (table.getKind(part) == Kind::And ||
         mayDependOn(table, condition, part)))
      conjunctions.push_back(condition);
  for (Expr conjunction : conjunctions) {
    Expr rest = simplify(table, conjunction);
    if (rest == conjunction || !truths.erase(conjunction))
      continue;
    if (table.getKind(rest) == Kind::And)
      truths[rest] = false;
    else if (!table.getConstantValue(rest))
      assume(table, rest, false);
  }
}

void PathFacts::assumeComparison(ExpressionTable &table, Expr part,
                                 bool holds) {
  Expr sum = table.getOperands(part)[0];
  Interval interval = getInterval(table, sum);
  if (table.getKind(part) == Kind::Positive) {
    if (holds)
      interval.low = std::max<int64_t>(interval.low, 1);
    else
      interval.high = std::min<int64_t>(interval.high, 0);
  } else if (holds) {
    interval = {0, 0};
  } else {
    truths[part] = false;
    // The bounds exclude an end that is 0.
    if (interval.low != 0 && interval.high != 0)
      return;
    interval.low += interval.low == 0;
    interval.high -= interval.high == 0;
  }
  setInterval(table, sum, interval);
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

/// The definition that `sum == 0` makes, where the sum is a remainder of n or
/// -n and a constant, by the atom of its quotient.
static std::optional<std::pair<Expr, Expr>>
findQuotient(ExpressionTable &table, Expr sum, Expr quotient) {
  Expr dividend = table.getOperands(quotient)[0];
  auto terms = table.getTerms(dividend);
  if (terms.size() != 1 || std::abs(terms[0].second) != 1)
    return std::nullopt;
  auto [atom, direction] = terms[0];
  int64_t divisor = table.getName(quotient)[1];
  Interval bounds = table.getBounds(quotient);
  bool isNatural = direction > 0 ? bounds.low >= 0 : bounds.high <= 0;
  Expr known = table.getAtom({AtomKind::KnownQuotient, divisor * direction,
                              table.getOffset(dividend), atom},
                             {}, /*isVariable=*/false, isNatural);
  int64_t sign = table.getFactor(sum, quotient) < 0 ? 1 : -1;
  Expr multiple =
      table.add(table.getConstant(0), table.getInteger(known), divisor);
  return std::pair(atom, table.addConstant(multiple, -sign * direction *
                                                         table.getOffset(sum)));
}

std::optional<std::pair<Expr, Expr>>
PathFacts::findDefinition(ExpressionTable &table, Expr sum) {
  if (!table.getVariables(sum).empty())
    return std::nullopt;
  if (Expr quotient = table.getRemainderOf(sum))
    return findQuotient(table, sum, quotient);
  auto terms = table.getTerms(sum);
  for (auto [atom, factor] : llvm::reverse(terms)) {
    if (std::abs(factor) != 1)
      continue;
    Expr by = table.add(table.getInteger(atom), sum, -factor);
    if (!table.contains(by, atom))
      return std::pair(atom, by);
  }
  return std::nullopt;
}

void PathFacts::define(ExpressionTable &table, Expr atom, Expr by) {
  // What is known about the atom now holds for the sum.
  Interval interval = getInterval(table, table.getInteger(atom));
  substitute(table, atom, by);
  for (auto &[other, sum] : definitions)
    sum = table.substitute(sum, atom, by);
  definitions[atom] = by;
  if (!table.getConstantValue(by))
    setInterval(table, by, interval.intersect(getInterval(table, by)));
}

Expr PathFacts::resolve(ExpressionTable &table, Expr e) const {
  for (auto [atom, by] : definitions)
    e = table.substitute(e, atom, by);
  return e;
}

//===----------------------------------------------------------------------===//
// Forgetting and renaming
//===----------------------------------------------------------------------===//

/// std::erase_if is part of C++20.
template <typename MapT, typename FnT>
static void eraseEntries(MapT &map, FnT matches) {
  for (auto it = map.begin(); it != map.end();)
    it = matches(*it) ? map.erase(it) : std::next(it);
}

void PathFacts::eraseTruthsIf(llvm::function_ref<bool(Expr)> isStale) {
  eraseEntries(truths, [&](auto &entry) { return isStale(entry.first); });
}

void PathFacts::eraseIntervalsIf(
    llvm::function_ref<bool(Expr, Interval &)> isStale) {
  eraseEntries(intervals,
               [&](auto &entry) { return isStale(entry.first, entry.second); });
}

void PathFacts::eraseIf(llvm::function_ref<bool(Expr)> isStale) {
  eraseIntervalsIf([&](Expr sum, Interval &) { return isStale(sum); });
  eraseTruthsIf(isStale);
}

void PathFacts::forget(const ExpressionTable &table, Expr atom) {
  eraseIf([&](Expr e) { return table.mentions(e, atom); });
}

void PathFacts::keepOnly(const ExpressionTable &table,
                         const VariableSet &variables) {
  eraseIf([&](Expr e) {
    return llvm::any_of(table.getVariables(e), [&](Expr variable) {
      return !variables.count(variable);
    });
  });
}

void PathFacts::substitute(ExpressionTable &table, Expr atom, Expr by) {
  std::map<Expr, Interval> oldIntervals = std::exchange(intervals, {});
  std::map<Expr, bool> oldTruths = std::exchange(truths, {});
  for (auto &[sum, interval] : oldIntervals) {
    Expr renamed = table.substitute(sum, atom, by);
    if (std::optional<int64_t> value = table.getConstantValue(renamed))
      contradictory |= *value < interval.low || *value > interval.high;
    else
      setInterval(table, renamed,
                  interval.intersect(getInterval(table, renamed)));
  }
  for (auto &[condition, holds] : oldTruths) {
    Expr renamed = table.substitute(condition, atom, by);
    if (std::optional<int64_t> value = table.getConstantValue(renamed))
      contradictory |= holds != (*value != 0);
    else
      contradictory |=
          !truths.insert({renamed, holds}).second && truths[renamed] != holds;
  }
}

//===----------------------------------------------------------------------===//
// Keys and printing
//===----------------------------------------------------------------------===//

void verifier::appendTo(std::string &key, int64_t value) {
  constexpr int64_t kEscape = -128;
  bool isShort = value > kEscape && value <= 127;
  key.push_back(char(isShort ? value : kEscape));
  if (!isShort)
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void PathFacts::appendTo(std::string &key) const {
  auto append = [&](int64_t value) { verifier::appendTo(key, value); };
  append(intervals.size());
  for (auto &[sum, interval] : intervals) {
    append(sum);
    append(interval.low);
    append(interval.high);
  }
  append(truths.size());
  for (auto [condition, holds] : truths)
    append(int64_t(condition) * 2 + holds);
  for (auto [atom, by] : definitions) {
    append(atom);
    append(by);
  }
}

raw_ostream &verifier::operator<<(raw_ostream &os, const Interval &interval) {
  os << "[";
  if (interval.low != INT64_MIN)
    os << interval.low;
  os << ", ";
  if (interval.high != INT64_MAX)
    os << interval.high;
  return os << "]";
}

void PathFacts::print(const ExpressionTable &table, raw_ostream &os) const {
  llvm::ListSeparator separator;
  for (auto &[sum, interval] : intervals) {
    os << separator;
    table.print(sum, os);
    os << " in " << interval;
  }
  for (auto [condition, holds] : truths) {
    os << separator << (holds ? "" : "not ");
    table.print(condition, os);
  }
  for (auto [atom, by] : definitions) {
    os << separator;
    table.print(atom, os);
    os << " is ";
    table.print(by, os);
  }
}
