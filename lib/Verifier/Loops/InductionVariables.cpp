//===- InductionVariables.cpp - Induction variables of groups -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An induction variable i of unknown length is an atom. Three abstractions keep
// what conditions need of its value, and each is as fine as the conditions that
// paths have come to:
//
//   * facts about the sums and flags that conditions ask for (OpenConditions);
//   * i modulo the least common multiple of all divisors of i (the congruence
//     domain: Granger, "Static analysis of arithmetical congruences", 1989),
//     known in each iteration if that of its first value and of the step are;
//   * i itself, in loops with few iterations and constant bounds whose variable
//     is divided.
//
// A condition that asks for more than is kept makes the search start over.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/InductionVariables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// Quotients are added up for common divisors up to this.
static constexpr int64_t kMostTogether = 64;

void InductionVariables::add(bool isCounted) {
  Variable variable;
  variable.atom = context.table.getAtom(
      {AtomKind::Induction, int64_t(variables.size())}, {},
      /*isVariable=*/true);
  variable.isCounted = isCounted;
  variables.push_back(std::move(variable));
}

bool InductionVariables::note(Expr condition) {
  using Kind = ExpressionTable::Kind;
  ExpressionTable &table = context.table;
  bool isNew = false;
  Kind kind = table.getKind(condition);
  if (kind == Kind::Not || kind == Kind::And)
    for (Expr part : SmallVector<Expr>(table.getOperands(condition)))
      isNew |= note(part);
  if (kind == Kind::Not)
    return isNew;
  for (Variable &variable : variables) {
    if (!variable.isCounted || !table.mentions(condition, variable.atom))
      continue;
    if (variable.asked.add(table, condition, variable.atom)) {
      isNew = true;
      LDBG_OS([&](raw_ostream &os) {
        os << "conditions ask for ";
        variable.asked.print(table, os);
      });
    }
    if (!isComparison(table.getKind(condition)))
      continue;
    for (auto [atom, factor] : table.getTerms(table.getOperands(condition)[0]))
      if (table.getName(atom)[0] == AtomKind::Quotient &&
          table.mentions(atom, variable.atom) &&
          !std::exchange(variable.isDivided, true))
        isNew = true;
  }
  return isNew;
}

//===----------------------------------------------------------------------===//
// Values in an iteration
//===----------------------------------------------------------------------===//

/// The remainder of a division that is rounded down.
static int64_t getFloorRemainder(int64_t value, int64_t divisor) {
  return (value % divisor + divisor) % divisor;
}

/// The remainder of a sum that is a constant and multiples of `divisor`.
static std::optional<int64_t> getConstantRemainder(ExpressionTable &table,
                                                   Expr sum, int64_t divisor) {
  return table.getConstantValue(
      table.add(sum, table.getQuotient(sum, divisor), -divisor));
}

void InductionVariables::begin(Path &path, int group, Expr first) const {
  path.remainders.erase(group);
  std::optional<int64_t> modulus = variables[group].modulus;
  if (!modulus)
    return;
  if (std::optional<int64_t> start =
          getConstantRemainder(context.table, first, *modulus))
    path.remainders[group] = *start;
}

void InductionVariables::step(Path &path, int group, Expr step) const {
  auto known = path.remainders.find(group);
  if (known == path.remainders.end())
    return;
  int64_t modulus = *variables[group].modulus;
  if (std::optional<int64_t> width =
          getConstantRemainder(context.table, step, modulus))
    known->second = (known->second + *width) % modulus;
  else
    path.remainders.erase(known);
}

std::optional<int> InductionVariables::findGroup(Expr atom) const {
  for (auto [group, variable] : llvm::enumerate(variables))
    if (variable.atom == atom)
      return group;
  return std::nullopt;
}

/// The remainder of a sum of induction variables.
std::optional<int64_t>
InductionVariables::getRemainder(const Path &path, Expr sum, int64_t divisor) {
  int64_t remainder = context.table.getOffset(sum);
  for (auto [atom, factor] : context.table.getTerms(sum)) {
    std::optional<int> group = findGroup(atom);
    if (!group)
      return std::nullopt;
    std::optional<int64_t> &modulus = variables[*group].modulus;
    modulus = modulus.value_or(1);
    if (factor * *modulus % divisor != 0) {
      modulus = std::lcm(*modulus, divisor);
      LDBG() << "induction variable of group " << *group << " is kept modulo "
             << *modulus;
      context.startOver();
      return std::nullopt;
    }
    auto known = path.remainders.find(*group);
    if (known == path.remainders.end())
      return std::nullopt;
    remainder += factor * known->second;
  }
  return getFloorRemainder(remainder, divisor);
}

