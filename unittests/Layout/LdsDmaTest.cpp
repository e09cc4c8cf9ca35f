//===- LdsDmaTest.cpp - Copies that waves write to LDS linearly -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the copies of waves with the layout of the buffer: whatever a thread
// reads must belong to the place that it writes. Each reason for a refusal is
// tested with the smallest change of a layout that has copies.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/LdsDma.h"

#include "gtest/gtest.h"

using namespace tilews;

namespace {

/// Checks that each instruction of each thread writes the place of the elements
/// that it reads.
void check(const SharedLayout &layout, int64_t bits, int64_t threads,
           int64_t bytes) {
  llvm::Expected<LdsDma> dma = LdsDma::get(layout, bits, threads, bytes);
  ASSERT_TRUE(static_cast<bool>(dma)) << llvm::toString(dma.takeError());
  int64_t vector = bytes * 8 / bits, rank = layout.getRank();
  ASSERT_EQ(dma->layout.getNumValues(), dma->count * vector);
  for (int64_t thread = 0; thread < threads; ++thread)
    for (int64_t value = 0; value < dma->count * vector; ++value) {
      int64_t place =
          (value / vector * threads + thread) * vector + value % vector;
      EXPECT_EQ(
          layout.getOffset(
              dma->layout.getCoords(dma->getSource(thread), value, rank), bits),
          place);
    }
}

std::string refuse(const SharedLayout &layout, int64_t bits, int64_t threads,
                   int64_t bytes) {
  llvm::Expected<LdsDma> dma = LdsDma::get(layout, bits, threads, bytes);
  return dma ? "" : llvm::toString(dma.takeError());
}

TEST(LdsDmaTest, EachPlaceGetsItsElement) {
  for (int64_t threads : {128, 256, 512})
    for (int64_t bytes : {4, 16})
      for (int64_t bits : {8, 16, 32}) {
        check(SharedLayout::getRowMajor({64, 128}), bits, threads, bytes);
        for (int64_t span : {16, 32, 64, 128})
          if (threads * bytes >= 1024)
            check(SharedLayout::getPanels({64, 128}, bits, span), bits, threads,
                  bytes);
      }
  check(SharedLayout({{96, 64, 0}, {64, 1, 1}}, Swizzle{3, 4, 4}), 16, 128, 16);
  check(SharedLayout::getRowMajor({3, 16, 64}), 16, 64, 16);
}

TEST(LdsDmaTest, OtherPlacesAreRefused) {
  EXPECT_EQ(refuse(SharedLayout::getPadded({64, 64}, 16), 16, 128, 16),
            "its rows have gaps or overlap in shared memory");
  EXPECT_EQ(refuse(SharedLayout::getRowMajor({8, 64}), 16, 128, 16),
            "its 1024 bytes are no multiple of 2048, which the 128 threads "
            "write at a time");
  EXPECT_EQ(refuse(SharedLayout({{64, 64, 0}, {64, 1, 1}}, Swizzle{3, 4, 4}),
                   16, 64, 16),
            "the swizzle of its layout permutes 2048 bytes, and 1024 are "
            "written at a time");
  EXPECT_EQ(refuse(SharedLayout::getPanels({64, 64}, 16, 128, 8), 16, 128, 16),
            "the swizzle of its layout moves 8 bytes, and a lane writes 16");
  for (int64_t row : {12, 48})
    EXPECT_EQ(refuse(SharedLayout::getRowMajor({256, row}), 16, 64, 16),
              "its extents do not divide evenly among the lanes");
}

} // namespace
