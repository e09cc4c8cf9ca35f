//===- Predicates.cpp - Comparisons whose meaning is left out -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uninterpreted functions (Burch and Dill, "Automatic verification of pipelined
// microprocessor control", 1994): a pipeline asks the same of an iteration in
// several places, and what it asks does not matter. The bounds of sums that are
// close to each other, as k / 4 in eight iterations, would make many states.
//
// A comparison with a loop's bound has the form `bound - i > c`, or with a
// multiple of the step, where i may also be the first value of the variable:
// that is how a prologue asks.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Loops/Predicates.h"

using namespace mlir;
using namespace tilews::verifier;

/// Whether a sum is a multiple of `step`, or a constant if this is one.
static bool isDistance(ExpressionTable &table, Expr sum, Expr step) {
  if (table.getConstantValue(sum))
    return table.getConstantValue(step) || table.getConstantValue(sum) == 0;
  return table.getOffset(sum) == 0 && table.getOffset(step) == 0 &&
         table.getMultiple(sum).primitive == table.getMultiple(step).primitive;
}

bool Predicates::comparesWithBound(const Path &path, Expr condition) {
  ExpressionTable &table = context.table;
  if (!isComparison(table.getKind(condition)))
    return false;
  if (!loops) {
    loops.emplace();
    context.program.getKernel()->walk(
        [&](scf::ForOp loop) { loops->push_back(loop); });
  }
  Expr sum = table.getOperands(condition)[0];
  return llvm::any_of(*loops, [&](scf::ForOp loop) {
    int64_t number = context.program.getNumber(loop.getInductionVar());
    bool isInside = number >= 0 && path.values[number];
    Expr from =
        isInside ? path.values[number] : values.get(path, loop.getLowerBound());
    Expr left = table.add(values.get(path, loop.getUpperBound()), from, -1);
    Expr step = values.get(path, loop.getStep());
    return isDistance(table, table.add(sum, left, -1), step) ||
           isDistance(table, table.add(sum, left), step);
  });
}

Expr Predicates::get(const Path &path, Operation *comparison, Expr condition) {
  ExpressionTable &table = context.table;
  if (table.getConstantValue(condition))
    return condition;
  if (!enabled && (context.hasComparisons() || !seen.insert(comparison).second))
    return condition;
  Expr positive = table.getKind(condition) == ExpressionTable::Kind::Not
                      ? table.getOperands(condition)[0]
                      : condition;
  if (comparesWithBound(path, positive))
    return condition;
  context.noteComparison();
  if (!enabled)
    return condition;
  // In the iterations before a loop, `k != t` from k = t on is `n * s != 0` for
  // a step s > 0. All of these are one predicate, and it is known.
  if (table.getVariables(condition).empty())
    if (std::optional<bool> known = path.facts.decide(table, condition))
      return table.getConstant(*known);
  return getPredicate(table, condition);
}
