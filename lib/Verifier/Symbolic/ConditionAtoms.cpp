//===- ConditionAtoms.cpp - Atoms that are made of conditions -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An atom of a condition is either a number, one of two sums by the condition,
// or stands for the condition itself: a predicate. Both are made of conditions
// in their canonical form, so that a negation is no operand.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

Expr verifier::getChoice(ExpressionTable &table, Expr condition, Expr then,
                         Expr otherwise) {
  if (std::optional<int64_t> value = table.getConstantValue(condition))
    return *value ? then : otherwise;
  if (table.getKind(condition) == Kind::Not)
    return getChoice(table, table.getOperands(condition)[0], otherwise, then);
  return then == otherwise
             ? then
             : table.getInteger(table.getAtom({AtomKind::Choice},
                                              {condition, then, otherwise}));
}

Expr verifier::getPredicate(ExpressionTable &table, Expr condition) {
  if (table.getConstantValue(condition))
    return condition;
  if (table.getKind(condition) == Kind::Not)
    return table.getNot(getPredicate(table, table.getOperands(condition)[0]));
  return table.getAtom({AtomKind::Predicate}, {condition});
}

Expr verifier::getInterpreted(ExpressionTable &table, Expr condition) {
  SmallVector<Expr> operands(table.getOperands(condition));
  switch (table.getKind(condition)) {
  case Kind::Not:
    return table.getNot(getInterpreted(table, operands[0]));
  case Kind::And:
    for (Expr &operand : operands)
      operand = getInterpreted(table, operand);
    return table.getConjunction(operands);
  case Kind::Atom:
    return isPredicate(table, condition) ? operands[0] : condition;
  default:
    return condition;
  }
}
