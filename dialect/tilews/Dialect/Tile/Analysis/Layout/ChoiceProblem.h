//===- ChoiceProblem.h - One choice for each node of a graph ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search behind layout inference, which knows nothing of layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tilews::tile {

/// Nodes that each take one of a few choices, at a cost of its own and at a
/// cost for each pair of choices along an edge.
///
/// `solve` minimizes the sum. It is exact on forests, and takes time in
/// proportion to the edges: the costs along a spanning forest are minimized
/// together, those of the other edges given what their ends have; then single
/// nodes change as long as it pays. Equal costs are decided by the order in
/// which nodes, choices and edges were added.
class ChoiceProblem {
public:
  using Choices = llvm::SmallVector<unsigned>;

  unsigned addNode(llvm::SmallVector<int64_t> costs);
  /// Adds the cost of each pair of choices of two nodes, which may be one.
  void addEdge(unsigned from, unsigned to,
               llvm::function_ref<int64_t(unsigned, unsigned)> cost);

  Choices solve() const;
  int64_t getCost(const Choices &choices) const;

private:
  struct Edge {
    unsigned from, to;
    llvm::SmallVector<int64_t> costs; // of (from, to), to fastest
  };
  /// The edges that choose together, as a forest in which each node comes
  /// after its parent.
  struct Forest {
    static constexpr unsigned kNone = ~0u;
    llvm::SmallVector<unsigned> order, parent, parentEdge;
    llvm::SmallVector<bool> isTree; // of each edge
  };

  int64_t getCost(const Edge &edge, unsigned node, unsigned choice,
                  unsigned other) const;
  int64_t getSpread(const Edge &edge) const;
  Forest getForest() const;
  Choices solveForest(const Forest &forest, const Choices *fixed) const;
  bool improveNodes(Choices &choices) const;

  llvm::SmallVector<llvm::SmallVector<int64_t>> costs; // of each node
  llvm::SmallVector<Edge> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned>> edgesOf; // each node
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> known;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H
