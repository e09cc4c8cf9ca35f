//===- Expressions.h - Values that a schedule is checked with ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars as expressions of which there is one copy each: two roles that
// compute the same scalar have the same expression. Integers are sums of atoms
// with coefficients and a constant, of 32 bits each; a sum that needs larger
// ones is an atom. Overflow in the kernel is left out of account.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tilews::verifier {

/// A number in a table; 0 is no expression.
using Expr = uint32_t;
using VariableSet = llvm::SmallDenseSet<Expr, 32>;

class ExpressionTable {
public:
  enum class Kind {
    /// A sum: coefficients of atoms and a constant.
    Linear,
    /// What is known by its name and operands only.
    Atom,
    /// Conditions: a sum is positive, or zero; a negation, both, either.
    Positive,
    Zero,
    Not,
    And,
    Or
  };
  /// The first word of the names of elements in memory, whose operands are
  /// indices.
  static constexpr int64_t kElement = 8;
  /// The first word of the names of quotients, rounded down; then the divisor.
  static constexpr int64_t kQuotient = 9;
  /// The first word of the names of products, whose operands are sums.
  static constexpr int64_t kProduct = 11;
  /// The first word of the names of sums with large numbers.
  static constexpr int64_t kLarge = 10;
  using Terms = llvm::SmallVector<std::pair<Expr, int64_t>, 2>;

  ExpressionTable() : nodes(1), buckets(1024) {}

  Expr getConstant(int64_t value) { return getLinear({}, value); }
  /// What is named by `name`. A variable changes its value: see `mentions`.
  Expr getAtom(llvm::ArrayRef<int64_t> name, llvm::ArrayRef<Expr> operands,
               bool isVariable = false);
  /// The sum of one atom.
  Expr getInteger(Expr atom) { return getLinear({{atom, 1}}, 0); }
  /// a + factor * b, of sums.
  Expr add(Expr a, Expr b, int64_t factor = 1);
  Expr addConstant(Expr a, int64_t value);
  /// a * b, of sums.
  Expr getProduct(Expr a, Expr b);
  /// A sum divided by a positive number, rounded down.
  Expr getQuotient(Expr sum, int64_t divisor);
  Expr getPositive(Expr sum);
  Expr getZero(Expr sum);
  Expr getNot(Expr condition);
  Expr getBoth(Expr a, Expr b, bool isAnd);

  Kind getKind(Expr e) const { return nodes[e].kind; }
  std::optional<int64_t> getConstantValue(Expr e) const;
  /// Sums: the terms in order of their atoms, and the constant.
  Terms getTerms(Expr sum) const;
  int64_t getOffset(Expr sum) const { return nodes[sum].words[0]; }
  /// The coefficient of an atom in a sum.
  int64_t getFactor(Expr sum, Expr atom) const;
  /// The sum without its constant.
  Expr getHomogeneous(Expr sum) { return getLinear(getTerms(sum), 0); }
  llvm::ArrayRef<Expr> getOperands(Expr e) const { return nodes[e].operands; }
  /// An atom's name.
  llvm::ArrayRef<int64_t> getName(Expr atom) const { return nodes[atom].words; }

  /// Whether the value of `e` depends on the variable `atom`: a variable on
  /// itself.
  bool mentions(Expr e, Expr atom) const;
  /// The variables that the value of `e` depends on, sorted.
  llvm::ArrayRef<Expr> getVariables(Expr e) const { return nodes[e].variables; }
  /// `e` with the sum `by` in the place of the variable `atom`.
  Expr substitute(Expr e, Expr atom, Expr by);

private:
  struct Node {
    Kind kind = Kind::Atom;
    /// Linear: the constant, then a coefficient for each operand.
    llvm::SmallVector<int64_t, 2> words;
    llvm::SmallVector<Expr, 2> operands;
    /// The variables that it depends on, sorted.
    llvm::SmallVector<Expr, 2> variables;
    uint64_t hash = 0;
  };

  Expr getLinear(Terms terms, int64_t constant);
  Expr substituteInTerm(Expr term, Expr atom, Expr by);
  Expr intern(Kind kind, llvm::ArrayRef<int64_t> words,
              llvm::ArrayRef<Expr> operands, bool isVariable = false);

  void addToBuckets(Expr expr);
  Expr &getBucket(uint64_t number) {
    return buckets[number & (buckets.size() - 1)];
  }

