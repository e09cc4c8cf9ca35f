//===- MirrorTest.cpp - Mirrors of fragments, place by place --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mirror of each place (a register of a thread) holds the element at the
// reverse coordinates, for random layouts and axes. Layouts that cover an axis
// by no whole digits have no mirror.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/Mirror.h"

using namespace tilews;
using llvm::SmallVector;

namespace {

constexpr int64_t kRank = 3;

TEST(MirrorTest, PlacesHoldTheReverseCoordinates) {
  RandomFragments random(1);
  for (int round = 0; round < 500; ++round) {
    SmallVector<int64_t> shape = random.getShape(kRank, true), axes;
    FragmentLayout layout = random.getFragment(shape);
    for (int64_t axis = 0; axis < kRank; ++axis)
      if (random.getNumber(0, 1))
        axes.push_back(axis);
    std::optional<Mirror> mirror = getMirror(layout, shape, axes);
    ASSERT_TRUE(mirror.has_value());
    std::optional<int64_t> bits = mirror->getThreadBits();
    forEachPlace(layout, kRank, [&](int64_t t, int64_t v, Coords coords) {
      for (int64_t axis : axes)
        coords[axis] = shape[axis] - 1 - coords[axis];
      int64_t thread = mirror->getThread(t);
      EXPECT_EQ(layout.getCoords(thread, mirror->registers[v], kRank), coords);
      if (bits)
        EXPECT_EQ(thread, t ^ *bits);
    });
  }
}

TEST(MirrorTest, ExchangesStayWithinWarps) {
  RandomFragments random(2);
  int exchanges = 0;
  for (int round = 0; round < 500; ++round) {
    SmallVector<int64_t> shape = random.getShape(kRank, true);
    FragmentLayout layout = random.getFragment(shape);
    std::optional<Mirror> mirror =
        getMirror(layout, shape, {random.getNumber(0, kRank - 1)});
    ASSERT_TRUE(mirror.has_value());
    int64_t warpSize = int64_t(1) << random.getNumber(1, 5);
    int64_t threads = layout.getNumThreads();
    auto exchange = mirror->getExchange(threads, warpSize);
    bool staysInWarp = true;
    for (int64_t t = 0; t < threads; ++t)
      staysInWarp &= mirror->getThread(t) / warpSize == t / warpSize;
    if (!exchange)
      continue;
    EXPECT_TRUE(staysInWarp);
    EXPECT_TRUE(exchange->isXor());
    exchanges += exchange->flippedLanes != 0;
    EXPECT_EQ(exchange->getNumShuffleRounds(), exchange->flippedLanes != 0);
  }
  EXPECT_GT(exchanges, 50);
}

TEST(MirrorTest, RegistersPastTheExtentAreCutOff) {
  // Three of four registers have rows 0 to 23.
  auto mirror = getMirror(FragmentLayout({{8, 1, 0}}, {{4, 8, 0}}), {24}, {0});
  ASSERT_TRUE(mirror.has_value());
  EXPECT_EQ(mirror->registers, SmallVector<int64_t>({2, 1, 0, 3}));
  EXPECT_EQ(mirror->getThread(5), 2);
}

TEST(MirrorTest, RaggedDigitsHaveNone) {
  // Lanes reach past row 23; registers reach past row 21 in some lanes only.
  EXPECT_FALSE(getMirror(FragmentLayout({{32, 1, 0}}, {}), {24}, {0}));
  EXPECT_FALSE(getMirror(FragmentLayout({{8, 1, 0}}, {{3, 8, 0}}), {22}, {0}));
  // Threads and registers hold the same rows.
  EXPECT_FALSE(getMirror(FragmentLayout({{2, 1, 0}}, {{2, 1, 0}}), {2}, {0}));
  // No matter: the axis has one element, or is not reversed.
  EXPECT_TRUE(getMirror(FragmentLayout({{32, 1, 0}}, {}), {1}, {0}));
  EXPECT_TRUE(getMirror(FragmentLayout({{32, 1, 0}}, {}), {24}, {}));
}

} // namespace
