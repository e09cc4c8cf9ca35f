//===- InductionFacts.h - Facts about an induction variable -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_INDUCTIONFACTS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_INDUCTIONFACTS_H

#include "Verifier/Symbolic/OpenConditions.h"
#include "Verifier/Symbolic/PathFacts.h"

namespace tilews::verifier {

/// Moves facts of a path into and along a loop, for its induction variable i.
/// An "element" below is an atom with i in its operands, such as mask[i].
///
///     if (mask[0]) copy(0)          // facts: mask[0]
///     if (mask[1]) copy(1)          //        mask[0], not mask[1]
///     for i = 0 to n                // enter: mask[i], not mask[i + 1]
///       if (mask[i]) read(i)        //        decided: yes
///       if (mask[i + 2]) copy(i + 2)
///                                   // next iteration, with i + 1 for i:
///                                   //        not mask[i], mask[i + 1];
///                                   // trim:  mask[i - 1] is gone
class InductionFacts {
public:
  InductionFacts(ExpressionTable &table, PathFacts &facts, Expr variable)
      : table(table), facts(facts), variable(variable) {}

  /// The loop begins with `first` in the variable. What is known about the
  /// subjects of `asked` with `first + k * step` in the variable's place
  /// becomes known about them with `variable + k * step`, for |k| <=
  /// `iterations`.
  void enter(Expr first, Expr step, int64_t iterations,
             const OpenConditions &asked);
  /// The loop-carried `atom` begins as the sum `value`: intervals of elements
  /// become intervals of their differences from `atom`, too. With base = 2 and
  /// row[i] in [0, 5], row[i] - base is in [-2, 3].
  void relate(Expr atom, Expr value);
  /// Forgets what depends on `atom` and on no element.
  void keepElements(Expr atom);

  /// What `trim` keeps.
  struct Window {
    Expr step;
    /// The distance of the first value of the variable from 0.
    int64_t start;
    /// Distances from the bounds that conditions ask for are kept up to this
    /// one.
    int64_t reach;
    /// Whether the loop has so few iterations that the value of the variable is
    /// kept.
    bool isShort;
    /// How many of the next iterations may ask for facts of this one.
    int64_t iterations = 0;
    /// Whether comparisons are forgotten that a condition repeats after some
    /// iterations, as that of i % 3 with n.
    bool forgetsRepeats = false;
  };
  /// Forgets what no later iteration asks for, so that finitely many facts are
  /// left: facts about elements before the variable, settled comparisons, and
  /// how far bounds are from `asked` ones beyond the window's reach. Returns
  /// whether comparisons that may be repeated are among them.
  bool trim(const Window &window, const OpenConditions &asked);

private:
  bool hasElement(Expr e) const;
  bool hasQuotient(Expr e) const;
  bool hasPredicate(Expr condition) const;
  bool isAskedLater(Expr condition, const Window &window,
                    const OpenConditions &asked) const;
  bool liesBefore(Expr e, Expr step, bool isIndex = false) const;
  bool isSettled(Expr condition, const Window &window,
                 const OpenConditions &asked) const;
  bool widen(Expr sum, Interval &interval, const Window &window,
             const OpenConditions &asked) const;

  ExpressionTable &table;
  PathFacts &facts;
  Expr variable;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_INDUCTIONFACTS_H
