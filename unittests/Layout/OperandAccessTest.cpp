//===- OperandAccessTest.cpp - Reads of operands, row by row --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows that lanes provide for ldmatrix are right if its execution leaves
// the operand of the matrix instruction in the registers. Bank conflicts are
// compared with a count of words, and the chosen layout of a buffer with
// others.
//
//===----------------------------------------------------------------------===//

#include "CountWords.h"
#include "RandomFragments.h"

#include "tilews/Layout/OperandAccess.h"

#include "gtest/gtest.h"

#include <set>

using namespace tilews;
using llvm::SmallVector;

namespace {

/// The element that ldmatrix.x4 leaves in part `e` of word `j` of a lane:
/// column `lane % 4`, or row if it transposes. Coordinates are the buffer's,
/// whose rows lie along the last dimension.
Coords load(const OperandAccess &access, bool turns, int64_t elements,
            int64_t lane, int64_t j, int64_t e) {
  int64_t word = lane % 4 * elements + e;
  int64_t row = turns ? word : lane / 4, column = turns ? lane / 4 : word;
  Coords coords = access.lanes.getCoords(8 * j + row, 0, 2);
  coords[1] += column;
  return coords;
}

TEST(OperandAccessTest, RowsBecomeTheOperand) {
  for (int64_t bits : {8, 16, 32})
    for (bool isLhs : {true, false})
      for (bool transposed : {false, true}) {
        // Rows along K are read as they are, others by .trans, which exists
        // for 16 bits only.
        bool turns = isLhs == transposed;
        if (turns && bits != 16)
          continue;
        MmaInstruction mma = getMmaSync(bits);
        OperandAccess access = getMatrixRowAccess(mma, isLhs, transposed);
        EXPECT_EQ(access.rowBytes, 16);
        int64_t elements = 32 / bits;
        const FragmentLayout &operand = isLhs ? mma.lhs : mma.rhs;
        int64_t held = operand.getNumValues();
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t v = 0; v < 4 * elements; ++v) {
            Coords found =
                load(access, turns, elements, lane, v / elements, v % elements);
            if (transposed)
              std::swap(found[0], found[1]);
            // Four words are two right operands, which follow along N.
            Coords expected = operand.getCoords(lane, v % held, 2);
            expected[1] += v / held * mma.n;
            ASSERT_EQ(found, expected)
                << bits << " bits, lane " << lane << ", register " << v;
          }
      }
}

TEST(OperandAccessTest, TransposedRunsBecomeTheOperand) {
  for (auto [bits, mma] :
       {std::pair(8, getMfma(32, 32)), std::pair(16, getMfma(32, 16)),
        std::pair(16, getMfma(16, 32)), std::pair(8, getMfmaSmall(32, 8, 8)),
        std::pair(8, getMfmaSmall(16, 8, 8)), std::pair(16, getWmmaGfx11()),
        std::pair(8, getWmmaGfx12())})
    for (bool isLhs : {true, false})
      for (bool hasInstruction : {true, false}) {
        TransposedRead read = *getTransposedRead(bits, hasInstruction);
        auto runs = getTransposedRuns(mma, isLhs, bits, read);
        ASSERT_TRUE(runs);
        const FragmentLayout &operand = isLhs ? mma.lhs : mma.rhs;
        int64_t outer = isLhs ? 0 : 1, perLane = read.bytes * 8 / bits;
        ASSERT_EQ(runs->getNumValues() * perLane, operand.getNumValues());
        forEachPlace(operand, 2, [&](int64_t lane, int64_t v, Coords coords) {
          // Element `e` of a lane is in row `e` of the matrix that its lanes
          // read, in the lane's column.
          int64_t e = v % perLane, column = lane % read.lanes;
          int64_t from =
              lane - column + e * read.lanes / perLane + column / perLane;
          Coords found = runs->getCoords(from, v / perLane, 2);
          found[outer] += column % perLane;
          EXPECT_EQ(found, coords) << bits << " bits, lane " << lane;
        });
      }
  // A lane has a single element along K, or fewer than the read gives.
  TransposedRead four = *getTransposedRead(16, false);
  EXPECT_FALSE(getTransposedRuns(getMfma(32, 2), false, 16, four));
  EXPECT_FALSE(getTransposedRuns(getMfma(32, 4), false, 16, four));
  EXPECT_FALSE(getTransposedRead(32, true));
}

TEST(OperandAccessTest, RegistersAreReadWhereTheyAre) {
  MmaInstruction mma = getMfma(16, 16);
  for (bool isLhs : {true, false}) {
    const FragmentLayout &operand = isLhs ? mma.lhs : mma.rhs;
    FragmentLayout turned = getRegisterAccess(mma, isLhs, true).lanes;
    forEachPlace(operand, 2, [&](int64_t lane, int64_t v, Coords coords) {
      EXPECT_EQ(
          getRegisterAccess(mma, isLhs, false).lanes.getCoords(lane, v, 2),
          coords);
      EXPECT_EQ(turned.getCoords(lane, v, 2), (Coords{coords[1], coords[0]}));
    });
  }
}

