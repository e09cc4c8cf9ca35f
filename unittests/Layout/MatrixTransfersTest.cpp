//===- MatrixTransfersTest.cpp - Matrices moved by warps ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that move matrices (ldmatrix, stmatrix, tcgen05), against the
// rules of the PTX ISA, and the search for 8x8 matrices in the layout of a
// fragment. The search is right if each register gets its element when ldmatrix
// is executed as the ISA describes it.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/MatrixAccess.h"
#include "tilews/Layout/MatrixTransfers.h"
#include "tilews/Layout/MmaLayouts.h"

#include "gtest/gtest.h"

using namespace tilews;
using llvm::SmallVector;

namespace {

constexpr int64_t kWarp = 32;

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

std::vector<MatrixTransfer> getTransfers() {
  std::vector<MatrixTransfer> all;
  for (int64_t matrices : {1, 2, 4}) {
    all.push_back(getMatrix8x8(matrices, false));
    all.push_back(getMatrix8x8(matrices, true));
    all.push_back(getMatrix16x8(matrices));
    if (matrices < 4)
      all.push_back(getMatrix16x16(matrices));
  }
  return all;
}

TEST(MatrixTransfersTest, EachElementHasOneLane) {
  for (const MatrixTransfer &transfer : getTransfers()) {
    int64_t rows = transfer.rows, columns = transfer.columns;
    for (int64_t count :
         countHolders(transfer.registers, {transfer.matrices, rows, columns}))
      EXPECT_EQ(count, 1);
    // Lane 8 * i + j gives row j of matrix i, or lane 16 * i + j.
    EXPECT_EQ(transfer.addresses.getNumThreads(), kWarp);
    for (int64_t lane = 0; lane < transfer.matrices * rows; ++lane)
      EXPECT_EQ(transfer.addresses.getCoords(lane, 0, 2),
                (Coords{lane / rows, lane % rows}));
  }
}

TEST(MatrixTransfersTest, WordsOf8x8) {
  MatrixTransfer plain = getMatrix8x8(4, false), turned = getMatrix8x8(4, true);
  forEachPlace(plain.registers, 3, [&](int64_t lane, int64_t v, Coords coords) {
    EXPECT_EQ(coords, (Coords{v / 2, lane / 4, lane % 4 * 2 + v % 2}));
    EXPECT_EQ(turned.registers.getCoords(lane, v, 3),
              (Coords{coords[0], coords[2], coords[1]}));
  });
}

TEST(MatrixTransfersTest, TensorMemory) {
  using Shape = TensorMemoryShape;
  for (int64_t repeat : {1, 2, 8})
    for (auto [shape, lanes, columns] :
         {std::make_tuple(Shape::S32x32b, 32, 1),
          std::make_tuple(Shape::S16x64b, 16, 2),
          std::make_tuple(Shape::S16x128b, 16, 4),
          std::make_tuple(Shape::S16x256b, 16, 8),
          std::make_tuple(Shape::S16x32bx2, 16, 2)}) {
      FragmentLayout layout = getTensorMemoryTransfer(shape, repeat);
      EXPECT_EQ(layout.getNumThreads(), kWarp);
      for (int64_t count : countHolders(layout, {lanes, columns * repeat}))
        EXPECT_EQ(count, 1);
    }
}

//===----------------------------------------------------------------------===//
// The search for matrices
//===----------------------------------------------------------------------===//

/// Executes ldmatrix: returns the coordinates of element `e` of the word that
/// `lane` gets of matrix `j`, whose rows lie along dimension `inner`.
Coords getElement(const MatrixAccess &access, int64_t thread, int64_t number,
                  int64_t j, int64_t e, int64_t inner, int64_t rank) {
  int64_t lane = thread % kWarp, word = lane % 4 * access.elements + e;
  int64_t row = access.transposed ? word : lane / 4;
  int64_t column = access.transposed ? lane / 4 : word;
  Coords coords =
      access.rows.getCoords(thread - lane + 8 * j + row, number, rank);
  // A row is 16 bytes at a multiple of 16 bytes.
  EXPECT_EQ(coords[inner] % (4 * access.elements), 0);
  coords[inner] += column;
  return coords;
}

void expectMoves(const MatrixAccess &access, const FragmentLayout &layout,
                 int64_t inner, int64_t rank) {
  SmallVector<int64_t> moved(layout.getNumValues(), 0);
  ASSERT_EQ(access.rows.getNumThreads(), layout.getNumThreads());
  size_t next = 0;
  for (int64_t number = 0; number < access.getNumInstructions(); ++number)
    for (int64_t j = 0; j < access.count; ++j)
      for (int64_t e = 0; e < access.elements; ++e) {
        int64_t value = access.registers[next++];
        ++moved[value];
        for (int64_t t = 0; t < layout.getNumThreads(); ++t)
          ASSERT_EQ(getElement(access, t, number, j, e, inner, rank),
                    layout.getCoords(t, value, rank))
              << "thread " << t << ", register " << value;
      }
  for (int64_t count : moved)
    EXPECT_EQ(count, 1);
}

std::optional<MatrixAccess> find(const FragmentLayout &layout,
                                 llvm::ArrayRef<int64_t> shape, int64_t bits) {
  return getMatrixAccess(layout, shape, SharedLayout::getRowMajor(shape),
                         128 / bits, bits);
}

TEST(MatrixAccessTest, OperandsOfMatrixInstructions) {
  RandomFragments random(1);
  for (int64_t bits : {8, 16, 32})
    for (int round = 0; round < 20; ++round) {
      MmaInstruction mma = getMmaSync(bits);
      WarpGrid grid = {int64_t(1) << random.getNumber(0, 2), 2};
      int64_t m = grid.m * mma.m << random.getNumber(0, 1),
              n = grid.n * mma.n << random.getNumber(0, 2),
              k = mma.k << random.getNumber(0, 2);
      FragmentLayout lhs = getLhsLayout(mma, grid, m, k);
      auto access = find(lhs, {m, k}, bits);
      ASSERT_TRUE(access.has_value());
      EXPECT_FALSE(access->transposed);
      EXPECT_EQ(access->count, 4);
      expectMoves(*access, lhs, 1, 2);
      // A right operand in memory as N x K, and as K x N.
      FragmentLayout rhs = getRhsLayout(mma, grid, k, n);
      access = find(rhs.transpose({1, 0}), {n, k}, bits);
      ASSERT_TRUE(access.has_value());
      EXPECT_FALSE(access->transposed);
      expectMoves(*access, rhs.transpose({1, 0}), 1, 2);
      access = find(rhs, {k, n}, bits);
      ASSERT_EQ(access.has_value(), bits == 16); // only 16-bit elements
      if (!access)
        continue;
      EXPECT_TRUE(access->transposed);
      expectMoves(*access, rhs, 1, 2);
    }
}

TEST(MatrixAccessTest, RandomLayouts) {
  RandomFragments random(2);
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t bits = 8 << random.getNumber(0, 2);
    Modes digits = random.getDigits({16, 32});
    // Most layouts have no matrices: put the words in the first lanes.
    for (int64_t i : {0, 1}) {
      auto *word = llvm::find_if(digits, [&](const Mode &mode) {
        return mode.dim == 1 && mode.stride == (32 / bits) << i;
      });
      if (random.getNumber(0, 7))
        std::swap(digits[i], *word);
    }
    FragmentLayout layout(Modes(digits.begin(), digits.begin() + 6),
                          Modes(digits.begin() + 6, digits.end()));
    auto access = find(layout, {16, 32}, bits);
    if (!access)
      continue;
    ++found;
    expectMoves(*access, layout, 1, 2);
  }
  EXPECT_GT(found, 200);
}

TEST(MatrixAccessTest, MemoryWithoutRuns) {
  FragmentLayout acc = getMmaSync(16).acc;
  SharedLayout rows = SharedLayout::getRowMajor({16, 8});
  EXPECT_TRUE(getMatrixAccess(acc, {16, 8}, rows, 8, 16));
  // Regions that begin at odd places, columns, and elements past the shape.
  EXPECT_FALSE(getMatrixAccess(acc, {16, 8}, rows, 4, 16));
  SharedLayout columns({{16, 1, 0}, {8, 16, 1}});
  EXPECT_FALSE(getMatrixAccess(acc, {16, 8}, columns, 8, 16));
  EXPECT_FALSE(getMatrixAccess(acc, {15, 8}, rows, 8, 16));
}

} // namespace
