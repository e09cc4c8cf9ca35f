//===- ChoiceProblemTest.cpp - Choices against exhaustive search ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The solver promises the optimum on forests. On other graphs it promises that
// no single node has a better choice; how far it is from the optimum is
// measured.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/ChoiceProblem.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tilews::tile;
using testing::ElementsAre;

namespace {

/// A problem, kept twice: for the solver, and as plain tables.
class RandomProblem {
public:
  RandomProblem(std::mt19937 &engine, bool isForest) : engine(engine) {
    unsigned nodes = 1 + getNumber(6);
    for (unsigned node = 0; node < nodes; ++node) {
      llvm::SmallVector<int64_t> own;
      for (unsigned i = 0, e = 1 + getNumber(3); i < e; ++i)
        own.push_back(getNumber(20));
      costs.push_back(own);
      problem.addNode(own);
    }
    if (isForest) {
      for (unsigned node = 1; node < nodes; ++node)
        if (getNumber(8) != 0)
          addEdge(getNumber(node), node);
      return;
    }
    for (unsigned i = 0, e = getNumber(2 * nodes + 1); i < e; ++i)
      addEdge(getNumber(nodes), getNumber(nodes));
  }

  int64_t getCost(llvm::ArrayRef<unsigned> choices) const {
    int64_t sum = 0;
    for (unsigned node = 0; node < costs.size(); ++node)
      sum += costs[node][choices[node]];
    for (const RandomEdge &edge : edges)
      sum += edge.costs[choices[edge.from]][choices[edge.to]];
    return sum;
  }

  /// Tries all choices.
  int64_t getOptimum() const {
    ChoiceProblem::Choices choices(costs.size(), 0);
    int64_t least = getCost(choices);
    while (next(choices))
      least = std::min(least, getCost(choices));
    return least;
  }

  /// Whether one node can be changed to lower the cost.
  bool canImprove(ChoiceProblem::Choices choices) const {
    int64_t cost = getCost(choices);
    for (unsigned node = 0; node < costs.size(); ++node) {
      unsigned own = choices[node];
      for (unsigned other = 0; other < costs[node].size(); ++other) {
        choices[node] = other;
        if (getCost(choices) < cost)
          return true;
      }
      choices[node] = own;
    }
    return false;
  }

  ChoiceProblem problem;

private:
  struct RandomEdge {
    unsigned from, to;
    std::vector<std::vector<int64_t>> costs;
  };

  unsigned getNumber(unsigned count) { return engine() % count; }

  void addEdge(unsigned from, unsigned to) {
    RandomEdge edge = {from, to, {}};
    for (size_t a = 0; a < costs[from].size(); ++a) {
      edge.costs.emplace_back();
      for (size_t b = 0; b < costs[to].size(); ++b)
        edge.costs.back().push_back(getNumber(20));
    }
    problem.addEdge(from, to,
                    [&](unsigned a, unsigned b) { return edge.costs[a][b]; });
    edges.push_back(std::move(edge));
  }

  bool next(ChoiceProblem::Choices &choices) const {
    for (unsigned node = 0; node < costs.size(); ++node) {
      if (++choices[node] < costs[node].size())
        return true;
      choices[node] = 0;
    }
    return false;
  }

  std::mt19937 &engine;
  std::vector<llvm::SmallVector<int64_t>> costs;
  std::vector<RandomEdge> edges;
};

TEST(ChoiceProblemTest, TwoNodesThatShouldAgree) {
  ChoiceProblem problem;
  unsigned a = problem.addNode({0, 4}), b = problem.addNode({5, 0});
  problem.addEdge(a, b, [](unsigned x, unsigned y) { return x == y ? 0 : 7; });
  EXPECT_THAT(problem.solve(), ElementsAre(1, 1));
  EXPECT_EQ(problem.getCost(problem.solve()), 4);
  std::string text;
  llvm::raw_string_ostream os(text);
  problem.print(os);
  EXPECT_EQ(text, "node 0: 0 4\nnode 1: 5 0\nedge 0-1: 0 7 / 7 0\n");
}

TEST(ChoiceProblemTest, TiesGoToTheFirstChoice) {
  ChoiceProblem problem;
  problem.addNode({3, 3, 3});
  EXPECT_THAT(problem.solve(), ElementsAre(0));
  EXPECT_TRUE(ChoiceProblem().solve().empty());
}

TEST(ChoiceProblemTest, EdgesBetweenTheSameNodesAddUp) {
  ChoiceProblem problem;
  unsigned a = problem.addNode({0, 3}), b = problem.addNode({0, 0});
  auto differ = [](unsigned x, unsigned y) { return x == y ? 2 : 0; };
  problem.addEdge(a, b, differ);
  problem.addEdge(b, a, differ);
  problem.addEdge(a, a, [](unsigned x, unsigned) { return x == 0 ? 5 : 0; });
  EXPECT_THAT(problem.solve(), ElementsAre(1, 0));
  EXPECT_EQ(problem.getCost({0, 0}), 4 + 5);
}

TEST(ChoiceProblemTest, ForestsAreSolvedExactly) {
  std::mt19937 engine(1);
  for (int round = 0; round < 1000; ++round) {
    RandomProblem random(engine, /*isForest=*/true);
    ChoiceProblem::Choices choices = random.problem.solve();
    EXPECT_EQ(random.problem.getCost(choices), random.getCost(choices));
    EXPECT_EQ(random.getCost(choices), random.getOptimum());
  }
}

TEST(ChoiceProblemTest, GraphsAreSolvedToALocalOptimum) {
  std::mt19937 engine(2);
  int optimal = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    RandomProblem random(engine, /*isForest=*/false);
    ChoiceProblem::Choices choices = random.problem.solve();
    EXPECT_EQ(random.problem.getCost(choices), random.getCost(choices));
    EXPECT_FALSE(random.canImprove(choices));
    optimal += random.getCost(choices) == random.getOptimum();
  }
  EXPECT_GT(optimal, kRounds * 8 / 10);
}

} // namespace
