//===- MmaLayoutsTest.cpp - Fragments of matrix instructions --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments are compared with the formulas of the ISA documents, or, where
// those are figures, with what must hold: each element has a lane. The layouts
// of whole tiles are compared with their definition, repeats of the
// instruction, and the grid of warps with all other grids.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/MmaLayouts.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <tuple>

using namespace tilews;
using llvm::SmallVector;

namespace {

std::vector<MmaInstruction> getAll() {
  std::vector<MmaInstruction> all = {
      getMmaSync(8),   getMmaSync(16),  getMmaSync(32),    getMmaSync(64),
      getWgmma(8, 16), getWgmma(24, 8), getWgmma(256, 32), getMfmaF64(),
      getWmmaGfx11(),  getWmmaGfx12()};
  for (int64_t k : {4, 16, 32})
    all.push_back(getMfma(16, k));
  for (int64_t k : {2, 8, 16})
    all.push_back(getMfma(32, k));
  return all;
}

/// Expects that a fragment holds each element equally often: once, but for
/// RDNA3, whose half-warps both hold the operands.
void expectCovers(const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> counts = countHolders(layout, shape);
  int64_t copies =
      layout.getNumThreads() * layout.getNumValues() / int64_t(counts.size());
  for (int64_t count : counts)
    ASSERT_EQ(count, copies);
  EXPECT_LE(copies, 2);
}

TEST(MmaLayoutsTest, FragmentsCoverTheirOperands) {
  for (const MmaInstruction &mma : getAll()) {
    SCOPED_TRACE(testing::Message() << mma.m << "x" << mma.n << "x" << mma.k);
    expectCovers(mma.acc, {mma.m, mma.n});
    expectCovers(mma.lhs, {mma.m, mma.k});
    if (mma.rhs.getNumValues() > 1)
      expectCovers(mma.rhs, {mma.k, mma.n});
  }
}

/// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and
/// the like: groupID = lane / 4, threadID_in_group = lane % 4. A register of 32
/// bits holds `p` elements.
TEST(MmaLayoutsTest, MmaSync) {
  for (int64_t bits : {8, 16, 32}) {
    MmaInstruction mma = getMmaSync(bits);
    int64_t p = 32 / bits;
    forEachPlace(mma.lhs, 2, [&](int64_t lane, int64_t i, Coords coords) {
      int64_t word = i / p;
      EXPECT_EQ(coords[0], lane / 4 + (word % 2) * 8);
      EXPECT_EQ(coords[1], lane % 4 * p + i % p + (word / 2) * 4 * p);
    });
    forEachPlace(mma.rhs, 2, [&](int64_t lane, int64_t i, Coords coords) {
      EXPECT_EQ(coords[0], lane % 4 * p + i % p + (i / p) * 4 * p);
      EXPECT_EQ(coords[1], lane / 4);
    });
    forEachPlace(mma.acc, 2, [&](int64_t lane, int64_t i, Coords coords) {
      EXPECT_EQ(coords[0], lane / 4 + (i / 2) * 8);
      EXPECT_EQ(coords[1], lane % 4 * 2 + i % 2);
    });
  }
}

/// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": each warp has 16
/// rows, as in mma.sync, and each 4 registers 8 columns.
TEST(MmaLayoutsTest, Wgmma) {
  for (int64_t bits : {8, 16, 32}) {
    MmaInstruction mma = getWgmma(40, bits), warp = getMmaSync(bits);
    EXPECT_EQ(mma.getNumLanes(), 128);
    forEachPlace(mma.acc, 2,
                 [&](int64_t lane, int64_t i, const Coords &coords) {
                   Coords expected = warp.acc.getCoords(lane % 32, i % 4, 2);
                   expected[0] += lane / 32 * 16;
                   expected[1] += i / 4 * 8;
                   EXPECT_EQ(coords, expected);
                 });
    forEachPlace(mma.lhs, 2,
                 [&](int64_t lane, int64_t i, const Coords &coords) {
                   Coords expected = warp.lhs.getCoords(lane % 32, i, 2);
                   expected[0] += lane / 32 * 16;
                   EXPECT_EQ(coords, expected);
                 });
  }
}

/// CDNA3 ISA, 7.1.4: lane l holds row l % size of the left operand, and K from
/// l / size * (k / groups) on; register i of the accumulator holds row
/// 8 * (i / 4) + 4 * (l / size) + i % 4 and column l % size.
TEST(MmaLayoutsTest, Mfma) {
  for (int64_t size : {16, 32}) {
    MmaInstruction mma = getMfma(size, 16);
    int64_t held = 16 / (64 / size);
    forEachPlace(mma.lhs, 2, [&](int64_t lane, int64_t i, Coords coords) {
      EXPECT_EQ(coords, (Coords{lane % size, lane / size * held + i}));
      EXPECT_EQ(mma.rhs.getCoords(lane, i, 2), (Coords{coords[1], coords[0]}));
    });
    forEachPlace(
        mma.acc, 2, [&](int64_t lane, int64_t i, const Coords &coords) {
          EXPECT_EQ(coords, (Coords{8 * (i / 4) + 4 * (lane / size) + i % 4,
                                    lane % size}));
        });
  }
}

/// Where the part of a warp begins, and which of its repeats a register has.
struct GridPart {
  const MmaInstruction &mma;
  WarpGrid grid;
  MmaRepeats repeats;

