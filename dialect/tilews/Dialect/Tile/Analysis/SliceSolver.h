//===- SliceSolver.h - Dataflow over a backward slice -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse forward dataflow for queries about single values: it finds facts
// about a value and all values that it is computed from, and about no others.
// Upstream's SparseForwardDataFlowAnalysis needs a root operation and visits
// all of it, while passes ask about a few values of a kernel that they are
// rewriting.
//
// The solver works on an explicit stack, so that no chain of operations is too
// long for it. A value is evaluated after its operands; where a cycle of
// loop-carried values changes a fact, the users of the value are evaluated
// again. If a fact changes at most k times, the time is k times the size of the
// slice.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_SLICESOLVER_H
#define TILEWS_DIALECT_TILE_ANALYSIS_SLICESOLVER_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilews::tile {

/// Finds facts about values. `FactT()` is the optimistic fact, which values in
/// a cycle start with.
///
/// Example: the facts are divisors, and 0, which every number divides, is the
/// optimistic one. A loop carries %o, which starts at 64, and yields
/// %p = %o + 48. The divisor of %o starts at 0, so %p gets gcd(0, 48) = 48.
/// Then %o gets gcd(64, 48) = 16, and %p is evaluated again: gcd(16, 48) = 16.
/// This is the fixpoint.
template <typename FactT>
class SliceSolver {
public:
  using Facts = llvm::MapVector<mlir::Value, FactT>;
  /// Computes the fact of a value from those that `read` returns for others,
  /// and from its own last fact.
  using EvaluateFn = llvm::function_ref<FactT(mlir::Value, const FactT &last)>;

  /// `known` has facts that are final.
  explicit SliceSolver(Facts &known) : known(known) {}

  /// Adds facts about `root`, and about what it is computed from, to the known
  /// ones. Returns the number of evaluations.
  int64_t solve(mlir::Value root, EvaluateFn evaluate) {
    int64_t evaluations = 0;
    push(root);
    while (!stack.empty()) {
      mlir::Value value = reader = stack.back();
      size_t height = stack.size();
      FactT last = states[value].fact;
      FactT fact = evaluate(value, last);
      ++evaluations;
      // Operands that were read for the first time come first.
      if (stack.size() > height)
        continue;
      stack.pop_back();
      State &state = states[value];
      state.onStack = false;
      if (fact == last)
        continue;
      state.fact = fact;
      for (mlir::Value user : state.users)
        push(user);
    }
    for (auto &[value, state] : states)
      known[value] = state.fact;
    return evaluations;
  }

  /// Returns the current fact about `value`, from which the value under
  /// evaluation is computed.
  FactT read(mlir::Value value) {
    if (auto it = known.find(value); it != known.end())
      return it->second;
    if (!states.contains(value))
      push(value);
    State &state = states[value];
    if (state.users.empty() || state.users.back() != reader)
      state.users.push_back(reader);
    return state.fact;
  }

private:
  struct State {
    FactT fact = FactT();
    bool onStack = false;
    /// The values whose evaluation reads this one.
    llvm::SmallVector<mlir::Value, 2> users;
  };

  /// Puts `value` on the stack unless it is there already.
  void push(mlir::Value value) {
    State &state = states[value];
    if (!state.onStack)
      stack.push_back(value);
    state.onStack = true;
  }

  Facts &known;
  llvm::MapVector<mlir::Value, State> states;
  llvm::SmallVector<mlir::Value> stack;
  /// The value that is being evaluated.
  mlir::Value reader;
};

/// Calls `visit` with each operand that control flow passes on to `value`, a
/// result of `branch` or an argument of its regions.
void visitPassedOperands(mlir::RegionBranchOpInterface branch,
                         mlir::Value value,
                         llvm::function_ref<void(mlir::Value)> visit);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_SLICESOLVER_H