Expr InductionVariables::getOutside(const Path &path, Expr sum) const {
  ExpressionTable &table = context.table;
  Expr outside = table.getConstant(0);
  bool hasVariable = false;
  for (auto [atom, factor] : table.getTerms(sum)) {
    if (std::optional<int> group = findGroup(atom)) {
      if (variables[*group].modulus && !path.remainders.count(*group))
        return 0;
      hasVariable = true;
      continue;
    }
    if (!table.getVariables(atom).empty() || std::abs(factor) != 1 ||
        !table.getTerms(outside).empty())
      return 0;
    outside = table.add(outside, table.getInteger(atom), factor);
  }
  return hasVariable && !table.getTerms(outside).empty() ? outside : 0;
}

/// The quotients in a sum, with their factors.
static ExpressionTable::Terms getQuotients(const ExpressionTable &table,
                                           Expr sum) {
  ExpressionTable::Terms quotients = table.getTerms(sum);
  llvm::erase_if(quotients, [&](const auto &term) {
    return table.getName(term.first)[0] != AtomKind::Quotient;
  });
  return quotients;
}

std::optional<int64_t> InductionVariables::getEvenDivisor(Expr sum) {
  ExpressionTable &table = context.table;
  int64_t common = 1;
  for (auto [atom, factor] : getQuotients(table, sum)) {
    common = std::lcm(common, table.getName(atom)[1]);
    if (common > kMostTogether)
      return std::nullopt;
  }
  // What is divided, times the common divisor.
  Expr numerator = table.getConstant(0);
  for (auto [atom, factor] : getQuotients(table, sum))
    numerator = table.add(numerator, table.getOperands(atom)[0],
                          factor * (common / table.getName(atom)[1]));
  bool isEven = llvm::all_of(table.getTerms(numerator), [&](const auto &term) {
    return term.second % common == 0;
  });
  return common > 1 && isEven ? std::optional(common) : std::nullopt;
}

/// The same as `divideEvenly` for quotients of which only the sum is even.
Expr InductionVariables::divideTogether(const Path &path, Expr sum) {
  ExpressionTable &table = context.table;
  ExpressionTable::Terms quotients = getQuotients(table, sum);
  if (quotients.size() < 2 || table.getVariables(sum).empty())
    return sum;
  std::optional<int64_t> common = getEvenDivisor(sum);
  if (!common)
    return sum;
  Expr numerator = table.getConstant(0), rest = sum;
  for (auto [atom, factor] : quotients) {
    int64_t divisor = table.getName(atom)[1];
    Expr dividend = table.getOperands(atom)[0];
    std::optional<int64_t> remainder = getRemainder(path, dividend, divisor);
    if (!remainder)
      return sum;
    numerator = table.add(numerator, table.addConstant(dividend, -*remainder),
                          factor * (*common / divisor));
    rest = table.add(rest, table.getInteger(atom), -factor);
  }
  // The whole is an integer, as the quotients are.
  Expr whole = table.divideExactly(dropConstant(table, numerator), *common);
  whole = table.addConstant(whole, table.getOffset(numerator) / *common);
  return table.add(rest, whole);
}

Expr InductionVariables::divideEvenly(const Path &path, Expr sum) {
  ExpressionTable &table = context.table;
  for (auto [atom, factor] : table.getTerms(sum)) {
    ArrayRef<int64_t> name = table.getName(atom);
    if (name[0] != AtomKind::Quotient || factor % name[1] != 0)
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
  return divideTogether(path, sum);
}

std::optional<int64_t> InductionVariables::getExact(const Path &path,
                                                    Expr sum) const {
  for (auto [atom, factor] : context.table.getTerms(sum)) {
    std::optional<int> group = findGroup(atom);
    if (!group || !variables[*group].isShort)
      return std::nullopt;
  }
  Interval interval = path.facts.getInterval(context.table, sum);
  return interval.low == interval.high ? std::optional(interval.low)
                                       : std::nullopt;
}
