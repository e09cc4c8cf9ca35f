//===- PathFacts.h - The path condition -------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_PATHFACTS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_PATHFACTS_H

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <string>

namespace tilews::verifier {

/// The path condition (King, "Symbolic execution and program testing", 1976):
/// what the branches taken on one path imply. It is a conjunction of intervals
/// of sums and of truth values of conditions:
///
///     if (n > 0)          // then: n in [1, inf)
///       if (mask[i])      // else: mask[i] is false
///         ...
///       if (n + 2 > 0)    // decided: n + 2 in [3, inf)
///
/// Intervals are kept by sums without constant, sign and common divisor (see
/// ExpressionTable::getMultiple), so `decide` infers nothing from two different
/// sums. An equation of values that never change is a definition instead: after
/// `if (n == m)` the path has m for n in all of its expressions.
class PathFacts {
public:
  /// The value of `condition`, if the facts imply it.
  std::optional<bool> decide(ExpressionTable &table, Expr condition) const;
  /// `condition` without the parts of conjunctions that the facts imply.
  Expr simplify(ExpressionTable &table, Expr condition) const;
  /// A part of the undecided `condition` on which a path can fork. It is no
  /// negation and, without `joinsGuards`, no conjunction. With it, it may be a
  /// conjunction of flags, such as elements of memory: if nothing asks for
  /// mask[i] alone, one path is enough for all values with `!(mask[i] &&
  /// other[i])`.
  Expr findUndecided(ExpressionTable &table, Expr condition,
                     bool joinsGuards) const;
  /// The value of an undecided part that two facts imply together: n - 2 * s is
  /// not positive if n - s is not and s is positive.
  std::optional<bool> infer(ExpressionTable &table, Expr part) const;
  /// Adds the value of a part that was undecided.
  void assume(ExpressionTable &table, Expr part, bool holds);

  /// The definition that `sum == 0` makes: an atom, and the sum that it is
  /// equal to. None for sums with variables.
  ///
  ///     n - m - 1            n is m + 1
  ///     n - 4 * (n / 4) - 3  n is 4 * q + 3, where q is a new atom
  static std::optional<std::pair<Expr, Expr>>
  findDefinition(ExpressionTable &table, Expr sum);
  /// Adds a definition, and applies it to the facts.
  void define(ExpressionTable &table, Expr atom, Expr by);
  /// Whether a new name has shown that no run takes the path: n is odd by a
  /// fact, and is defined as 4 * q + 2; or two facts are now about one
  /// condition.
  bool areContradictory() const { return contradictory; }
  /// `e` with all defined atoms replaced.
  Expr resolve(ExpressionTable &table, Expr e) const;

  Interval getInterval(ExpressionTable &table, Expr sum) const;
  /// The same without the bounds that hold on all paths.
  Interval getFact(ExpressionTable &table, Expr sum) const;
  /// What facts about multiples of a sum say about its quotients: n / 4 - m is
  /// in [1, inf) if n - 4 * m is in [4, inf).
  Interval getFactOfQuotients(ExpressionTable &table, Expr sum) const;
  /// Replaces the interval of a sum that is no constant.
  void setInterval(ExpressionTable &table, Expr sum, Interval interval);
  std::optional<bool> getTruth(Expr condition) const;
  void setTruth(Expr condition, bool holds) { truths[condition] = holds; }
  void eraseTruth(Expr condition) { truths.erase(condition); }
  /// The intervals that are not full, by homogeneous sum.
  const std::map<Expr, Interval> &getIntervals() const { return intervals; }

  /// The conditions that have a truth value.
  const std::map<Expr, bool> &getTruths() const { return truths; }

  /// Forgets what depends on the variable `atom`.
  void forget(const ExpressionTable &table, Expr atom);
  /// Forgets what depends on variables that are not in `variables`.
  void keepOnly(const ExpressionTable &table, const VariableSet &variables);
  /// Forgets facts about expressions that `isStale` holds for.
  void eraseIf(llvm::function_ref<bool(Expr)> isStale);
  /// Forgets truth values, or intervals; `isStale` may widen an interval.
  void eraseTruthsIf(llvm::function_ref<bool(Expr)> isStale);
  void eraseIntervalsIf(llvm::function_ref<bool(Expr, Interval &)> isStale);
  /// Renames after an assignment: what was called `atom` is now called `by`.
  /// After `i = i + 1`, `by` is `i - 1`, and a fact about mask[i + 3] becomes
  /// one about mask[i + 2].
  void substitute(ExpressionTable &table, Expr atom, Expr by);

  /// Appends the facts to the key of a state.
  void appendTo(std::string &key) const;
  void print(const ExpressionTable &table, llvm::raw_ostream &os) const;

private:
  std::optional<bool> decidePart(ExpressionTable &table, Expr part) const;
  Expr reduce(ExpressionTable &table, Expr condition) const;
  Interval inferInterval(ExpressionTable &table, Expr sum) const;
  bool isExcluded(ExpressionTable &table, Expr conjunction) const;
  void propagate(ExpressionTable &table, Expr part);
  void assumeComparison(ExpressionTable &table, Expr part, bool holds);

  std::map<Expr, Interval> intervals;
  /// Of atoms, comparisons with 0, and conjunctions that do not hold.
  std::map<Expr, bool> truths;
  /// What atoms are equal to. The sums have no defined atoms.
  std::map<Expr, Expr> definitions;
  bool contradictory = false;
};

/// Whether facts about other conditions imply nothing about `condition`: it is
/// a flag, or compares an element that a loop reads, or consists of such
/// conditions.
bool isFlag(const ExpressionTable &table, Expr condition);

/// Whether a number of this interval is positive, or is 0.
std::optional<bool> decideBy(Interval interval, ExpressionTable::Kind kind);

/// Prints the bounds as "[0, 5]", without those that are infinite.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Interval &interval);

/// Appends a number to the key of a state: small ones in one byte.
void appendTo(std::string &key, int64_t value);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_PATHFACTS_H
