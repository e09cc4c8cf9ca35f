//===- ProverConditions.cpp - What is known of conditions -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition that is open is decided both ways. How it depends on counters of
// loops is noted first: what was found out before a loop, where the counter was
// a constant, can then be told of the counter. If that is new all begins again.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

bool Prover::decide(Path &path, Expr condition) {
  for (;;) {
    if (std::optional<bool> known = path.facts.decide(table, condition))
      return *known;
    Expr part = path.facts.findUndecided(table, condition);
    if (noteCounters(part)) {
      restart = true;
      return false;
    }
    Path other = path;
    other.facts.assume(table, part, false);
    paths.push_back(std::move(other));
    path.facts.assume(table, part, true);
  }
}

/// Notes that `part`, if it depends on counters, is asked for; returns whether
/// that is new.
bool Prover::noteCounters(Expr part) {
  bool isNew = false;
  for (int group = 0; group < int(groups.size()); ++group) {
    Expr counter = groups[group].counter;
    if (!groups[group].isCounted || !table.mentions(part, counter))
      continue;
    isNew |= questions[group].add(table, part, counter);
    if (table.getKind(part) == Kind::Atom)
      continue;
    for (auto [atom, factor] : table.getTerms(table.getOperands(part)[0]))
      if (table.getName(atom)[0] == ExpressionTable::kQuotient &&
          table.mentions(atom, counter))
        isNew |= divided.insert(group).second;
  }
  return isNew;
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// The remainder of a sum of counters, which begin at constants.
std::optional<int64_t> Prover::getRemainder(const Path &path, Expr sum,
                                            int64_t divisor) {
  int64_t remainder = table.getOffset(sum);
  for (auto [atom, factor] : table.getTerms(sum)) {
    int group = 0;
    while (group < int(groups.size()) && groups[group].counter != atom)
      ++group;
    if (group == int(groups.size()))
      return std::nullopt;
    int64_t &modulus = moduli.try_emplace(group, 1).first->second;
    if (factor * modulus % divisor != 0) {
      modulus = std::lcm(modulus, divisor);
      restart = true;
      return std::nullopt;
    }
    auto known = path.remainders.find(group);
    if (known == path.remainders.end())
      return std::nullopt;
    remainder += factor * known->second;
  }
  return (remainder % divisor + divisor) % divisor;
}

/// The value of a sum of counters whose turns are told apart.
std::optional<int64_t> Prover::getExact(const Path &path, Expr sum) const {
  for (auto [atom, factor] : table.getTerms(sum))
    if (llvm::none_of(groups, [&, atom = atom](const Group &group) {
          return group.isShort && group.counter == atom;
        }))
      return std::nullopt;
  PathFacts::Interval interval = path.facts.getInterval(table, sum);
  return interval.low == interval.high ? std::optional(interval.low)
                                       : std::nullopt;
}

/// `sum` without multiples of quotients whose remainders are known.
Expr Prover::divideEvenly(const Path &path, Expr sum) {
  for (auto [atom, factor] : table.getTerms(sum)) {
    ArrayRef<int64_t> name = table.getName(atom);
    if (name[0] != ExpressionTable::kQuotient || factor % name[1] != 0)
      continue;
    int64_t divisor = name[1];
    Expr dividend = table.getOperands(atom)[0];
    std::optional<int64_t> remainder = getRemainder(path, dividend, divisor);
    if (!remainder)
      continue;
    Expr rest = table.add(sum, table.getInteger(atom), -factor);
    sum = table.add(rest, table.addConstant(dividend, -*remainder),
                    factor / divisor);
  }
  return sum;
}

void Prover::beginRemainder(Path &path, int group, Expr first) {
  path.remainders.erase(group);
  auto modulus = moduli.find(group);
  std::optional<int64_t> start = table.getConstantValue(first);
  if (modulus != moduli.end() && start)
    path.remainders[group] =
        (*start % modulus->second + modulus->second) % modulus->second;
}

void Prover::stepRemainder(Path &path, int group, Expr step) {
  auto known = path.remainders.find(group);
  if (known == path.remainders.end())
    return;
  if (std::optional<int64_t> width = table.getConstantValue(step))
    known->second = (known->second + *width) % moduli.at(group);
  else
    path.remainders.erase(known);
}
