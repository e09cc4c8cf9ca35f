//===- AsyncMatmulsTest.cpp - Asynchronous matmuls under way --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounded queue of a state against an unbounded one, for random sequences
// of starts and waits. The bounded queue must contain all reads that may be
// under way. As long as it has never merged matmuls it must be exact.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/AsyncMatmuls.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <deque>
#include <random>

using namespace tilews::verifier;

namespace {

uint64_t getReads(const std::deque<uint64_t> &running) {
  uint64_t reads = 0;
  for (uint64_t own : running)
    reads |= own;
  return reads;
}

void runRandomly(unsigned seed, unsigned longest, bool isExact) {
  std::mt19937 random(seed);
  for (unsigned round = 0; round < 300; ++round) {
    State state(AsyncMatmuls::kWords, 0);
    AsyncMatmuls matmuls(state.data());
    std::deque<uint64_t> running;
    for (unsigned step = 0; step < 50; ++step) {
      if (random() % 3 && running.size() < longest) {
        uint64_t reads = uint64_t(1) << random() % 64;
        matmuls.start(reads, step);
        running.push_back(reads);
      } else {
        size_t pending = random() % (longest + 2);
        matmuls.end(pending);
        while (running.size() > pending)
          running.pop_front();
      }
      uint64_t expected = getReads(running);
      uint64_t found = AsyncMatmuls::getReads(state.data());
      ASSERT_EQ(expected & ~found, 0u);
      if (isExact) {
        ASSERT_EQ(expected, found);
        ASSERT_EQ(matmuls.size(), running.size());
      }
    }
  }
}

TEST(AsyncMatmulsTest, IsExactUpToItsCapacity) {
  runRandomly(/*seed=*/41, AsyncMatmuls::kMax, /*isExact=*/true);
}

TEST(AsyncMatmulsTest, KeepsAllReadsBeyondItsCapacity) {
  runRandomly(/*seed=*/42, 2 * AsyncMatmuls::kMax, /*isExact=*/false);
}

TEST(AsyncMatmulsTest, EqualQueuesAreEqualWords) {
  State a(AsyncMatmuls::kWords, 0), b = a;
  AsyncMatmuls first(a.data()), second(b.data());
  first.start(0b01, 4);
  first.start(0b10, 7);
  first.end(/*pending=*/1);
  second.start(0b10, 7);
  EXPECT_EQ(a, b);
}

TEST(AsyncMatmulsTest, RenamesPlaces) {
  State state(AsyncMatmuls::kWords, 0);
  AsyncMatmuls matmuls(state.data());
  matmuls.start(0b01, 4);
  matmuls.start(0b10, 7);
  matmuls.renamePlaces([](uint64_t reads) { return reads << 2; });
  std::string text;
  llvm::raw_string_ostream os(text);
  AsyncMatmuls::print(os, state.data());
  EXPECT_EQ(text, "event 4 reads {2}, event 7 reads {3}");
}

} // namespace
