//===- AxisDigitsTest.cpp - Coordinates from their digits -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The digits along an axis, weighed by the extents of the digits below them,
// are the coordinate along the axis: for each register of each thread. Digits
// of lanes can be exchanged by shuffles, so they are bits of the lane's number.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/AxisDigits.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

using namespace tilews;
using Place = AxisDigit::Place;

namespace {

constexpr int64_t kRank = 3;

TEST(AxisDigitsTest, DigitsGiveTheCoordinate) {
  RandomFragments random(1);
  for (int round = 0; round < 500; ++round) {
    FragmentLayout layout = random.getFragment(random.getShape(kRank, true));
    int64_t axis = random.getNumber(0, kRank - 1);
    int64_t warpSize = int64_t(1) << random.getNumber(1, 5);
    auto digits = getAxisDigits(layout, axis, warpSize);
    ASSERT_TRUE(digits.has_value());
    forEachPlace(layout, kRank, [&](int64_t t, int64_t v, Coords coords) {
      int64_t coordinate = 0, weight = 1;
      for (const AxisDigit &digit : *digits) {
        coordinate += digit.of(digit.place == Place::Register ? v : t) * weight;
        weight *= digit.extent;
      }
      EXPECT_EQ(coordinate, coords[axis]);
    });
  }
}

TEST(AxisDigitsTest, LanesAreBitsOfTheWarp) {
  RandomFragments random(2);
  int lanes = 0;
  for (int round = 0; round < 500; ++round) {
    FragmentLayout layout = random.getFragment(random.getShape(kRank, true));
    int64_t axis = random.getNumber(0, kRank - 1);
    int64_t warpSize = int64_t(1) << random.getNumber(1, 5);
    auto digits = getAxisDigits(layout, axis, warpSize);
    ASSERT_TRUE(digits.has_value());
    for (const AxisDigit &digit : *digits) {
      bool isPower =
          llvm::isPowerOf2_64(digit.extent) && llvm::isPowerOf2_64(digit.step);
      if (digit.place == Place::Lane) {
        ++lanes;
        EXPECT_TRUE(isPower);
        EXPECT_LE(digit.step * digit.extent, warpSize);
      } else if (digit.place == Place::Scratch && isPower) {
        // Powers of two within a warp need no scratch memory.
        EXPECT_GE(digit.step, warpSize);
      }
    }
  }
  EXPECT_GT(lanes, 100);
}

TEST(AxisDigitsTest, OverlapsAndGapsAreNoDigits) {
  // Threads and registers both step over columns 0 and 1.
  EXPECT_FALSE(getAxisDigits(FragmentLayout({{2, 1, 0}}, {{2, 1, 0}}), 0, 32));
  // Columns 0, 1, 4 and 5.
  EXPECT_FALSE(getAxisDigits(FragmentLayout({{2, 4, 0}}, {{2, 1, 0}}), 0, 32));
  EXPECT_TRUE(getAxisDigits(FragmentLayout({{2, 2, 0}}, {{2, 1, 0}}), 0, 32));
}

} // namespace
