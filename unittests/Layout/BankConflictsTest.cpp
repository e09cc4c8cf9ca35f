//===- BankConflictsTest.cpp - Conflicts by counting words ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bank conflicts are compared with a count of the words that each bank has to
// serve in each phase. Swizzled panels, which exist to avoid conflicts, must
// have none where a warp reads columns of 16-byte chunks.
//
//===----------------------------------------------------------------------===//

#include "CountWords.h"
#include "RandomLayouts.h"

#include "tilews/Layout/SwizzledLayout.h"

#include "gtest/gtest.h"

using namespace tilews;

namespace {

TEST(BankConflictsTest, RandomAccesses) {
  RandomLayouts random(1);
  for (int round = 0; round < 500; ++round) {
    int64_t bytes = int64_t(1) << random.getNumber(0, 4);
    llvm::SmallVector<int64_t> offsets;
    for (int lane = 0; lane < 32; ++lane)
      offsets.push_back(random.getNumber(0, 127) * bytes);
    BankConflicts found = llvm::cantFail(getBankConflicts(offsets, bytes));
    WordCount expected = countWords(offsets, bytes);
    EXPECT_EQ(found.phases, expected.phases);
    EXPECT_EQ(found.wavefronts, expected.wavefronts) << bytes << " bytes";
    EXPECT_EQ(found.degree, expected.degree) << bytes << " bytes";
    EXPECT_EQ(found.clash.has_value(), found.degree > 1);
  }
}

TEST(BankConflictsTest, ColumnsOfRowMajorTilesConflict) {
  // Rows of 128 bytes: all lanes hit bank 0.
  llvm::SmallVector<int64_t> column;
  for (int64_t lane = 0; lane < 32; ++lane)
    column.push_back(lane * 128);
  EXPECT_EQ(llvm::cantFail(getBankConflicts(column, 4)).degree, 32);
}

TEST(BankConflictsTest, SwizzledPanelsHaveNoConflicts) {
  for (int64_t span : {32, 64, 128}) {
    SharedLayout layout = SharedLayout::getPanels({64, 64}, 16, span);
    for (int64_t chunk = 0; chunk < 8; ++chunk) {
      llvm::SmallVector<int64_t> column;
      for (int64_t row = 0; row < 8; ++row)
        column.push_back(2 * layout.getOffset({row, chunk * 8}, 16));
      EXPECT_EQ(llvm::cantFail(getBankConflicts(column, 16)).degree, 1)
          << span << " bytes, chunk " << chunk;
    }
  }
}

TEST(BankConflictsTest, AccessesThatAreNotAlignedAreErrors) {
  auto conflicts = getBankConflicts({2}, 4);
  EXPECT_FALSE(bool(conflicts));
  llvm::consumeError(conflicts.takeError());
}

} // namespace
