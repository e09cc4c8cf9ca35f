//===- TmaTest.cpp - Boxes of TMA, executed -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions for a region are executed as the CUDA Driver API describes
// them: the elements of a box lie without gaps, the innermost dimension
// fastest, and the swizzle is applied to the address. Each element must land
// where the layout of the shared buffer has it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Tma.h"

#include "llvm/Support/MathExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>

using namespace tilews;
using llvm::SmallVector;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// The byte in shared memory that each element of global memory goes to, by its
/// coordinates from the region's first element on.
using Bytes = std::map<std::vector<int64_t>, int64_t>;

void execute(const TmaBoxes &boxes, const TmaInstruction &instruction,
             int64_t elementBits, Bytes &bytes) {
  int64_t span = boxes.swizzleBytes;
  Swizzle swizzle = {span == 0 ? 0 : int64_t(llvm::Log2_64(span / 16)), 4, 3};
  int64_t count = llvm::product_of(boxes.extents);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> coords(instruction.coords.begin(),
                                instruction.coords.end());
    int64_t rest = i;
    for (auto [dim, extent] : llvm::zip_equal(boxes.dims, boxes.extents)) {
      coords[dim] += rest % extent;
      rest /= extent;
    }
    int64_t byte = swizzle(instruction.sharedBytes + i * elementBits / 8);
    EXPECT_TRUE(bytes.insert({coords, byte}).second) << "copied twice";
  }
}

/// Compares all boxes of a region with its layout.
void check(const TmaRegion &region, const TmaBoxes &boxes, int64_t shares = 1) {
  Bytes bytes;
  for (int64_t share = 0; share < shares; ++share)
    for (TmaInstruction instruction : boxes.instructions) {
      EXPECT_EQ(instruction.sharedBytes % 128, 0);
      if (share > 0) {
        instruction.sharedBytes += share * boxes.nextShare.sharedBytes;
        for (auto [coord, step] :
             llvm::zip_equal(instruction.coords, boxes.nextShare.coords))
          coord += share * step;
      }
      execute(boxes, instruction, region.elementBits, bytes);
    }
  SmallVector<int64_t> sizes = region.sizes, offsets = region.offsets;
  if (sizes.empty()) {
    sizes = region.layout.getShape();
    offsets.assign(sizes.size(), 0);
  }
  int64_t count = llvm::product_of(sizes);
  ASSERT_EQ(int64_t(bytes.size()), count);
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> shared;
    std::vector<int64_t> global(region.globalRank, 0);
    int64_t rest = i;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      shared.push_back(offsets[dim] + rest % size);
      if (size > 1)
        global[region.globalDims[dim]] = rest % size;
      rest /= size;
    }
    auto it = bytes.find(global);
    ASSERT_NE(it, bytes.end());
    EXPECT_EQ(it->second, region.layout.getOffset(shared, region.elementBits) *
                              region.elementBits / 8);
  }
}

/// Returns the region of a whole matrix with its rows in global memory.
TmaRegion getMatrix(SharedLayout layout, int64_t elementBits) {
  TmaRegion region;
  region.layout = std::move(layout);
  region.elementBits = elementBits;
  region.globalDims = {0, 1};
  region.globalRank = 2;
  region.innerDim = 1;
  return region;
}

std::string getError(const TmaRegion &region) {
  llvm::Expected<TmaBoxes> boxes = getTmaBoxes(region);
  return boxes ? "" : llvm::toString(boxes.takeError());
}

TEST(TmaTest, OneBoxOfASwizzledTile) {
  TmaRegion region = getMatrix(SharedLayout::getPanels({128, 64}, 16, 128), 16);
  TmaBoxes boxes = llvm::cantFail(getTmaBoxes(region));
  EXPECT_THAT(boxes.dims, ElementsAre(1, 0));
  EXPECT_THAT(boxes.extents, ElementsAre(64, 128));
  EXPECT_EQ(boxes.swizzleBytes, 128);
  EXPECT_EQ(boxes.instructions.size(), 1u);
  EXPECT_EQ(boxes.getBoxBytes(16), 128 * 64 * 2);
  check(region, boxes);
}

