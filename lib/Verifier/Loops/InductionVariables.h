//===- InductionVariables.h - Induction variables of groups -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_INDUCTIONVARIABLES_H
#define TILEWS_LIB_VERIFIER_LOOPS_INDUCTIONVARIABLES_H

#include "Verifier/Engine/ProofContext.h"
#include "Verifier/Symbolic/OpenConditions.h"

namespace tilews::verifier {

/// The induction variables of groups of loops, and what the program asks about
/// them. The answers are part of the abstraction: a question that is new makes
/// the search start over, with paths that keep the answer.
///
///     for i = 0 to n
///       %half = arith.floordivsi %i, %c2
///       %slot = i - 2 * %half          // i % 2: paths keep i modulo 2
///       if (i + 3 < n)                 // asked: n - i - 3
///       if (base + i / 4 > 0)          // asked, and i is divided
class InductionVariables {
public:
  explicit InductionVariables(ProofContext &context) : context(context) {}

  /// Adds the variable of the group with the next number. With `isCounted` it
  /// matters how many iterations the loops have.
  void add(bool isCounted);
  Expr get(int group) const { return variables[group].atom; }
  bool isCounted(int group) const { return variables[group].isCounted; }
  /// Whether the numbers of the few iterations stay known.
  bool isShort(int group) const { return variables[group].isShort; }
  void setShort(int group, bool isShort) { variables[group].isShort = isShort; }
  /// Whether conditions divide the variable.
  bool isDivided(int group) const { return variables[group].isDivided; }
  const OpenConditions &getAsked(int group) const {
    return variables[group].asked;
  }

  /// Notes an open condition, and its parts, with all variables that it depends
  /// on; returns whether that is new.
  bool note(Expr condition);

  /// The variable begins with `first`, or takes a step.
  void begin(Path &path, int group, Expr first) const;
  void step(Path &path, int group, Expr step) const;

  /// `sum` without multiples of quotients whose remainders are known: 4 *
  /// (i / 4) is i - 1 where i % 4 is 1.
  Expr divideEvenly(const Path &path, Expr sum);
  /// The one value from outside of loops, with its sign, in a sum with induction
  /// variables, if its remainder gives that of the sum; 0 for other sums.
  Expr getOutside(const Path &path, Expr sum) const;
  /// The value of a sum of variables whose iterations have known numbers.
  std::optional<int64_t> getExact(const Path &path, Expr sum) const;

private:
  struct Variable {
    Expr atom;
    OpenConditions asked;
    /// The modulus of known remainders; none if no expression needs one.
    std::optional<int64_t> modulus;
    bool isCounted, isDivided = false, isShort = false;
  };

  std::optional<int> findGroup(Expr atom) const;
  std::optional<int64_t> getRemainder(const Path &path, Expr sum,
                                      int64_t divisor);

  ProofContext &context;
  std::vector<Variable> variables;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_INDUCTIONVARIABLES_H
