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

namespace {
/// A sum as `sign * (factor * variable + homogeneous + offset)`, where the
/// first coefficient of `homogeneous`, or else `factor`, is positive. So n - i
/// + 1 and i - n differ in sign and offset only.
struct Split {
  Split(ExpressionTable &table, Expr sum, Expr variable)
      : factor(table.getFactor(sum, variable)) {
    Expr rest = table.add(sum, table.getInteger(variable), -factor);
    bool isAlone = table.getTerms(rest).empty();
    sign = (isAlone ? factor : table.getMultiple(rest).factor) < 0 ? -1 : 1;
    homogeneous =
        table.add(table.getConstant(0), dropConstant(table, rest), sign);
    factor *= sign;
    offset = table.getOffset(rest) * sign;
  }

  Expr homogeneous;
  int64_t factor, offset, sign;
};
} // namespace

bool OpenConditions::add(ExpressionTable &table, Expr condition,
                         Expr variable) {
  if (!isComparison(table.getKind(condition)))
    return subjects.insert(condition).second;
  Expr sum = table.getOperands(condition)[0];
  bool isNew = subjects.insert(sum).second;
  // An element may be compared with a loop-carried value, as in
  // `row[i] - base > 0`: InductionFacts::relate then needs bounds of the
  // element alone.
  for (auto [atom, factor] : table.getTerms(sum))
    if (atom != variable && table.mentions(atom, variable))
      subjects.insert(table.getInteger(atom));
  Split split(table, sum, variable);
  Constants &own = constants[{split.homogeneous, split.factor}];
  own.all.insert(split.offset);
  if (table.getKind(condition) == ExpressionTable::Kind::Zero)
    isNew |= own.forZero.insert(split.offset).second;
  return isNew;
}

SmallVector<int64_t> OpenConditions::getConstants(ExpressionTable &table,
                                                  Expr sum,
                                                  Expr variable) const {
  Split split(table, sum, variable);
  auto it = constants.find({split.homogeneous, split.factor});
  if (it == constants.end())
    return {};
  SmallVector<int64_t> found(it->second.all.begin(), it->second.all.end());
  if (split.sign < 0) {
    std::reverse(found.begin(), found.end());
    for (int64_t &constant : found)
      constant = -constant;
  }
  return found;
}

bool OpenConditions::mayAskForZero(ExpressionTable &table, Expr sum,
                                   Expr variable, int64_t step,
                                   int64_t reach) const {
  Split split(table, sum, variable);
  auto it = constants.find({split.homogeneous, split.factor});
  return it != constants.end() &&
         llvm::any_of(it->second.forZero, [&](int64_t constant) {
           int64_t distance = split.offset - constant;
           if (split.factor * step < 0)
             distance = -distance;
           return distance >= 0 && distance < reach * std::abs(split.factor);
         });
}

void OpenConditions::print(const ExpressionTable &table,
                           raw_ostream &os) const {
  llvm::interleaveComma(subjects, os,
                        [&](Expr subject) { table.print(subject, os); });
}