/// A buffer of random extents, as rows or as panels.
SharedLayout getBuffer(RandomFragments &random, int64_t bits) {
  SmallVector<int64_t> shape = {32 << random.getNumber(0, 1),
                                32 << random.getNumber(0, 2)};
  if (random.getNumber(0, 1))
    return SharedLayout::getRowMajor(shape);
  return SharedLayout::getPanels(shape, bits, 32 << random.getNumber(0, 2));
}

TEST(OperandAccessTest, ConflictsOfRows) {
  RandomFragments random(1);
  for (int round = 0; round < 100; ++round) {
    OperandAccess access = getMatrixRowAccess(
        getMmaSync(16), random.getNumber(0, 1), random.getNumber(0, 1));
    SharedLayout buffer = getBuffer(random, 16);
    SmallVector<int64_t> offsets;
    for (int64_t lane = 0; lane < 32; ++lane)
      offsets.push_back(
          2 * buffer.getOffset(access.lanes.getCoords(lane, 0, 2), 16));
    WordCount expected = countWords(offsets, 16);
    BankConflicts found = llvm::cantFail(getBankConflicts(access, buffer, 16));
    EXPECT_EQ(found.wavefronts, expected.wavefronts);
    EXPECT_EQ(found.degree, expected.degree);
  }
}

TEST(OperandAccessTest, ConflictsOfTheWorstCopy) {
  RandomFragments random(2);
  for (int round = 0; round < 50; ++round) {
    SharedLayout buffer = getBuffer(random, 16);
    int64_t threads = 32 << random.getNumber(0, 2);
    int64_t vector = std::min<int64_t>(buffer.getContiguity(16), 8);
    FragmentLayout lanes = getBlockedLayout(buffer.getShape(), threads, vector);
    int64_t worst = 0;
    for (int64_t v = 0; v < lanes.getNumValues(); v += vector) {
      SmallVector<int64_t> offsets;
      for (int64_t lane = 0; lane < 32; ++lane)
        offsets.push_back(2 *
                          buffer.getOffset(lanes.getCoords(lane, v, 2), 16));
      worst = std::max(worst, countWords(offsets, 2 * vector).wavefronts);
    }
    EXPECT_EQ(llvm::cantFail(getCopyConflicts(buffer, 16, threads)).wavefronts,
              worst);
  }
}

/// Returns the wavefronts of reads and copies, or the most if the layout allows
/// no such access.
int64_t getCost(const SharedLayout &layout, const OperandAccess &access,
                int64_t bits, int64_t threads) {
  auto reads = getBankConflicts(access, layout, bits);
  auto copies = getCopyConflicts(layout, bits, threads);
  if (reads && copies)
    return reads->wavefronts + copies->wavefronts;
  llvm::consumeError(reads.takeError());
  llvm::consumeError(copies.takeError());
  return INT64_MAX;
}

bool hasConflicts(const SharedLayout &layout, const OperandAccess &access,
                  int64_t bits, int64_t threads) {
  return llvm::cantFail(getBankConflicts(access, layout, bits)).degree > 1 ||
         llvm::cantFail(getCopyConflicts(layout, bits, threads)).degree > 1;
}

TEST(OperandAccessTest, ChosenLayoutsAreInjectiveAndNoOtherIsBetter) {
  RandomFragments random(3);
  int compared = 0;
  for (int round = 0; round < 200; ++round) {
    int64_t bits = 8 << random.getNumber(0, 2);
    MmaInstruction mma = getMmaSync(bits);
    bool isLhs = random.getNumber(0, 1), transposed = bits == 16 && !isLhs;
    OperandAccess access = random.getNumber(0, 1)
                               ? getMatrixRowAccess(mma, isLhs, transposed)
                               : getRegisterAccess(mma, isLhs, transposed);
    SmallVector<int64_t> shape = {8 * random.getNumber(1, 8),
                                  8 * random.getNumber(1, 16)};
    int64_t threads = 32 << random.getNumber(0, 2);
    SharedLayout rows = SharedLayout::getRowMajor(shape);
    int64_t costOfRows = getCost(rows, access, bits, threads);
    if (costOfRows == INT64_MAX)
      continue;
    SharedLayout chosen = chooseOperandLayout(shape, bits, access, threads);
    std::set<int64_t> offsets;
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t column = 0; column < shape[1]; ++column)
        offsets.insert(chosen.getOffset({row, column}, bits));
    EXPECT_EQ(int64_t(offsets.size()), shape[0] * shape[1]);
    EXPECT_EQ(*offsets.rbegin(), shape[0] * shape[1] - 1);
    // A layout without conflicts need not have the fewest accesses.
    if (!hasConflicts(chosen, access, bits, threads))
      continue;
    ++compared;
    int64_t cost = getCost(chosen, access, bits, threads);
    EXPECT_LE(cost, costOfRows);
    for (int64_t span : {32, 64, 128})
      if (shape[1] * bits % (8 * span) == 0)
        EXPECT_LE(cost, getCost(SharedLayout::getPanels(shape, bits, span),
                                access, bits, threads));
  }
  EXPECT_GT(compared, 10);
}

} // namespace
