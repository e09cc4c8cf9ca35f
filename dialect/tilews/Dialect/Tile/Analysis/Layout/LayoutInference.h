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
/// A fragment's candidates (`LayoutCandidates`) are what types, instructions
/// and accesses to memory ask for, of itself or of the fragments it is tied to
/// (`FragmentGraph`). The choice is the cheapest one by `LayoutCosts`: what
/// accesses, reductions and computations cost in a layout, and what it costs to
/// convert a fragment where two meet.
class LayoutInference {
public:
  LayoutInference(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target)
      : kernel(kernel), target(target), costs(target) {}

  /// Chooses all layouts; fails with an error at an operation whose layouts
  /// nothing is known of.
  llvm::LogicalResult run();

  /// The layout of a fragment; null for one that is repeated in each layout it
  /// is used in.
  FragmentAttr getLayout(mlir::Value value) const;
  /// The layout an operand has to have once all values have theirs; null if any
  /// will do.
  FragmentAttr getNeeded(mlir::OpOperand &operand);
  /// The layout `result` comes out with, given the layouts of its operation's
  /// operands. It differs from its own where the operation fixes it.
  FragmentAttr getProduced(mlir::OpResult result) const;
  /// The layout of a repeatable fragment for an operation that takes any.
  FragmentAttr getDefault(mlir::OpOperand &operand);

  /// Where the layout of a fragment comes from, and among how many it was
  /// chosen; none for one that is repeated.
  std::optional<LayoutCandidate> getChoice(mlir::Value value) const;
  unsigned getNumCandidates(mlir::Value value) const;
  /// Why an operand has to have the layout `getNeeded` says.
  LayoutReason getNeededReason(mlir::OpOperand &operand) const;

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
  /// The candidate of each node; nothing of one that is repeated.
  llvm::SmallVector<std::optional<unsigned>> choices;
};

/// What a layout is chosen for, to say it in a message: "its type has it".
std::string describe(const LayoutReason &reason);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTINFERENCE_H
