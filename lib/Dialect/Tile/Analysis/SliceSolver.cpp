//===- SliceSolver.cpp - Dataflow over a backward slice -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where control flow takes the value of a result or of an argument from: the
// operands at the same position of all branches to it. For an argument that a
// loop carries these are the initial operand and the one that is yielded.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

using namespace mlir;
using namespace tilews;

/// Returns the position of `value` in `inputs`, which are neighbors in a list
/// of results or of arguments.
static std::optional<unsigned> findInput(ValueRange inputs, Value value) {
  auto getNumber = [](Value input) {
    auto argument = dyn_cast<BlockArgument>(input);
    return argument ? argument.getArgNumber()
                    : cast<OpResult>(input).getResultNumber();
  };
  if (inputs.empty())
    return std::nullopt;
  unsigned position = getNumber(value) - getNumber(inputs.front());
  if (position >= inputs.size() || inputs[position] != value)
    return std::nullopt;
  return position;
}

void tile::visitPassedOperands(RegionBranchOpInterface branch, Value value,
                               function_ref<void(Value)> visit) {
  for (RegionBranchPoint point : branch.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(point, successors);
    for (const RegionSuccessor &successor : successors)
      if (auto position = findInput(successor.getSuccessorInputs(), value))
        visit(branch.getSuccessorOperands(point, successor)[*position]);
  }
}
