//===- ChoiceProblem.cpp - One choice for each node of a graph ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partitioned boolean quadratic programming, PBQP (Scholz and Eckstein,
// "Register Allocation for Irregular Architectures", 2002). Minimizing a sum of
// pairwise costs is NP-hard in general, but linear on trees by dynamic
// programming. The solver takes a maximum spanning forest, where the
// weight of an edge is the difference between its largest and its smallest
// cost: what a wrong choice along it can cost. Leaves first, it computes for
// each choice of a node's parent the best choice of the node and the cost of
// the subtree; from the roots down it reads off the choices. Edges outside of
// the forest are ignored in the first round; in later rounds their ends count
// with the choices of the last round, as long as the total cost falls. Local
// search at the end changes one node at a time.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/ChoiceProblem.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace tilews::tile;
using llvm::SmallVector;

/// The most rounds of each kind of step. A few suffice for usual graphs.
static constexpr int kMaxRounds = 8;

unsigned ChoiceProblem::addNode(SmallVector<int64_t> nodeCosts) {
  costs.push_back(std::move(nodeCosts));
  edgesOf.emplace_back();
  return costs.size() - 1;
}

void ChoiceProblem::addEdge(
    unsigned from, unsigned to,
    llvm::function_ref<int64_t(unsigned, unsigned)> cost) {
  if (from == to) {
    for (auto [choice, own] : llvm::enumerate(costs[from]))
      own += cost(choice, choice);
    return;
  }
  auto [first, second] = std::minmax(from, to);
  auto [entry, isNew] = known.try_emplace({first, second}, edges.size());
  if (isNew) {
    edges.push_back({first, second, {}});
    edges.back().costs.assign(costs[first].size() * costs[second].size(), 0);
    edgesOf[first].push_back(entry->second);
    edgesOf[second].push_back(entry->second);
  }
  CostEdge &edge = edges[entry->second];
  size_t width = costs[second].size();
  for (unsigned a = 0; a < costs[first].size(); ++a)
    for (unsigned b = 0; b < width; ++b)
      edge.costs[a * width + b] += from == first ? cost(a, b) : cost(b, a);
}

int64_t ChoiceProblem::getCost(const CostEdge &edge, unsigned node,
                               unsigned choice, unsigned other) const {
  size_t width = costs[edge.to].size();
  return node == edge.from ? edge.costs[choice * width + other]
                           : edge.costs[other * width + choice];
}

int64_t ChoiceProblem::getCost(const Choices &choices) const {
  int64_t sum = 0;
  for (auto [node, choice] : llvm::enumerate(choices))
    sum += costs[node][choice];
  for (const CostEdge &edge : edges)
    sum += getCost(edge, edge.from, choices[edge.from], choices[edge.to]);
  return sum;
}

/// Returns the most that a wrong choice can cost along an edge.
int64_t ChoiceProblem::getSpread(const CostEdge &edge) const {
  auto [least, most] =
      std::minmax_element(edge.costs.begin(), edge.costs.end());
  return *most - *least;
}

/// Returns a maximum spanning forest by the spread of edges (Kruskal).
ChoiceProblem::Forest ChoiceProblem::getForest() const {
  // The heaviest edge first; among equal ones, the first that was added.
  SmallVector<std::pair<int64_t, unsigned>> byWeight;
  for (auto [i, edge] : llvm::enumerate(edges))
    byWeight.emplace_back(-getSpread(edge), i);
  llvm::sort(byWeight);
  Forest forest;
  forest.isTree.assign(edges.size(), false);
  llvm::IntEqClasses trees(costs.size());
  for (auto [weight, i] : byWeight) {
    unsigned a = trees.findLeader(edges[i].from);
    unsigned b = trees.findLeader(edges[i].to);
    forest.isTree[i] = a != b;
    trees.join(a, b);
  }

  forest.parent.assign(costs.size(), Forest::kNone);
  forest.parentEdge.assign(costs.size(), Forest::kNone);
  SmallVector<bool> seen(costs.size(), false);
  for (unsigned root = 0; root < costs.size(); ++root) {
    if (seen[root])
      continue;
    seen[root] = true;
    size_t next = forest.order.size();
    forest.order.push_back(root);
    for (; next < forest.order.size(); ++next) {
      unsigned node = forest.order[next];
      for (unsigned i : edgesOf[node]) {
        unsigned other = edges[i].from + edges[i].to - node;
        if (!forest.isTree[i] || seen[other])
          continue;
        seen[other] = true;
        forest.parent[other] = node;
        forest.parentEdge[other] = i;
        forest.order.push_back(other);
      }
    }
  }
  return forest;
}

