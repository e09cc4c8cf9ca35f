//===- OpenConditions.cpp - What is asked of loops' counters --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::verifier;

namespace {
/// A sum as a multiple of a counter and the rest.
struct Split {
  Split(ExpressionTable &table, Expr sum, Expr counter)
      : factor(table.getFactor(sum, counter)) {
    Oriented rest(table, table.add(sum, table.getInteger(counter), -factor));
    homogeneous = rest.homogeneous;
    bool isAlone = table.getTerms(homogeneous).empty();
    sign = isAlone && factor < 0 ? -1 : rest.sign;
    factor *= sign;
    offset = rest.offset * sign;
  }
  Expr homogeneous;
  int64_t factor, offset, sign;
};
} // namespace

bool OpenConditions::add(ExpressionTable &table, Expr condition, Expr counter) {
  if (table.getKind(condition) == ExpressionTable::Kind::Atom)
    return subjects.insert(condition).second;
  Expr sum = table.getOperands(condition)[0];
  bool isNew = subjects.insert(sum).second;
  // Of an element that is compared with a carried number: see
  // PathFacts::relate.
  for (auto [atom, factor] : table.getTerms(sum))
    if (atom != counter && table.mentions(atom, counter))
      subjects.insert(table.getInteger(atom));
  Split split(table, sum, counter);
  Constants &constants = asked[{split.homogeneous, split.factor}];
  constants.all.insert(split.offset);
  if (table.getKind(condition) == ExpressionTable::Kind::Zero)
    isNew |= constants.forZero.insert(split.offset).second;
  return isNew;
}

SmallVector<int64_t> OpenConditions::getConstants(ExpressionTable &table,
                                                  Expr sum,
                                                  Expr counter) const {
  Split split(table, sum, counter);
  auto it = asked.find({split.homogeneous, split.factor});
  if (it == asked.end())
    return {};
  SmallVector<int64_t> constants(it->second.all.begin(), it->second.all.end());
  if (split.sign < 0) {
    std::reverse(constants.begin(), constants.end());
    for (int64_t &constant : constants)
      constant = -constant;
  }
  return constants;
}

bool OpenConditions::mayFollow(ExpressionTable &table, Expr sum, Expr counter,
                               int64_t step, int64_t reach) const {
  Split split(table, sum, counter);
  auto it = asked.find({split.homogeneous, split.factor});
  return it != asked.end() &&
         llvm::any_of(it->second.forZero, [&](int64_t constant) {
           int64_t distance = split.offset - constant;
           if (split.factor * step < 0)
             distance = -distance;
           return distance >= 0 && distance < reach;
         });
}
