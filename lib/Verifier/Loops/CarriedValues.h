//===- CarriedValues.h - Loop-carried values of groups ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_LOOPS_CARRIEDVALUES_H
#define TILEWS_LIB_VERIFIER_LOOPS_CARRIEDVALUES_H

#include "Verifier/Engine/PathValues.h"
#include "Verifier/Loops/InductionVariables.h"

#include <set>

namespace tilews::verifier {

/// Loops of several tasks that run together: loop i belongs to task `tasks[i]`.
struct LoopGroup {
  int number = 0;
  llvm::SmallVector<unsigned> tasks;
  llvm::SmallVector<mlir::Operation *> loops;
  /// By loop: how many of its iterations make one iteration of the group.
  llvm::SmallVector<int64_t> factors;
};

/// The arguments of a loop's first region that it carries.
mlir::Block::BlockArgListType getCarried(mlir::Operation *loop);

/// Names the loop-carried values of groups in each iteration, so that finitely
/// many names are enough. Slots, phases and small counts stay constants. Other
/// values are partitioned into classes; the values of a class are always the
/// same and get one variable as their name:
///
///     role @load: for i ... iter_args(%p = 0, %sum = %a)
///     role @math: for i ... iter_args(%q = 0, %acc = %a)
///
///     iteration 0: %p = %q = 0      %sum = %acc = carried0.0
///     iteration 1: %p = %q = 1      %sum = %acc = carried0.0
///
/// If %sum and %acc differ at the end of an iteration they get two classes, and
/// the search starts over.
///
/// A number to which each iteration adds a constant is a sum of the induction
/// variable: `%c = %c0 + 2 * (i - lower)`.
class CarriedValues {
public:
  /// With `relatesCounts` the values of a class may differ by small constants:
  /// %sum = carried0.0, %acc = carried0.0 + 2.
  CarriedValues(ProofContext &context, const PathValues &values,
                const InductionVariables &inductions, bool relatesCounts)
      : context(context), values(values), inductions(inductions),
        relatesCounts(relatesCounts) {}

  /// Adds the values of a new group; groups come in the order of their numbers.
  void add(const LoopGroup &group);
  /// Whether a group carries numbers that may be related.
  bool hasCounts() const;

  /// Widens constants that have become too large to variables. Returns whether
  /// the search starts over. `carried` are the values that the loops pass on.
  bool widen(const LoopGroup &group, llvm::ArrayRef<Expr> carried);
  /// Splits the classes of values that have become different. Returns whether
  /// the search starts over.
  bool split(const LoopGroup &group, llvm::ArrayRef<Expr> carried);

  /// Sets the values with which an iteration begins. In the first one, `counts`
  /// has how far the induction variable of each scf.for is from where it began,
  /// as a sum of the group's variable.
  void begin(Path &path, const LoopGroup &group, llvm::ArrayRef<Expr> carried,
             bool isFirst, llvm::ArrayRef<Expr> counts);
  /// Sets the results of the loops, and returns them; `wasEntered` if they had
  /// an iteration. If `ends` has an end for a loop, its results are the values
  /// carried at that end.
  llvm::SmallVector<Expr> end(Path &path, const LoopGroup &group,
                              llvm::ArrayRef<Expr> results, bool wasEntered,
                              llvm::ArrayRef<Expr> ends);

private:
  /// A number that counts the iterations of a loop of a group.
  struct Counter {
    unsigned loop;
    /// What one iteration adds, and its ratio to the step of the loop.
    int64_t increment, factor;
  };
  static std::optional<Counter> findCounter(mlir::Operation *loop,
                                            unsigned number,
                                            mlir::BlockArgument carried);

  /// The loop-carried values of a group.
  struct GroupRecord {
    llvm::SmallVector<mlir::Value> values;
    /// By place: how a number counts iterations, if it does.
    std::vector<std::optional<Counter>> counters;
    /// By place: the class of each value. Empty before the first iteration.
    std::vector<int64_t> classes;
    /// The places of numbers that have become too large for constants.
    std::set<unsigned> widened;
  };

  bool isConstant(const GroupRecord &record, unsigned place, Expr value) const;
  bool fitOneClass(mlir::Value carried, Expr a, Expr b) const;
  Expr rename(mlir::Value carried, Expr atom, Expr value, Expr base) const;
  Expr getCount(const LoopGroup &group, const Counter &counter, Expr carried,
                bool isFirst, llvm::ArrayRef<Expr> counts) const;
  void moveClass(Path &path, const LoopGroup &group, Expr atom, Expr value,
                 bool isFirst);
  Expr getFinalCount(const Path &path, mlir::Operation *loop, unsigned number,
                     Expr end) const;

  ProofContext &context;
  const PathValues &values;
  const InductionVariables &inductions;
  bool relatesCounts;
  std::vector<GroupRecord> records;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_LOOPS_CARRIEDVALUES_H