  std::vector<Node> nodes;
  /// Each expression is in the bucket that its hash tells, or in one behind;
  /// at least half of them are free. Nothing else is looked up so often.
  std::vector<Expr> buckets;
};

/// A sum as a factor of 1 or -1 and a sum that begins with a positive term.
struct Oriented {
  Oriented(ExpressionTable &table, Expr sum) : offset(table.getOffset(sum)) {
    homogeneous = table.getHomogeneous(sum);
    auto terms = table.getTerms(sum);
    if (!terms.empty() && terms.front().second < 0) {
      sign = -1;
      homogeneous = table.add(table.getConstant(0), homogeneous, -1);
    }
  }
  Expr homogeneous;
  int64_t offset;
  int64_t sign = 1;
};

/// Appends a number to a key, small ones in one byte.
void appendTo(std::string &key, int64_t value);

/// What conditions ask for that depends on a counter.
class OpenConditions {
public:
  /// Adds an open condition; returns whether there is something new about it.
  bool add(ExpressionTable &table, Expr condition, Expr counter);
  /// The sums and flags that are asked for.
  const std::set<Expr> &get() const { return subjects; }
  /// Whether a sum with the counter will soon be asked whether it is zero: each
  /// turn takes away `step` times its factor, and less than `reach` is soon.
  bool mayFollow(ExpressionTable &table, Expr sum, Expr counter, int64_t step,
                 int64_t reach) const;
  /// The constants that `sum`, which has none, is asked with, in order.
  llvm::SmallVector<int64_t> getConstants(ExpressionTable &table, Expr sum,
                                          Expr counter) const;

private:
  struct Constants {
    std::set<int64_t> all, forZero;
  };
  std::set<Expr> subjects;
  /// By what a sum is without the counter and a constant, and the counter's
  /// factor.
  std::map<std::pair<Expr, int64_t>, Constants> asked;
};

/// What is known about conditions on one path.
class PathFacts {
public:
  /// Bounds of a sum, both included.
  struct Interval {
    int64_t low = INT64_MIN, high = INT64_MAX;
  };

  std::optional<bool> decide(ExpressionTable &table, Expr condition) const;
  /// A part of `condition` that has to be decided for it to be.
  Expr findUndecided(ExpressionTable &table, Expr condition) const;
  /// Learns a part that was undecided.
  void assume(ExpressionTable &table, Expr part, bool holds);

  Interval getInterval(ExpressionTable &table, Expr sum) const;
  /// Sets what is known of a sum that is no constant.
  void setInterval(ExpressionTable &table, Expr sum, Interval interval);

  /// Forgets what depends on the variable `atom`.
  void forget(const ExpressionTable &table, Expr atom);
  /// Forgets what depends on variables that are not in `variables`.
  void keepOnly(const ExpressionTable &table, const VariableSet &variables);
  /// `atom` has become what was `atom + step` before: `by` is `atom - step`.
  void shift(ExpressionTable &table, Expr atom, Expr by);
  /// The variable `counter` begins at `first` and moves by `step`: what is
  /// known of `first` becomes known of it, as far as `questions` ask for that
  /// in one of so many turns.
  void enter(ExpressionTable &table, Expr counter, Expr first, Expr step,
             int64_t turns, const OpenConditions &questions);
  /// The variable `atom` begins as the sum `value`: bounds of elements counted
  /// by `counter` become bounds of their differences from `atom`, too.
  void relate(ExpressionTable &table, Expr counter, Expr atom, Expr value);
  /// Forgets what depends on `atom` and on no element counted by `counter`.
  void keepElements(const ExpressionTable &table, Expr counter, Expr atom);
  /// Forgets what is known of elements before `counter`, which began `start`
  /// from 0 and moves by `step`, bounds that are further than `reach` from what
  /// is asked for, unless it `isShort`, and what nobody asks any more.
  void trim(ExpressionTable &table, Expr counter, Expr step, int64_t start,
            int64_t reach, bool isShort, const OpenConditions &questions);
  void appendTo(std::string &key) const;

private:
  /// std::erase_if is of C++20.
  template <typename MapT, typename FnT>
  static void eraseIf(MapT &map, FnT matches) {
    for (auto it = map.begin(); it != map.end();)
      it = matches(*it) ? map.erase(it) : std::next(it);
  }

  std::map<Expr, Interval> bounds;
  std::map<Expr, bool> truths;
};

/// The result of an integer operation, if it can be computed from constants.
std::optional<int64_t> foldIntegers(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> operands);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H
