//===- SwizzledLayoutTest.cpp - Swizzles and layouts of buffers -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of shared buffers and of fragments are compared, element by element,
// with the algebra's view of them. A recast must describe the same bytes, and
// the slots of a buffer must be versions of it that do not overlap.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/SwizzledLayout.h"

#include "RandomLayouts.h"

#include "gtest/gtest.h"

#include <set>

using namespace tilews;

namespace {

TEST(SwizzledLayoutTest, SwizzlesAreInvolutions) {
  for (int64_t bits = 0; bits <= 3; ++bits) {
    Swizzle swizzle = {bits, 4, 3};
    for (int64_t byte = 0; byte < 2048; ++byte) {
      EXPECT_EQ(swizzle(swizzle(byte)), byte);
      int64_t atom = swizzle.getAtomBytes();
      EXPECT_EQ(swizzle(byte) / atom, byte / atom);
    }
  }
}

TEST(SwizzledLayoutTest, SharedLayoutsBecomeLayoutsOfTheAlgebra) {
  for (int64_t bits : {8, 16, 32})
    for (int64_t span : {16, 32, 64, 128}) {
      SharedLayout shared = SharedLayout::getPanels({16, 128}, bits, span);
      SwizzledLayout layout = llvm::cantFail(getSwizzledLayout(shared, bits));
      std::set<int64_t> offsets;
      for (int64_t row = 0; row < 16; ++row)
        for (int64_t col = 0; col < 128; ++col) {
          // One mode for each dimension: the first one fastest.
          int64_t offset = shared.getOffset({row, col}, bits);
          EXPECT_EQ(layout(row + 16 * col), offset);
          offsets.insert(offset);
        }
      EXPECT_EQ(offsets.size(), 16u * 128u);
      EXPECT_EQ(*offsets.rbegin(), 16 * 128 - 1);
      EXPECT_EQ(llvm::cantFail(getSharedLayout(layout, bits)), shared);
    }
}

TEST(SwizzledLayoutTest, SlotsAreVersionsOfTheBuffer) {
  SharedLayout tile = SharedLayout::getPanels({24, 64}, 16, 128);
  SharedLayout versions = llvm::cantFail(expand(tile, 3, 16));
  EXPECT_EQ(llvm::cantFail(getSlotLayout(versions, 16)), tile);
  int64_t slot = versions.getOffset({1, 0, 0}, 16);
  EXPECT_EQ(slot * 2 % 1024, 0);
  EXPECT_GE(slot, tile.getCosize(16));
  for (int64_t version = 0; version < 3; ++version)
    for (int64_t row = 0; row < 24; ++row)
      for (int64_t col = 0; col < 64; ++col)
        EXPECT_EQ(versions.getOffset({version, row, col}, 16),
                  version * slot + tile.getOffset({row, col}, 16));
}

TEST(SwizzledLayoutTest, RecastSeesTheSameBytes) {
  SwizzledLayout wide =
      llvm::cantFail(SwizzledLayout::parse("Sw<2,1,3> o (8,8):(8,1)"));
  SwizzledLayout narrow = llvm::cantFail(recast(wide, 32, 16));
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t col = 0; col < 8; ++col)
      for (int64_t half = 0; half < 2; ++half)
        EXPECT_EQ(narrow(row + 8 * (2 * col + half)),
                  2 * wide(row + 8 * col) + half);
}

TEST(SwizzledLayoutTest, FragmentLayoutsBecomeLayoutsOfThreadsAndValues) {
  FragmentLayout fragment = getBlockedLayout({16, 32}, 32, 4);
  Layout layout = llvm::cantFail(getThreadValueLayout(fragment, {16, 32}));
  for (int64_t thread = 0; thread < fragment.getNumThreads(); ++thread)
    for (int64_t value = 0; value < fragment.getNumValues(); ++value) {
      auto coords = fragment.getCoords(thread, value, 2);
      EXPECT_EQ(layout(thread + fragment.getNumThreads() * value),
                coords[0] * 32 + coords[1]);
    }
  FragmentLayout back = llvm::cantFail(getFragmentLayout(layout, {16, 32}));
  EXPECT_TRUE(back.isSameAs(fragment));
}

} // namespace
