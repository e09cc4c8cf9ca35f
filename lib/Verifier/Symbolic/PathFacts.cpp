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

#include "Verifier/Symbolic/OrientedSum.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

static int64_t addBound(int64_t bound, int64_t value) {
  return bound == INT64_MIN || bound == INT64_MAX ? bound : bound + value;
}
static int64_t negateBound(int64_t bound) {
  if (bound == INT64_MIN)
    return INT64_MAX;
  return bound == INT64_MAX ? INT64_MIN : -bound;
}

PathFacts::Interval PathFacts::getInterval(ExpressionTable &table,
                                           Expr sum) const {
  if (std::optional<int64_t> value = table.getConstantValue(sum))
    return {*value, *value};
  OrientedSum oriented(table, sum);
  auto it = intervals.find(oriented.homogeneous);
  Interval interval = it == intervals.end() ? Interval() : it->second;
  if (oriented.sign < 0)
    interval = {negateBound(interval.high), negateBound(interval.low)};
  return {addBound(interval.low, oriented.offset),
          addBound(interval.high, oriented.offset)};
}

void PathFacts::setInterval(ExpressionTable &table, Expr sum,
                            Interval interval) {
  OrientedSum oriented(table, sum);
  interval = {addBound(interval.low, -oriented.offset),
              addBound(interval.high, -oriented.offset)};
  if (oriented.sign < 0)
    interval = {negateBound(interval.high), negateBound(interval.low)};
  if (interval.isFull())
    intervals.erase(oriented.homogeneous);
  else
    intervals[oriented.homogeneous] = interval;
}

std::optional<bool> PathFacts::decide(ExpressionTable &table,
                                      Expr condition) const {
  if (std::optional<int64_t> value = table.getConstantValue(condition))
    return *value != 0;
  SmallVector<Expr, 2> operands(table.getOperands(condition));
  switch (table.getKind(condition)) {
  case Kind::Positive: {
    Interval interval = getInterval(table, operands[0]);
    if (interval.low > 0)
      return true;
    return interval.high <= 0 ? std::optional(false) : std::nullopt;
  }
  case Kind::Zero: {
    Interval interval = getInterval(table, operands[0]);
    if (interval.low > 0 || interval.high < 0)
      return false;
    if (interval.low == 0 && interval.high == 0)
      return true;
    break;
  }
  case Kind::Not: {
    std::optional<bool> inner = decide(table, operands[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  case Kind::And:
  case Kind::Or: {
    bool decisive = table.getKind(condition) == Kind::Or;
    std::optional<bool> a = decide(table, operands[0]);
    std::optional<bool> b = decide(table, operands[1]);
    if (a == decisive || b == decisive)
      return decisive;
    return a && b ? std::optional(!decisive) : std::nullopt;
  }
  default:
    break;
  }
  return getTruth(condition);
}

std::optional<bool> PathFacts::getTruth(Expr condition) const {
  auto it = truths.find(condition);
  return it == truths.end() ? std::nullopt : std::optional(it->second);
}

Expr PathFacts::findUndecided(ExpressionTable &table, Expr condition) const {
  Kind kind = table.getKind(condition);
  if (kind == Kind::Not)
    return findUndecided(table, table.getOperands(condition)[0]);
  if (kind != Kind::And && kind != Kind::Or)
    return condition;
  SmallVector<Expr, 2> operands(table.getOperands(condition));
  return findUndecided(table,
                       decide(table, operands[0]) ? operands[1] : operands[0]);
}

void PathFacts::assume(ExpressionTable &table, Expr part, bool holds) {
  LDBG_OS([&](raw_ostream &os) {
    os << "assume " << (holds ? "" : "not ");
    table.print(part, os);
  });
  Kind kind = table.getKind(part);
  if (kind != Kind::Positive && kind != Kind::Zero) {
    truths[part] = holds;
    return;
  }
  Expr sum = table.getOperands(part)[0];
  Interval interval = getInterval(table, sum);
  if (kind == Kind::Positive) {
    if (holds)
      interval.low = std::max<int64_t>(interval.low, 1);
    else
      interval.high = std::min<int64_t>(interval.high, 0);
  } else if (holds) {
    interval = {0, 0};
  } else {
    truths[part] = false;
    return;
  }
  setInterval(table, sum, interval);
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
    if (!table.getConstantValue(renamed))
      setInterval(table, renamed, interval);
  }
  for (auto &[condition, holds] : oldTruths) {
    Expr renamed = table.substitute(condition, atom, by);
    if (!table.getConstantValue(renamed))
      truths[renamed] = holds;
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
  for (auto [condition, holds] : truths)
    append(int64_t(condition) * 2 + holds);
}

raw_ostream &verifier::operator<<(raw_ostream &os,
                                  const PathFacts::Interval &interval) {
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
}
