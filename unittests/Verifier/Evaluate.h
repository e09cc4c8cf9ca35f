//===- Evaluate.h - Values of symbolic expressions --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_UNITTESTS_VERIFIER_EVALUATE_H
#define TILEWS_UNITTESTS_VERIFIER_EVALUATE_H

#include "Verifier/Symbolic/Expressions.h"

#include <map>
#include <random>

namespace tilews::verifier::test {

/// Wide enough for a sum of 64-bit numbers times small values.
using Wide = __int128;

/// The values of atoms without operands.
using Assignment = std::map<Expr, int64_t>;

/// Rounds to negative infinity.
inline Wide floorDivide(Wide dividend, Wide divisor) {
  Wide quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

/// Evaluates expressions by their definition. An atom with operands that is no
/// arithmetic is an element of a memory: a fixed function of its indices.
class Evaluator {
public:
  Evaluator(const ExpressionTable &table, Assignment values)
      : table(table), values(std::move(values)) {}

  Wide get(Expr e) const {
    using Kind = ExpressionTable::Kind;
    auto operands = table.getOperands(e);
    switch (table.getKind(e)) {
    case Kind::Linear: {
      Wide sum = table.getOffset(e);
      for (auto [atom, factor] : table.getTerms(e))
        sum += Wide(factor) * getAtom(atom);
      return sum;
    }
    case Kind::Atom:
      return getAtom(e);
    case Kind::Positive:
      return get(operands[0]) > 0;
    case Kind::Zero:
      return get(operands[0]) == 0;
    case Kind::Not:
      return get(operands[0]) == 0;
    case Kind::And:
      return llvm::all_of(operands,
                          [&](Expr operand) { return get(operand) != 0; });
    }
    return 0;
  }

private:
  Wide getAtom(Expr atom) const {
    auto name = table.getName(atom);
    auto operands = table.getOperands(atom);
    switch (name[0]) {
    case AtomKind::Quotient:
      return floorDivide(get(operands[0]), name[1]);
    case AtomKind::PositivePart:
      return std::max<Wide>(get(operands[0]), 0);
    case AtomKind::ProductOfSums:
      return get(operands[0]) * get(operands[1]);
    case AtomKind::LargeSum: {
      Wide sum = name[1];
      for (size_t i = 0; i < operands.size(); ++i)
        sum += Wide(name[i + 2]) * get(operands[i]);
      return sum;
    }
    }
    if (operands.empty())
      return values.at(atom);
    uint64_t mixed = name.back();
    for (Expr operand : operands)
      mixed = (mixed + uint64_t(get(operand))) * 0x9e3779b97f4a7c15;
    return int64_t(mixed >> 61) - 4;
  }

  const ExpressionTable &table;
  Assignment values;
};

/// Calls `fn` with each assignment of numbers from -bound to bound to `atoms`.
template <typename FnT>
void forEachAssignment(llvm::ArrayRef<Expr> atoms, int64_t bound, FnT fn) {
  Assignment values;
  for (Expr atom : atoms)
    values[atom] = -bound;
  for (;;) {
    fn(values);
    auto it = values.begin();
    while (it != values.end() && it->second == bound)
      (it++)->second = -bound;
    if (it == values.end())
      return;
    ++it->second;
  }
}

/// Random sums and conditions over the variables i, n and m, and elements of
/// two memories at sums of these. Equal seeds give equal expressions.
class RandomExpressions {
public:
  RandomExpressions(ExpressionTable &table, unsigned seed)
      : i(table.getAtom({AtomKind::Induction, 0}, {}, /*isVariable=*/true)),
        n(table.getAtom({AtomKind::OpaqueResult, 1, 0}, {},
                        /*isVariable=*/true)),
        m(table.getAtom({AtomKind::Carried, 0, 0}, {}, /*isVariable=*/true)),
        table(table), random(seed) {}

  int64_t getNumber(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }
  std::vector<Expr> getAtoms() const { return {i, n, m}; }

  /// A sum with small coefficients.
  Expr getSum() {
    Expr sum = table.getConstant(getNumber(-3, 3));
    for (Expr atom : getAtoms())
      if (getNumber(0, 2))
        sum = table.add(sum, table.getInteger(atom), getNumber(-2, 2));
    return sum;
  }
  /// A sum with one variable more often than not, so that conditions on equal
  /// sums come up again.
  Expr getSimpleSum() {
    Expr sum = table.getInteger(getAtoms()[getNumber(0, 2)]);
    if (getNumber(0, 2) == 0)
      sum = table.add(sum, table.getInteger(getAtoms()[getNumber(0, 2)]),
                      getNumber(0, 1) ? 1 : -1);
    return table.add(table.getConstant(getNumber(-4, 4)), sum,
                     getNumber(0, 1) ? 1 : -1);
  }
  /// An element of a memory of integers, as a sum.
  Expr getElement() {
    Expr index = table.addConstant(table.getInteger(i), getNumber(-2, 2));
    return table.getInteger(
        table.getAtom({AtomKind::Element, getNumber(1, 2)}, {index}));
  }
  /// A condition that is no negation, conjunction or disjunction.
  Expr getPart() {
    Expr sum = getSimpleSum();
    if (getNumber(0, 3) == 0)
      sum = table.add(sum, getElement(), getNumber(0, 1) ? 1 : -1);
    return getNumber(0, 1) ? table.getPositive(sum) : table.getZero(sum);
  }
  Expr getCondition(unsigned depth = 2) {
    if (depth == 0 || getNumber(0, 2) == 0)
      return getPart();
    if (getNumber(0, 3) == 0)
      return table.getNot(getCondition(depth - 1));
    Expr a = getCondition(depth - 1), b = getCondition(depth - 1);
    return table.getBoth(a, b, /*isAnd=*/getNumber(0, 1));
  }

  const Expr i, n, m;

private:
  ExpressionTable &table;
  std::mt19937 random;
};

} // namespace tilews::verifier::test

#endif // TILEWS_UNITTESTS_VERIFIER_EVALUATE_H
