//===- Expressions.h - Symbolic scalars of a schedule -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H

#include "Verifier/Symbolic/Interval.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tilews::verifier {

/// The number of an expression in an ExpressionTable; 0 is no expression.
using Expr = uint32_t;
using VariableSet = llvm::SmallDenseSet<Expr, 32>;

/// The first word of an atom's name: where its value comes from. The other
/// words of the name distinguish atoms of one kind.
struct AtomKind {
  enum : int64_t {
    /// An SSA value that the slice does not compute, such as an argument.
    OutsideValue = 1,
    /// The result of an operation without effects, of the operands.
    PureResult = 2,
    /// The result of an operation that may differ each time it runs.
    OpaqueResult = 3,
    /// What is different in each thread. Operations such as gpu.thread_id have
    /// it as an operand.
    ThreadPlace = 4,
    /// The induction variable of a group of loops.
    Induction = 5,
    /// A loop-carried value, by group and by class.
    Carried = 6,
    /// The final value of a loop-carried one.
    LoopResult = 7,
    /// An element in memory; the operands are its indices.
    Element = 8,
    /// A quotient, rounded down; the second word is the divisor.
    Quotient = 9,
    /// A sum whose coefficients do not fit into 32 bits.
    LargeSum = 10,
    /// Two sums multiplied by each other, neither of which is a constant.
    ProductOfSums = 11,
    /// An expression that grew too large, by its number: a function, of which
    /// nothing is known, of the expression's variables.
    LargeExpression = 12,
    /// A sum, or 0 where the sum is negative.
    PositivePart = 13,
    /// The quotient of a number whose remainder is known on a path.
    KnownQuotient = 14,
    /// An extent of an argument of the kernel, divided by what is promised to
    /// divide it.
    Extent = 15,
    /// A condition, the operand, of which only is known that equal ones have
    /// equal values.
    Predicate = 16,
    /// One of two sums, by a condition: the operands are the condition, and the
    /// sums where it holds and where it does not.
    Choice = 17,
  };
};

/// All expressions of a proof. The table has one copy of each (hash-consing:
/// Filliatre and Conchon, "Type-safe modular hash-consing", 2006), so two roles
/// that compute the same scalar have the same `Expr`:
///
///     role @load: %a = arith.addi %i, %c1       // {i: 1} + 1
///                 %b = arith.addi %a, %n        // {i: 1, n: 1} + 1
///     role @math: %c = arith.addi %n, %i        // {i: 1, n: 1} + 0
///                 %d = arith.addi %c, %c1       // the same Expr as %b
///
/// Integers are sums of atoms with coefficients and a constant, of 32 bits
/// each. A sum that needs larger numbers is an atom. Overflow in the kernel is
/// not modelled. Conditions compare a sum with 0: `%x < %y` is `y - x > 0`.
class ExpressionTable {
public:
  enum class Kind {
    /// A sum: coefficients of atoms, and a constant.
    Linear,
    /// A name and operands, of which nothing else is known.
    Atom,
    /// A sum is greater than 0.
    Positive,
    /// A sum is 0.
    Zero,
    Not,
    /// A conjunction of two or more, in the order of their numbers. A
    /// disjunction is the negation of one.
    And
  };
  using Terms = llvm::SmallVector<std::pair<Expr, int64_t>, 2>;

  ExpressionTable() : nodes(1), buckets(1024) {}

  Expr getConstant(int64_t value) { return getLinear({}, value); }
  /// The atom of this name and these operands. The value of a variable changes
  /// on a path, that of other atoms does not: see `mentions`. The value of a
  /// natural atom is never negative.
  Expr getAtom(llvm::ArrayRef<int64_t> name, llvm::ArrayRef<Expr> operands,
               bool isVariable = false, bool isNatural = false);
  /// The sum `1 * atom`.
  Expr getInteger(Expr atom) { return getLinear({{atom, 1}}, 0); }
  /// a + factor * b, of sums.
  Expr add(Expr a, Expr b, int64_t factor = 1);
  Expr addConstant(Expr a, int64_t value);
  /// a * b, of sums.
  Expr getProduct(Expr a, Expr b);
  /// A sum divided by a positive number, rounded down.
  Expr getQuotient(Expr sum, int64_t divisor);
  /// The larger one of a sum and 0.
  Expr getPositivePart(Expr sum);
  Expr getPositive(Expr sum);
  Expr getZero(Expr sum);
  Expr getNot(Expr condition);
  /// Conjunction, or disjunction.
  Expr getBoth(Expr a, Expr b, bool isAnd);
  Expr getConjunction(llvm::ArrayRef<Expr> conditions);

