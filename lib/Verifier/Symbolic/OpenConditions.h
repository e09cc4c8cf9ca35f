//===- OpenConditions.h - Conditions on induction variables -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_OPENCONDITIONS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_OPENCONDITIONS_H

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <set>

namespace tilews::verifier {

/// The conditions on one induction variable that were open (undecided) when a
/// path came to them. They say which facts about the variable are worth
/// keeping. A loop over i with two guards
///
///     if (mask[i + 3]) ...        // flag
///     if (i + tile == 2) ...      // sum
///
/// has the subjects `mask[i + 3]` and `i + tile - 2`, and the sum `i + tile` is
/// asked with the constant -2, in a comparison with zero.
class OpenConditions {
public:
  /// Adds an open condition; returns whether anything about it is new.
  bool add(ExpressionTable &table, Expr condition, Expr variable);
  /// The sums and flags that conditions depend on.
  const std::set<Expr> &getSubjects() const { return subjects; }
  /// Whether `condition`, a flag or whether a sum is 0, is asked for in the
  /// present iteration or in one of the next ones, each of which adds `step` to
  /// `variable`.
  bool mayAskFor(ExpressionTable &table, Expr condition, Expr variable,
                 Expr step, int64_t iterations) const;
  /// Whether comparisons of `sum` are asked for in the present iteration, or in
  /// the next ones by two conditions: the later of the two needs the answer to
  /// the earlier one. One condition alone may repeat after some iterations.
  bool mayAskAgain(ExpressionTable &table, Expr sum, Expr variable, Expr step,
                   int64_t iterations) const;
  /// Whether a condition `sum + c == 0` may be asked within the next
  /// iterations: each adds `step` to `variable`, and the sum then comes to its
  /// zero after `variable` has moved by less than `reach`.
  bool mayAskForZero(ExpressionTable &table, Expr sum, Expr variable,
                     int64_t step, int64_t reach) const;
  /// The constants that conditions add to `sum`, which has none, ascending.
  llvm::SmallVector<int64_t> getConstants(ExpressionTable &table, Expr sum,
                                          Expr variable) const;

  void print(const ExpressionTable &table, llvm::raw_ostream &os) const;

private:
  struct Constants {
    std::set<int64_t> all, forZero;
  };
  /// A sum as `sign * (factor * variable + homogeneous + offset)`, where the
  /// first coefficient of `homogeneous`, or else `factor`, is positive. So n -
  /// i + 1 and i - n differ in sign and offset only.
  struct Split {
    Expr homogeneous;
    int64_t factor, offset, sign;
  };

  bool insert(ExpressionTable &table, Expr subject);
  Split split(ExpressionTable &table, Expr sum, Expr variable) const;

  std::set<Expr> subjects;
  /// The flags among the subjects, and whether the sums among them are 0.
  llvm::DenseSet<Expr> conditions;
  /// The constants of a sum, by what the sum is without the variable and the
  /// constant, and by the coefficient of the variable.
  std::map<std::pair<Expr, int64_t>, Constants> constants;
  using Question = std::pair<Expr, std::pair<Expr, int64_t>>;
  /// The results of `split`, by the sum, and of `mayAskFor` and `mayAskAgain`,
  /// by the condition or sum, the step and the number of iterations. All paths
  /// ask for the same ones at the end of each iteration. A new subject changes
  /// the latter two.
  mutable llvm::DenseMap<Expr, Split> splits;
  mutable llvm::DenseMap<Question, bool> askedFor, askedAgain;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_OPENCONDITIONS_H
