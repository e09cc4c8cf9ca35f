//===- VectorClockTest.cpp - Happens-before as sets of bits ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clocks of bits must answer as clocks that keep every event. Random executions
// of tasks, which access places and pass on their clocks through channels, are
// run with both; the reference keeps the set of all events that happen-before
// the next step of each owner.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/VectorClock.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace tilews::verifier;

namespace {

constexpr size_t kTasks = 3, kChannels = 2, kRows = 2, kPlaces = 3;
constexpr size_t kClocks = kTasks + kChannels;

/// Runs both kinds of clocks side by side.
struct Execution {
  Execution() : words(kClocks * kRows, 0) {
    for (unsigned task = 0; task < kTasks; ++task)
      getClock(task).fill();
  }

  VectorClock getClock(size_t owner) { return {&words[owner * kRows], kRows}; }
  void access(unsigned task, unsigned row, unsigned place) {
    uint64_t bit = uint64_t(1) << place;
    for (unsigned other = 0; other < kClocks; ++other)
      getClock(other).forget(row, bit);
    getClock(task).learn(row, bit);
    last[{row, place}] = ++numEvents;
    before[task].insert(numEvents);
  }
  void join(unsigned to, unsigned from) {
    getClock(to).join(getClock(from));
    before[to].insert(before[from].begin(), before[from].end());
  }

  std::vector<int64_t> words;
  unsigned numEvents = 0;
  /// The last event of each kind on each place, and by owner all events that
  /// happen-before its next step.
  std::map<std::pair<unsigned, unsigned>, unsigned> last;
  std::set<unsigned> before[kClocks];
};

TEST(VectorClockTest, AgreesWithAllEvents) {
  std::mt19937 random(31);
  for (unsigned round = 0; round < 200; ++round) {
    Execution run;
    for (unsigned step = 0; step < 60; ++step) {
      unsigned task = random() % kTasks;
      unsigned channel = kTasks + random() % kChannels;
      switch (random() % 3) {
      case 0:
        run.access(task, random() % kRows, random() % kPlaces);
        break;
      case 1:
        run.join(channel, task);
        break;
      default:
        run.join(task, channel);
        break;
      }
      for (unsigned owner = 0; owner < kClocks; ++owner)
        for (auto &[kind, event] : run.last)
          ASSERT_EQ(run.getClock(owner).contains(kind.first,
                                                 uint64_t(1) << kind.second),
                    run.before[owner].count(event) != 0);
    }
  }
}

TEST(VectorClockTest, SetsOfPlaces) {
  int64_t words[2] = {0b011, -1};
  VectorClock clock(words, 2);
  EXPECT_TRUE(clock.contains(0, 0b001));
  EXPECT_FALSE(clock.contains(0, 0b101));
  EXPECT_EQ(clock.getMissing(0, 0b110), 0b100u);
  EXPECT_EQ(clock.getMissing(1, ~uint64_t(0)), 0u);
  clock.forget(1, uint64_t(1) << 63);
  EXPECT_FALSE(clock.contains(1, uint64_t(1) << 63));
  EXPECT_TRUE(clock.contains(1, uint64_t(1) << 62));
}

TEST(VectorClockTest, PrintsSets) {
  int64_t words[3] = {0b1001, 0, -1};
  std::string text;
  llvm::raw_string_ostream os(text);
  VectorClockRef(words, 3).print(os);
  EXPECT_EQ(text, "{0,3} {} all");
}

} // namespace
