//===- ExpressionBounds.cpp - Bounds of sums for all values ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic, bottom up: a sum has the bounds of its terms, a quotient
// those of its dividend divided. A remainder is not seen from its terms, as
// h and d * (h / d) have no bounds: the two are recognized together, also in
// 2 * h - 2 * d * (h / d), the remainder of 2 * h and 2 * d.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

/// If `sum` is `scale * (h - d * floor(h / d)) + constant`, the quotient's atom
/// and the scale; otherwise 0 and 0.
static std::pair<Expr, int64_t> getScaledRemainder(const ExpressionTable &table,
                                                   Expr sum) {
  ExpressionTable::Terms terms = table.getTerms(sum);
  for (auto [atom, factor] : terms) {
    if (table.getKind(atom) != Kind::Atom)
      continue;
    ArrayRef<int64_t> name = table.getName(atom);
    if (name[0] != AtomKind::Quotient || factor % name[1] != 0)
      continue;
    int64_t scale = -factor / name[1];
    ExpressionTable::Terms others = terms;
    llvm::erase(others, std::pair(atom, factor));
    ExpressionTable::Terms dividend =
        table.getTerms(table.getOperands(atom)[0]);
    for (auto &term : dividend)
      term.second *= scale;
    if (others == dividend)
      return {atom, scale};
  }
  return {0, 0};
}

Expr ExpressionTable::getRemainderOf(Expr sum) const {
  auto [atom, scale] = getScaledRemainder(*this, sum);
  return std::abs(scale) == 1 ? atom : 0;
}

Interval ExpressionTable::findBoundsOfAtom(Expr atom) const {
  Interval bounds = nodes[atom].bounds;
  ArrayRef<int64_t> name = getName(atom);
  ArrayRef<Expr> operands = getOperands(atom);
  switch (name[0]) {
  case AtomKind::Quotient:
    bounds = getBounds(operands[0]);
    if (bounds.low != INT64_MIN)
      bounds.low = llvm::divideFloorSigned(bounds.low, name[1]);
    if (bounds.high != INT64_MAX)
      bounds.high = llvm::divideFloorSigned(bounds.high, name[1]);
    return bounds;
  case AtomKind::ProductOfSums:
    if (getBounds(operands[0]).low >= 0 && getBounds(operands[1]).low >= 0)
      bounds.low = 0;
    return bounds;
  case AtomKind::PositivePart:
    return {0, std::max<int64_t>(getBounds(operands[0]).high, 0)};
  case AtomKind::Choice: {
    Interval then = getBounds(operands[1]), other = getBounds(operands[2]);
    return {std::min(then.low, other.low), std::max(then.high, other.high)};
  }
  default:
    return bounds;
  }
}

Interval ExpressionTable::findBounds(Expr e) const {
  if (getKind(e) == Kind::Atom)
    return findBoundsOfAtom(e);
  if (getKind(e) != Kind::Linear)
    return {};
  Interval bounds = {getOffset(e), getOffset(e)};
  for (auto [atom, factor] : getTerms(e))
    bounds = bounds.plus(getBounds(atom).times(factor));
  if (auto [atom, scale] = getScaledRemainder(*this, e); atom) {
    // With the constant of the dividend it is 0 to d - 1, times the scale.
    int64_t constant = getOffset(getOperands(atom)[0]);
    Interval remainder = {-constant, getName(atom)[1] - 1 - constant};
    bounds = bounds.intersect(remainder.times(scale).add(getOffset(e)));
  }
  return bounds;
}
