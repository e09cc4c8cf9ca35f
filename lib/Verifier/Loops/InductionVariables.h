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

  /// Adds the variable of a new group; groups come in the order of their
  /// numbers. `isCounted` says whether the number of iterations matters.
  void add(bool isCounted);
  Expr get(int group) const { return variables[group].atom; }
  bool isCounted(int group) const { return variables[group].isCounted; }
  /// Whether there are so few iterations that the value of the variable is
  /// kept.
  bool isShort(int group) const { return variables[group].isShort; }
  void setShort(int group, bool isShort) { variables[group].isShort = isShort; }
  /// Whether conditions divide the variable.
  bool isDivided(int group) const { return variables[group].isDivided; }
  const OpenConditions &getAsked(int group) const {
    return variables[group].asked;
  }
  /// The modulus of known remainders; none if no expression needs one.
  std::optional<int64_t> getModulus(int group) const {
    return variables[group].modulus;
  }

  /// Adds an open condition and its parts to what is asked about each variable
  /// that they depend on. Returns whether anything about them is new.
  bool note(Expr condition);

  /// Updates the remainder of the variable: it begins with `first`, or adds
  /// `step`. It is known where the remainders of these are.
  void begin(Path &path, int group, Expr first) const;
  void step(Path &path, int group, Expr step) const;

  /// Replaces multiples of quotients whose remainders are known: 4 * (i / 4)
  /// becomes i - 1 where i % 4 is 1, and i / 2 - 2 * (i / 4) becomes 0.
  Expr divideEvenly(const Path &path, Expr sum);
  /// The divisor of the remainder that makes quotients in a sum a sum of what
  /// is divided: 4 for 4 * (i / 4), and for i / 2 - 2 * (i / 4). None if there
  /// are no such quotients, or if the divisor is large.
  std::optional<int64_t> getEvenDivisor(Expr sum);
  /// If `sum` is +-x plus induction variables with known remainders, and x is
  /// defined outside of loops, returns +-x: `x mod m` then gives `sum mod m`.
  /// Otherwise returns 0.
  Expr getOutside(const Path &path, Expr sum) const;
  /// The value of a sum of variables for which `isShort` holds; nullopt for
  /// other sums.
  std::optional<int64_t> getExact(const Path &path, Expr sum) const;

private:
  struct Variable {
    Expr atom;
    OpenConditions asked;
    std::optional<int64_t> modulus;
    bool isCounted, isDivided = false, isShort = false;
  };

  std::optional<int> findGroup(Expr atom) const;
  std::optional<int64_t> getRemainder(const Path &path, Expr sum,
                                      int64_t divisor);
  Expr divideTogether(const Path &path, Expr sum);

  ProofContext &context;
  std::vector<Variable> variables;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_INDUCTIONVARIABLES_H