  Kind getKind(Expr e) const { return nodes[e].kind; }
  std::optional<int64_t> getConstantValue(Expr e) const;
  /// The terms of a sum, in the order of their atoms.
  Terms getTerms(Expr sum) const;
  /// The constant of a sum.
  int64_t getOffset(Expr sum) const { return nodes[sum].words[0]; }
  /// The coefficient of an atom in a sum.
  int64_t getFactor(Expr sum, Expr atom) const;
  /// The bounds that a sum has for all values of its atoms: a sum of natural
  /// atoms is not negative, and a remainder is less than its divisor.
  Interval getBounds(Expr sum) const { return nodes[sum].bounds; }
  /// If `sum` is `sign * (h - d * floor(h / d)) + constant`, the quotient's
  /// atom: the remainder of h divided by d, which the atom has the numbers of.
  Expr getRemainderOf(Expr sum) const;
  /// The greatest common divisor of the coefficients; 1 for constants.
  int64_t getScale(Expr sum) const;
  /// A sum of multiples of `divisor`, divided by it.
  Expr divideExactly(Expr sum, int64_t divisor);
  /// A sum without its constant is `factor * primitive`: the coefficients of
  /// `primitive` have no common divisor, and the first one is positive.
  struct Multiple {
    Expr primitive = 0;
    int64_t factor = 1;
  };
  Multiple getMultiple(Expr sum);
  llvm::ArrayRef<Expr> getOperands(Expr e) const { return nodes[e].operands; }
  llvm::ArrayRef<int64_t> getName(Expr atom) const { return nodes[atom].words; }
  /// The number of nodes of `e` written out as a tree, at most UINT32_MAX. The
  /// atom of an expression that was cut off is one node.
  uint32_t getTreeSize(Expr e) const { return nodes[e].treeSize; }

  /// Whether the value of `e` depends on the variable `atom`. A variable
  /// depends on itself.
  bool mentions(Expr e, Expr atom) const;
  /// The variables that the value of `e` depends on, sorted.
  llvm::ArrayRef<Expr> getVariables(Expr e) const { return nodes[e].variables; }
  /// Whether `atom`, a variable or not, is `e` or a part of it.
  bool contains(Expr e, Expr atom) const;
  /// `e` with the sum `by` in place of `atom`.
  Expr substitute(Expr e, Expr atom, Expr by);

  /// Counts work on expressions, in steps of a ProofBudget. An expression that
  /// is made, or found in the table, is one step.
  void countWork(size_t steps) { work += steps; }
  /// The steps since the last call.
  size_t takeWork() { return std::exchange(work, 0); }

  /// Prints `e` in the notation of this header: `2*i0 + n + 3`, `i0 - n > 0`.
  void print(Expr e, llvm::raw_ostream &os) const;

private:
  struct ExpressionNode {
    Kind kind = Kind::Atom;
    /// Linear: the constant, then a coefficient for each operand. Atom: its
    /// name.
    llvm::SmallVector<int64_t, 2> words;
    llvm::SmallVector<Expr, 2> operands;
    /// The variables that it depends on, sorted.
    llvm::SmallVector<Expr, 2> variables;
    Interval bounds;
    /// The result of `getMultiple`, once it was asked for.
    Multiple multiple;
    uint32_t treeSize = 1;
    uint64_t hash = 0;
  };

  Expr getLinear(const Terms &terms, int64_t constant);
  Expr substituteInTerm(Expr term, Expr atom, Expr by);
  Expr intern(Kind kind, llvm::ArrayRef<int64_t> words,
              llvm::ArrayRef<Expr> operands, bool isVariable = false,
              bool isNatural = false);
  Interval findBounds(Expr e) const;
  Interval findBoundsOfAtom(Expr atom) const;

  void addToBuckets(Expr expr);

  size_t work = 0;
  std::vector<ExpressionNode> nodes;
  /// A hash table with open addressing: an expression is in the bucket of its
  /// hash or in one of the next ones, and at least half of the buckets are
  /// free. No other table is read as often.
  std::vector<Expr> buckets;
  /// By expression, atom and sum: the results of `substitute`. All paths rename
  /// the same facts in each iteration.
  llvm::DenseMap<std::pair<Expr, std::pair<Expr, Expr>>, Expr> substituted;
};

/// Whether expressions of this kind compare a sum with 0.
inline bool isComparison(ExpressionTable::Kind kind) {
  return kind == ExpressionTable::Kind::Positive ||
         kind == ExpressionTable::Kind::Zero;
}

inline bool isPredicate(const ExpressionTable &table, Expr e) {
  return table.getKind(e) == ExpressionTable::Kind::Atom &&
         table.getName(e)[0] == AtomKind::Predicate;
}

/// `then` where the condition holds, and `otherwise` where it does not.
Expr getChoice(ExpressionTable &table, Expr condition, Expr then,
               Expr otherwise);

/// An atom in place of a condition: no fact about other conditions implies its
/// value.
Expr getPredicate(ExpressionTable &table, Expr condition);

/// A condition with conditions in place of the atoms that stand for them.
Expr getInterpreted(ExpressionTable &table, Expr condition);

/// The sum without its constant.
inline Expr dropConstant(ExpressionTable &table, Expr sum) {
  return table.addConstant(sum, -table.getOffset(sum));
}

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_EXPRESSIONS_H