/// Returns the cheapest choices if only the forest's edges count. With `fixed`,
/// the other edges count as well, with their far ends fixed to these choices.
ChoiceProblem::Choices ChoiceProblem::solveForest(const Forest &forest,
                                                  const Choices *fixed) const {
  SmallVector<SmallVector<int64_t>> sums = costs;
  if (fixed)
    for (auto [i, edge] : llvm::enumerate(edges))
      if (!forest.isTree[i])
        for (unsigned node : {edge.from, edge.to}) {
          unsigned other = edge.from + edge.to - node;
          for (auto [choice, sum] : llvm::enumerate(sums[node]))
            sum += getCost(edge, node, choice, (*fixed)[other]);
        }
  // The best choice of each node for each choice of its parent.
  SmallVector<SmallVector<unsigned>> best(costs.size());
  auto choose = [&](unsigned node, llvm::function_ref<int64_t(unsigned)> cost) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (unsigned choice = 0; choice < costs[node].size(); ++choice) {
      int64_t sum = sums[node][choice] + cost(choice);
      if (sum >= least)
        continue;
      least = sum;
      best[node].back() = choice;
    }
    return least;
  };
  for (unsigned node : llvm::reverse(forest.order)) {
    unsigned parent = forest.parent[node];
    if (parent == Forest::kNone) {
      best[node].push_back(0);
      choose(node, [](unsigned) { return 0; });
      continue;
    }
    const CostEdge &edge = edges[forest.parentEdge[node]];
    for (unsigned above = 0; above < costs[parent].size(); ++above) {
      best[node].push_back(0);
      sums[parent][above] += choose(node, [&](unsigned choice) {
        return getCost(edge, node, choice, above);
      });
    }
  }
  Choices choices(costs.size());
  for (unsigned node : forest.order) {
    unsigned parent = forest.parent[node];
    choices[node] = best[node][parent == Forest::kNone ? 0 : choices[parent]];
  }
  return choices;
}

/// Changes single nodes to better choices. Returns whether there were any.
bool ChoiceProblem::improveNodes(Choices &choices) const {
  bool improved = false;
  for (unsigned node = 0; node < costs.size(); ++node) {
    auto getSum = [&](unsigned choice) {
      int64_t sum = costs[node][choice];
      for (unsigned i : edgesOf[node]) {
        const CostEdge &edge = edges[i];
        unsigned other = edge.from + edge.to - node;
        sum += getCost(edge, node, choice, choices[other]);
      }
      return sum;
    };
    int64_t least = getSum(choices[node]);
    for (unsigned choice = 0; choice < costs[node].size(); ++choice) {
      int64_t sum = getSum(choice);
      if (sum >= least)
        continue;
      least = sum;
      choices[node] = choice;
      improved = true;
    }
  }
  return improved;
}

ChoiceProblem::Choices ChoiceProblem::solve() const {
  Forest forest = getForest();
  Choices best = solveForest(forest, nullptr);
  int64_t least = getCost(best);
  for (int round = 0; round < kMaxRounds; ++round) {
    Choices next = solveForest(forest, &best);
    int64_t cost = getCost(next);
    if (cost >= least)
      break;
    best = std::move(next);
    least = cost;
  }
  for (int round = 0; round < kMaxRounds && improveNodes(best); ++round) {
  }
  return best;
}

void ChoiceProblem::print(llvm::raw_ostream &os) const {
  for (auto [node, own] : llvm::enumerate(costs)) {
    os << "node " << node << ":";
    for (int64_t cost : own)
      os << " " << cost;
    os << "\n";
  }
  for (const CostEdge &edge : edges) {
    os << "edge " << edge.from << "-" << edge.to << ":";
    size_t width = costs[edge.to].size();
    for (auto [i, cost] : llvm::enumerate(edge.costs))
      os << (i != 0 && i % width == 0 ? " / " : " ") << cost;
    os << "\n";
  }
}
