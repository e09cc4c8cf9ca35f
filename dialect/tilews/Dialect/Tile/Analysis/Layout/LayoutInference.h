//===- LayoutInference.h - Layouts of a kernel's fragments ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTINFERENCE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTINFERENCE_H

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentGraph.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutCandidates.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutCosts.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include <memory>

namespace tilews::tile {

/// Chooses a layout for each fragment of a kernel, without touching the IR.
///
/// `FragmentGraph` finds the fragments and their dependences,
/// `LayoutCandidates` the layouts that each may get, and `LayoutCosts` what
/// accesses, reductions, computations and conversions cost in them.
/// `ChoiceProblem` finds the cheapest choice. For
///
/// ```mlir
/// %4 = tile.load %A[0, 0] : memref<64x64xf32> -> tensor<64x64xf32>
/// %5 = tile.reduce <sum> %4 {axis = 1} : tensor<64x64xf32> -> tensor<64xf32>
/// ```
///
/// it prints each node with its choice. %5 follows from %4 without conversion:
///
/// ```
/// %4: #tile.fragment<...>, widest accesses of 'tile.load' (1 of 1)
/// %5: #tile.fragment<...>, widest accesses of 'tile.load' (2 of 2)
/// ```
class LayoutInference {
public:
  LayoutInference(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target)
      : kernel(kernel), target(target), costs(target) {}

  /// Chooses all layouts; fails with an error at an operation without layout
  /// rule.
  llvm::LogicalResult run();

  /// Returns the layout of a fragment; null for one that is computed again in
  /// each layout it is used in.
  FragmentAttr getLayout(mlir::Value value) const;
  /// Returns the layout that an operand needs, given the chosen layouts of all
  /// values; null if it may have any.
  FragmentAttr getNeeded(mlir::OpOperand &operand);
  /// Returns the layout in which the operation makes `result`, given the
  /// layouts of its operands. If that is not the chosen one, a conversion has
  /// to follow.
  FragmentAttr getProduced(mlir::OpResult result) const;
  /// Returns the layout of a repeatable fragment for an operation that takes
  /// any.
  FragmentAttr getDefault(mlir::OpOperand &operand);

  /// Returns the chosen candidate of a fragment; none for one that is repeated.
  std::optional<LayoutCandidate> getChoice(mlir::Value value) const;
  /// Returns among how many candidates it was chosen.
  unsigned getNumCandidates(mlir::Value value) const;
  /// Returns the reason for the layout that `getNeeded` returns.
  LayoutReason getNeededReason(mlir::OpOperand &operand) const;

  /// Returns the costs that the choices rest on.
  const LayoutCosts &getCosts() const { return costs; }

  /// Prints the choices; valid after `run` succeeded.
  void print(llvm::raw_ostream &os) const;

private:
  void choose();
  FragmentAttr getStoreLayout(mlir::OpOperand &operand);
  int64_t getNodeCost(unsigned node, FragmentAttr layout);
  int64_t getEdgeCost(const FragmentGraph::Edge &edge, FragmentAttr from,
                      FragmentAttr to, FragmentAttr produced,
                      FragmentAttr needed);

  mlir::gpu::GPUFuncOp kernel;
  const TargetInfo &target;
  Divisibility divisibility;
  LayoutCosts costs;
  std::optional<FragmentGraph> graph;
  std::unique_ptr<LayoutCandidates> candidates;
  /// The chosen candidate of each node; none for a repeated fragment.
  llvm::SmallVector<std::optional<unsigned>> choices;
};

/// Returns the reason as text for a message, such as "given by a type".
std::string describe(const LayoutReason &reason);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTINFERENCE_H