  int64_t getRow(int64_t thread) const {
    return thread / mma.getNumLanes() % grid.m * repeats.m * mma.m;
  }
  int64_t getColumn(int64_t thread) const {
    return thread / mma.getNumLanes() / grid.m * repeats.n * mma.n;
  }
};

TEST(MmaLayoutsTest, TilesRepeatTheInstruction) {
  RandomFragments random(1);
  for (const MmaInstruction &mma : getAll())
    for (int round = 0; round < 5; ++round) {
      WarpGrid grid = {random.getNumber(1, 3), random.getNumber(1, 3)};
      int64_t m = random.getNumber(1, 5) * mma.m / 2,
              n = random.getNumber(1, 3) * mma.n,
              stepsK = random.getNumber(1, 3);
      MmaRepeats repeats = getRepeats(mma, grid, m, n);
      // No smaller number of instructions reaches all rows and columns.
      EXPECT_GE(repeats.m * grid.m * mma.m, m);
      EXPECT_LT((repeats.m - 1) * grid.m * mma.m, m);
      EXPECT_GE(repeats.n * grid.n * mma.n, n);
      EXPECT_LT((repeats.n - 1) * grid.n * mma.n, n);
      GridPart part = {mma, grid, repeats};
      int64_t lanes = mma.getNumLanes(), own = mma.acc.getNumValues();
      FragmentLayout acc = getAccLayout(mma, grid, m, n);
      ASSERT_EQ(acc.getNumValues(), own * repeats.m * repeats.n);
      forEachPlace(acc, 2, [&](int64_t t, int64_t v, const Coords &coords) {
        Coords expected = mma.acc.getCoords(t % lanes, v % own, 2);
        expected[0] += part.getRow(t) + v / own / repeats.n * mma.m;
        expected[1] += part.getColumn(t) + v / own % repeats.n * mma.n;
        ASSERT_EQ(coords, expected);
      });
      own = mma.lhs.getNumValues();
      FragmentLayout lhs = getLhsLayout(mma, grid, m, stepsK * mma.k);
      ASSERT_EQ(lhs.getNumValues(), own * repeats.m * stepsK);
      forEachPlace(lhs, 2, [&](int64_t t, int64_t v, const Coords &coords) {
        Coords expected = mma.lhs.getCoords(t % lanes, v % own, 2);
        expected[0] += part.getRow(t) + v / own / stepsK * mma.m;
        expected[1] += v / own % stepsK * mma.k;
        ASSERT_EQ(coords, expected);
      });
      own = mma.rhs.getNumValues();
      if (own == 1) // wgmma, and operands of one element
        continue;
      FragmentLayout rhs = getRhsLayout(mma, grid, stepsK * mma.k, n);
      ASSERT_EQ(rhs.getNumValues(), own * repeats.n * stepsK);
      forEachPlace(rhs, 2, [&](int64_t t, int64_t v, const Coords &coords) {
        Coords expected = mma.rhs.getCoords(t % lanes, v % own, 2);
        expected[0] += v / own % stepsK * mma.k;
        expected[1] += part.getColumn(t) + v / own / stepsK * mma.n;
        ASSERT_EQ(coords, expected);
      });
    }
}

TEST(MmaLayoutsTest, GridsAreTheBestOfAll) {
  RandomFragments random(2);
  MmaInstruction mma = getMmaSync(16);
  for (int round = 0; round < 300; ++round) {
    int64_t groups = random.getNumber(1, 16), m = random.getNumber(1, 300),
            n = random.getNumber(1, 300);
    auto getCost = [&](WarpGrid grid) {
      MmaRepeats repeats = getRepeats(mma, grid, m, n);
      return std::make_tuple(repeats.m * repeats.n,
                             repeats.m * mma.m + repeats.n * mma.n);
    };
    WarpGrid square = getWarpGrid(mma, groups, m, n, WarpShape::Square);
    WarpGrid alongM = getWarpGrid(mma, groups, m, n, WarpShape::AlongM);
    WarpGrid alongN = getWarpGrid(mma, groups, m, n, WarpShape::AlongN);
    for (WarpGrid grid : {square, alongM, alongN})
      EXPECT_EQ(grid.m * grid.n, groups);
    for (int64_t rows = 1; rows <= groups; ++rows) {
      if (groups % rows != 0)
        continue;
      WarpGrid other = {rows, groups / rows};
      EXPECT_LE(getCost(square), getCost(other));
      int64_t instructions = std::get<0>(getCost(other));
      EXPECT_LE(std::get<0>(getCost(alongM)), instructions);
      EXPECT_LE(std::get<0>(getCost(alongN)), instructions);
      // Among those with the fewest instructions, the most along one side.
      if (instructions == std::get<0>(getCost(square))) {
        EXPECT_GE(alongM.m, other.m);
        EXPECT_GE(alongN.n, other.n);
      }
    }
  }
}

} // namespace
