//===- PartialOrderSearchTest.cpp - One run for each trace ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs of processes that update cells. With reduction the search has
// to make exactly as many runs as there are Mazurkiewicz traces, which are
// counted among all interleavings.
//
//===----------------------------------------------------------------------===//

#include "Simulator/PartialOrderSearch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tilews::sim;

namespace {

/// Cells that each process updates, one a step. Cell 0 is the process's own.
using Program = std::vector<std::vector<unsigned>>;

Touch makeTouch(unsigned cell) {
  Touch touch{TouchKind::Memory, cell};
  touch.last = 1;
  touch.isObserved = true;
  return touch;
}

struct RunCount {
  uint64_t runs = 0, cutOff = 0, traces = 0;
};

/// Runs the program until the search has no run left.
RunCount explore(const Program &program, bool reduces) {
  PartialOrderSearch search(reduces);
  RunCount count;
  while (search.beginRun()) {
    ++count.runs;
    std::vector<size_t> next(program.size());
    while (true) {
      llvm::SmallVector<Process> possible;
      for (unsigned i = 0; i < program.size(); ++i)
        if (next[i] < program[i].size())
          possible.push_back({i, 0});
      if (possible.empty())
        break;
      std::optional<unsigned> chosen = search.choose(possible);
      if (!chosen)
        break;
      unsigned process = possible[*chosen].agent;
      unsigned cell = program[process][next[process]++];
      search.getTrace().touch(makeTouch(cell == 0 ? 100 + process : cell));
    }
    search.endRun();
    count.cutOff += search.wasCutOff();
  }
  EXPECT_FALSE(search.hasDeparted());
  count.traces = search.countTraces();
  return count;
}

TEST(PartialOrderSearch, OneRunWithoutDependence) {
  RunCount count = explore({{0, 0}, {0, 0, 0}, {1, 0}}, true);
  EXPECT_EQ(count.runs, 1u);
}

TEST(PartialOrderSearch, OrdersOfOneCell) {
  // The orders of 2 + 2 and of 1 + 1 + 1 steps.
  EXPECT_EQ(explore({{1, 1}, {1, 1}}, true).runs, 6u);
  EXPECT_EQ(explore({{1}, {1}, {1}}, true).runs, 6u);
  // Each cell has 2 orders, but not each cell that of the process that is last.
  EXPECT_EQ(explore({{1, 2}, {2, 1}}, true).traces, 3u);
}

TEST(PartialOrderSearch, AsManyTracesAsAmongAllInterleavings) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 150; ++i) {
    Program program(2 + random() % 2);
    for (std::vector<unsigned> &process : program)
      for (unsigned step = 0; step < 1 + random() % 3; ++step)
        process.push_back(random() % 4);
    RunCount all = explore(program, false), reduced = explore(program, true);
    EXPECT_EQ(all.cutOff, 0u);
    EXPECT_LE(reduced.runs, all.runs);
    EXPECT_EQ(reduced.traces, all.traces);
    EXPECT_EQ(reduced.runs - reduced.cutOff, reduced.traces);
  }
}

TEST(PartialOrderSearch, UpdatesOfAPhase) {
  Touch first{TouchKind::Update, 1, 0}, second{TouchKind::Update, 1, 1};
  Touch wait{TouchKind::Wait, 1, 1, 0};
  Dependency regular, exact{true};
  EXPECT_FALSE(regular.areDependent(first, first));
  EXPECT_TRUE(exact.areDependent(first, first));
  EXPECT_TRUE(regular.areDependent(first, second));
  EXPECT_TRUE(regular.areDependent(first, wait));
  EXPECT_FALSE(exact.areDependent(wait, wait));
  EXPECT_TRUE(wait.isOverIn(1));
  EXPECT_FALSE(wait.isOverIn(0));
}

} // namespace