TEST(TmaTest, OneBoxForEachPanel) {
  TmaRegion region = getMatrix(SharedLayout::getPanels({64, 256}, 16, 128), 16);
  TmaBoxes boxes = llvm::cantFail(getTmaBoxes(region));
  EXPECT_EQ(boxes.instructions.size(), 4u);
  EXPECT_EQ(boxes.instructions[1].sharedBytes, 64 * 128);
  EXPECT_THAT(boxes.instructions[1].coords, ElementsAre(0, 64));
  check(region, boxes);
}

TEST(TmaTest, AllShapesSpansAndTypes) {
  for (int64_t rows : {8, 48})
    for (int64_t cols : {32, 64, 128, 320})
      for (int64_t bits : {8, 16, 32, 64})
        for (int64_t span : {0, 16, 32, 64, 128}) {
          if (span && cols * bits / 8 % span != 0)
            continue;
          SharedLayout layout =
              span ? SharedLayout::getPanels({rows, cols}, bits, span)
                   : SharedLayout::getRowMajor({rows, cols});
          TmaRegion region = getMatrix(layout, bits);
          auto boxes = llvm::expectedToOptional(getTmaBoxes(region));
          // Rows of more than 256 elements take several boxes each: too many.
          EXPECT_TRUE(boxes || cols > 256);
          if (boxes)
            check(region, *boxes);
        }
}

TEST(TmaTest, PartsOfABuffer) {
  TmaRegion region = getMatrix(SharedLayout::getPanels({64, 128}, 16, 128), 16);
  region.offsets = {8, 64};
  region.sizes = {32, 64};
  check(region, llvm::cantFail(getTmaBoxes(region)));
  region.offsets = {0, 32};
  EXPECT_THAT(getError(region), HasSubstr("cuts through the runs of 64"));
}

TEST(TmaTest, AVersionOfABufferHasAnExtentOfOne) {
  TmaRegion region = getMatrix(SharedLayout::getRowMajor({3, 64, 64}), 16);
  region.offsets = {2, 0, 0};
  region.sizes = {1, 64, 64};
  region.globalDims = {-1, 0, 1};
  TmaBoxes boxes = llvm::cantFail(getTmaBoxes(region));
  EXPECT_EQ(boxes.instructions[0].sharedBytes, 2 * 64 * 64 * 2);
  check(region, boxes);
}

TEST(TmaTest, SharesOfAClusterTogetherCopyEverything) {
  for (int64_t cols : {64, 128, 256})
    for (int64_t shares : {2, 4}) {
      TmaRegion region =
          getMatrix(SharedLayout::getPanels({64, cols}, 16, 128), 16);
      TmaBoxes boxes = llvm::cantFail(getTmaBoxes(region));
      llvm::cantFail(boxes.shareOut(shares, 16));
      check(region, boxes, shares);
    }
  TmaRegion small = getMatrix(SharedLayout::getPanels({8, 64}, 16, 128), 16);
  TmaBoxes boxes = llvm::cantFail(getTmaBoxes(small));
  EXPECT_THAT(llvm::toString(boxes.shareOut(2, 16)),
              HasSubstr("cannot be cut into 2 shares"));
}

TEST(TmaTest, WhatTmaCannotCopy) {
  TmaRegion padded = getMatrix(SharedLayout::getPadded({64, 64}, 16), 16);
  EXPECT_THAT(getError(padded), HasSubstr("the layout is padded"));
  TmaRegion transposed = getMatrix(SharedLayout::getRowMajor({64, 64}), 16);
  transposed.globalDims = {1, 0};
  EXPECT_THAT(getError(transposed), HasSubstr("have to be neighbours along"));
  TmaRegion narrow = getMatrix(SharedLayout::getRowMajor({64, 4}), 16);
  EXPECT_THAT(getError(narrow), HasSubstr("no multiple of 16 bytes"));
  TmaRegion bits = getMatrix(SharedLayout::getRowMajor({64, 64}), 4);
  EXPECT_THAT(getError(bits), HasSubstr("found 4"));
}

} // namespace
