//===- InferFacts.cpp - What several facts imply together ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum has the bounds that follow from
//
//   * the bounds of its atoms;
//   * a fact about its multiple without a quotient: d * (s / d) is s, or less
//     by at most d - 1;
//   * a fact about a sum with a common atom, and the bounds of the rest.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/PathFacts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

/// The bounds of a sum by those of its multiples without one of its quotients:
/// d * (s / d) is s, or less by at most d - 1.
static Interval inferOfQuotients(ExpressionTable &table, Expr sum,
                                 llvm::function_ref<Interval(Expr)> getScaled) {
  Interval bounds;
  for (auto [atom, factor] : table.getTerms(sum)) {
    if (table.getName(atom)[0] != AtomKind::Quotient)
      continue;
    int64_t divisor = table.getName(atom)[1];
    Expr rest = table.add(sum, table.getInteger(atom), -factor);
    Expr scaled = table.add(table.add(table.getConstant(0), rest, divisor),
                            table.getOperands(atom)[0], factor);
    Interval lost = Interval{1 - divisor, 0}.times(factor);
    bounds = bounds.intersect(getScaled(scaled).plus(lost).shrink(divisor));
  }
  return bounds;
}

Interval PathFacts::getFactOfQuotients(ExpressionTable &table, Expr sum) const {
  return inferOfQuotients(table, sum,
                          [&](Expr scaled) { return getFact(table, scaled); });
}

/// The bounds of a sum by those of its atoms, or of what they are quotients of.
Interval PathFacts::inferInterval(ExpressionTable &table, Expr sum) const {
  int64_t offset = table.getOffset(sum);
  Interval bounds = {offset, offset};
  for (auto [atom, factor] : table.getTerms(sum))
    bounds =
        bounds.plus(getInterval(table, table.getInteger(atom)).times(factor));
  bounds = bounds.intersect(getInterval(table, sum));
  return bounds.intersect(inferOfQuotients(
      table, sum, [&](Expr scaled) { return getInterval(table, scaled); }));
}

/// Whether two sums have an atom in common, be it in a quotient.
static bool haveCommonAtom(const ExpressionTable &table, Expr a, Expr b) {
  auto containsAny = [&](Expr sum, Expr other) {
    return llvm::any_of(table.getOperands(other),
                        [&](Expr atom) { return table.contains(sum, atom); });
  };
  return containsAny(a, b) || containsAny(b, a);
}

std::optional<bool> PathFacts::infer(ExpressionTable &table, Expr part) const {
  Kind kind = table.getKind(part);
  if (kind != Kind::Positive && kind != Kind::Zero)
    return std::nullopt;
  Expr sum = table.getOperands(part)[0];
  Interval bounds = inferInterval(table, sum);
  for (auto &[known, interval] : intervals) {
    if (!haveCommonAtom(table, sum, known))
      continue;
    for (int64_t sign : {1, -1}) {
      Interval signedInterval = sign > 0 ? interval : interval.negate();
      Expr rest = table.add(sum, known, -sign);
      bounds =
          bounds.intersect(signedInterval.plus(inferInterval(table, rest)));
    }
  }
  return decideBy(bounds, kind);
}
