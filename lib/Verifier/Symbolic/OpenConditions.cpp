//===- OpenConditions.cpp - Conditions on induction variables -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conditions that differ in a constant only are kept together: each sum is
// split into the induction variable with its coefficient, the other terms, and
// the constant. The other terms (or, if there are none, the coefficient) are
// brought to a positive sign, so that `2 - i > 0` and `i - 5 > 0` are constants
// of one entry. Lookups bring the constants back to the sign of the sum they
// are for.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/OpenConditions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews::verifier;

OpenConditions::Split OpenConditions::split(ExpressionTable &table, Expr sum,
                                            Expr variable) const {
  auto [it, isNew] = splits.try_emplace(sum);
  if (!isNew)
    return it->second;
  int64_t factor = table.getFactor(sum, variable);
  Expr rest = table.add(sum, table.getInteger(variable), -factor);
  bool isAlone = table.getTerms(rest).empty();
  int64_t sign =
      (isAlone ? factor : table.getMultiple(rest).factor) < 0 ? -1 : 1;
  Expr homogeneous =
      table.add(table.getConstant(0), dropConstant(table, rest), sign);
  return it->second = {homogeneous, factor * sign, table.getOffset(rest) * sign,
                       sign};
}

/// Adds a sum or a flag; returns whether it is new.
bool OpenConditions::insert(ExpressionTable &table, Expr subject) {
  if (!subjects.insert(subject).second)
    return false;
  bool isSum = table.getKind(subject) == ExpressionTable::Kind::Linear;
  conditions.insert(isSum ? table.getZero(subject) : subject);
  askedFor.clear();
  askedAgain.clear();
  return true;
}

bool OpenConditions::add(ExpressionTable &table, Expr condition,
                         Expr variable) {
  if (!isComparison(table.getKind(condition)))
    return insert(table, condition);
  Expr sum = table.getOperands(condition)[0];
  bool isNew = insert(table, sum);
  // An element may be compared with a loop-carried value, as in
  // `row[i] - base > 0`: InductionFacts::relate then needs bounds of the
  // element alone.
  for (auto [atom, factor] : table.getTerms(sum))
    if (atom != variable && table.mentions(atom, variable))
      insert(table, table.getInteger(atom));
  Split parts = split(table, sum, variable);
  Constants &own = constants[{parts.homogeneous, parts.factor}];
  own.all.insert(parts.offset);
  if (table.getKind(condition) == ExpressionTable::Kind::Zero)
    isNew |= own.forZero.insert(parts.offset).second;
  return isNew;
}

bool OpenConditions::mayAskFor(ExpressionTable &table, Expr condition,
                               Expr variable, Expr step,
                               int64_t iterations) const {
  auto [it, isNew] = askedFor.try_emplace({condition, {step, iterations}});
  for (int64_t k = 0; isNew && !it->second && k <= iterations; ++k) {
    Expr moved = table.add(table.getInteger(variable), step, -k);
    it->second =
        conditions.contains(table.substitute(condition, variable, moved));
  }
  return it->second;
}

bool OpenConditions::mayAskAgain(ExpressionTable &table, Expr sum,
                                 Expr variable, Expr step,
                                 int64_t iterations) const {
  auto [it, isNew] = askedAgain.try_emplace({sum, {step, iterations}});
  if (!isNew)
    return it->second;
  // Comparisons of one sum with several constants are one condition here.
  std::set<Expr> asking;
  Expr asked = table.getMultiple(sum).primitive;
  for (Expr subject : subjects) {
    if (table.getKind(subject) != ExpressionTable::Kind::Linear)
      continue;
    for (int64_t k = 0; k <= iterations; ++k) {
      Expr moved = table.add(table.getInteger(variable), step, k);
      Expr later = table.substitute(subject, variable, moved);
      if (table.getMultiple(later).primitive != asked)
        continue;
      asking.insert(table.getMultiple(subject).primitive);
      if (k == 0)
        return it->second = true;
    }
  }
  return it->second = asking.size() > 1;
}

SmallVector<int64_t> OpenConditions::getConstants(ExpressionTable &table,
                                                  Expr sum,
                                                  Expr variable) const {
  Split parts = split(table, sum, variable);
  auto it = constants.find({parts.homogeneous, parts.factor});
  if (it == constants.end())
    return {};
  SmallVector<int64_t> found(it->second.all.begin(), it->second.all.end());
  if (parts.sign < 0) {
    std::reverse(found.begin(), found.end());
    for (int64_t &constant : found)
      constant = -constant;
  }
  return found;
}

bool OpenConditions::mayAskForZero(ExpressionTable &table, Expr sum,
                                   Expr variable, int64_t step,
                                   int64_t reach) const {
  Split parts = split(table, sum, variable);
  auto it = constants.find({parts.homogeneous, parts.factor});
  return it != constants.end() &&
         llvm::any_of(it->second.forZero, [&](int64_t constant) {
           int64_t distance = parts.offset - constant;
           if (parts.factor * step < 0)
             distance = -distance;
           return distance >= 0 && distance < reach * std::abs(parts.factor);
         });
}

void OpenConditions::print(const ExpressionTable &table,
                           raw_ostream &os) const {
  llvm::interleaveComma(subjects, os,
                        [&](Expr subject) { table.print(subject, os); });
}
