//===- ChoiceProblem.h - One choice for each node of a graph ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The optimization problem of layout inference, without layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace tilews::tile {

/// A graph whose nodes each take one of a few choices. A choice has a cost of
/// its own, and each pair of choices along an edge has a cost. Two fragments
/// with two layouts each, and a conversion of cost 7 where they differ, are
///
/// ```
/// unsigned a = problem.addNode({0, 4}), b = problem.addNode({5, 0});
/// problem.addEdge(a, b, [](unsigned x, unsigned y) { return 7 * (x != y); });
/// problem.solve(); // {1, 1}, cost 4
/// ```
///
/// `solve` minimizes the sum of all costs. It is exact on forests. On other
/// graphs it is a heuristic: it minimizes the costs along a spanning forest
/// exactly with the other edges' ends fixed, and then changes single nodes as
/// long as that lowers the cost. Its time is proportional to the number of
/// edges. Ties are decided by the order in which nodes, choices and edges were
/// added.
class ChoiceProblem {
public:
  using Choices = llvm::SmallVector<unsigned>;

  /// Adds a node with the cost of each choice, of which there is at least one.
  /// Returns the number of the node.
  unsigned addNode(llvm::SmallVector<int64_t> costs);
  /// Adds the cost of each pair of choices of two nodes. Edges between the same
  /// nodes add up; an edge from a node to itself adds to the costs of its
  /// choices.
  void addEdge(unsigned from, unsigned to,
               llvm::function_ref<int64_t(unsigned, unsigned)> cost);

  Choices solve() const;
  int64_t getCost(const Choices &choices) const;

  /// Prints the costs: `node 0: 0 4` and `edge 0-1: 0 7 / 7 0`, a row for each
  /// choice of the first node.
  void print(llvm::raw_ostream &os) const;

private:
  struct CostEdge {
    unsigned from, to;
    llvm::SmallVector<int64_t> costs; // by choices of from, then of to
  };
  /// The spanning forest along which costs are minimized exactly. In `order`
  /// each node comes after its parent.
  struct Forest {
    static constexpr unsigned kNone = ~0u;
    llvm::SmallVector<unsigned> order, parent, parentEdge;
    llvm::SmallVector<bool> isTree; // of each edge
  };

  int64_t getCost(const CostEdge &edge, unsigned node, unsigned choice,
                  unsigned other) const;
  int64_t getSpread(const CostEdge &edge) const;
  Forest getForest() const;
  Choices solveForest(const Forest &forest, const Choices *fixed) const;
  bool improveNodes(Choices &choices) const;

  llvm::SmallVector<llvm::SmallVector<int64_t>> costs; // of each node
  llvm::SmallVector<CostEdge> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned>> edgesOf; // each node
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> known;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_CHOICEPROBLEM_H
