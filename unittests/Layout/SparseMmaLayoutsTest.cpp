//===- SparseMmaLayoutsTest.cpp - Operands and metadata of sparse matmuls -===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of sparse instructions are compared with those of the dense ones
// and with the rule that each element has a lane. The metadata of a whole
// operand is compared, field by field, with that of each instruction.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/SparseMmaLayouts.h"

#include "gtest/gtest.h"

#include <map>

using namespace tilews;
using llvm::SmallVector;

namespace {

void expectEachOnce(const FragmentLayout &layout,
                    llvm::ArrayRef<int64_t> shape) {
  for (int64_t count : countHolders(layout, shape))
    ASSERT_EQ(count, 1);
}

TEST(SparseMmaLayoutsTest, OperandsHaveHalfOfTheLeftElements) {
  for (int64_t bits : {8, 16, 32}) {
    SparseMmaInstruction sparse = getMmaSp(bits);
    EXPECT_EQ(sparse.mma.k, 2 * getMmaSync(bits).k);
    expectEachOnce(sparse.mma.lhs, {sparse.mma.m, sparse.mma.k / 2});
    expectEachOnce(sparse.mma.rhs, {sparse.mma.k, sparse.mma.n});
    expectEachOnce(sparse.mma.acc, {sparse.mma.m, sparse.mma.n});
    sparse = getWgmmaSp(64, bits);
    EXPECT_EQ(sparse.mma.k, 2 * getWgmma(64, bits).k);
    expectEachOnce(sparse.mma.lhs, {64, sparse.mma.k / 2});
  }
  for (auto [size, k, bits] :
       {std::make_tuple(16, 32, 16), std::make_tuple(32, 16, 16),
        std::make_tuple(16, 64, 8), std::make_tuple(16, 64, 16),
        std::make_tuple(32, 32, 16)}) {
    SparseMmaInstruction sparse = getSmfmac(size, k, bits);
    expectEachOnce(sparse.mma.lhs, {size, k / 2});
    expectEachOnce(sparse.mma.rhs, {k, size});
    // A lane's fields describe the elements that it holds, two for four.
    EXPECT_TRUE(sparse.metadata == sparse.mma.lhs);
  }
}

/// PTX ISA, "Matrix fragments for sparse mma.m16n8k32 with .f16": the right
/// operand's registers follow along K, 8 elements apart.
TEST(SparseMmaLayoutsTest, RightOperandOfMmaSp) {
  for (int64_t bits : {8, 16, 32}) {
    int64_t p = 32 / bits;
    forEachPlace(getMmaSp(bits).mma.rhs, 2,
                 [&](int64_t lane, int64_t i, Coords coords) {
                   EXPECT_EQ(coords[0], lane % 4 * p + i % p + i / p * 4 * p);
                   EXPECT_EQ(coords[1], lane / 4);
                 });
  }
}

/// Returns for each lane which one it is of the lanes with the same metadata.
SmallVector<int64_t> getSelectors(const FragmentLayout &metadata) {
  std::map<std::pair<int64_t, int64_t>, int64_t> seen;
  SmallVector<int64_t> selectors;
  for (int64_t lane = 0; lane < metadata.getNumThreads(); ++lane) {
    Coords first = metadata.getCoords(lane, 0, 2);
    selectors.push_back(seen[{first[0], first[1]}]++);
  }
  return selectors;
}

TEST(SparseMmaLayoutsTest, MetadataOfAnInstructionIsComplete) {
  for (int64_t bits : {8, 16, 32})
    for (const SparseMmaInstruction &sparse :
         {getMmaSp(bits), getWgmmaSp(8, bits)}) {
      EXPECT_EQ(sparse.metadata.getNumValues() * sparse.fieldBits, 32);
      int64_t fields = sparse.mma.k / sparse.fieldK;
      SmallVector<int64_t> selectors = getSelectors(sparse.metadata);
      int64_t copies = *std::max_element(selectors.begin(), selectors.end());
      for (int64_t count :
           countHolders(sparse.metadata, {sparse.mma.m, fields}))
        ASSERT_EQ(count, copies + 1) << bits << " bits";
    }
}

/// Compares the metadata of an operand with that of its instructions. Word `w`
/// of a lane is for the instruction along K that its selector chooses.
void expectFields(const SparseMmaInstruction &sparse, WarpGrid grid, int64_t m,
                  int64_t k, int64_t elementBits) {
  const MmaInstruction &mma = sparse.mma;
  MetadataLayout layout =
      getMetadataLayout(mma, sparse.metadata, grid, m, k, elementBits);
  SmallVector<int64_t> selectors = getSelectors(sparse.metadata);
  int64_t lanes = mma.getNumLanes(), fields = sparse.metadata.getNumValues();
  int64_t perElement = elementBits / sparse.fieldBits;
  // The elements of a word are all of the lane's, or halves of two.
  int64_t perWord = layout.hasHalves ? 2 : fields / perElement;
  int64_t words = k / mma.k / layout.stepsPerWord;
  MmaRepeats repeats = getRepeats(mma, grid, m, 1);
  ASSERT_EQ(layout.fragment.getNumThreads(), lanes * grid.m * grid.n);
  ASSERT_EQ(layout.fragment.getNumValues(), perWord * words * repeats.m);
  for (int64_t t = 0; t < layout.fragment.getNumThreads(); ++t)
    for (int64_t tile = 0; tile < repeats.m; ++tile)
      for (int64_t word = 0; word < words; ++word)
        for (int64_t field = 0; field < fields; ++field) {
          int64_t lane = t % lanes;
          int64_t step = word * layout.stepsPerWord +
                         selectors[lane] % layout.stepsPerWord;
          Coords place = sparse.metadata.getCoords(lane, field, 2);
          Coords expected = {
              place[0] + (t / lanes % grid.m * repeats.m + tile) * mma.m,
              (step * (mma.k / sparse.fieldK) + place[1]) / perElement};
          int64_t part =
              layout.hasHalves ? field / (fields / 2) : field / perElement;
          int64_t value = (tile * words + word) * perWord + part;
          ASSERT_EQ(layout.fragment.getCoords(t, value, 2), expected)
              << "thread " << t << ", field " << field;
        }
}

TEST(SparseMmaLayoutsTest, MetadataOfAnOperand) {
  RandomFragments random(1);
  for (int round = 0; round < 100; ++round) {
    int64_t bits = 8 << random.getNumber(0, 1);
    bool isWarp = random.getNumber(0, 1);
    SparseMmaInstruction sparse = isWarp ? getMmaSp(bits) : getWgmmaSp(8, bits);
    WarpGrid grid = {random.getNumber(1, 3), random.getNumber(1, 2)};
    int64_t m = sparse.mma.m * grid.m * random.getNumber(1, 2);
    int64_t k = sparse.mma.k * random.getNumber(1, 5);
    for (int64_t elementBits : {8, 16, 32})
      expectFields(sparse, grid, m, k, elementBits);
  }
}

} // namespace
