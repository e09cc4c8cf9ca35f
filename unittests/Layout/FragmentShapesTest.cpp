//===- FragmentShapesTest.cpp - Changes of shape, place by place ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A change of the shape of a fragment changes the coordinates of each place (a
// register of a thread) in a simple way. The tests compute them for each place
// of random layouts, and compare.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

using namespace tilews;
using llvm::SmallVector;

namespace {

constexpr int kRounds = 300;
constexpr int64_t kRank = 3;

TEST(FragmentShapesTest, DroppedDimensions) {
  RandomFragments random(1);
  for (int round = 0; round < kRounds; ++round) {
    FragmentLayout layout = random.getFragment(random.getShape(kRank, true));
    int64_t dim = random.getNumber(0, kRank - 1);
    FragmentLayout collapsed = layout.collapseDim(dim);
    FragmentLayout dropped = layout.dropDim(dim);
    forEachPlace(layout, kRank, [&](int64_t t, int64_t v, Coords coords) {
      int64_t kept = layout.getDroppedValue(v, dim);
      coords[dim] = 0;
      EXPECT_EQ(collapsed.getCoords(t, kept, kRank), coords);
      coords.erase(coords.begin() + dim);
      EXPECT_EQ(dropped.getCoords(t, kept, kRank - 1), coords);
    });
    // Registers that differ along the dimension only have fallen together.
    int64_t along = 0;
    for (int64_t v = 0; v < layout.getNumValues(); ++v)
      along += layout.getDroppedValue(v, dim) == 0;
    EXPECT_EQ(dropped.getNumValues() * along, layout.getNumValues());
  }
}

TEST(FragmentShapesTest, InsertedAndPermutedDimensions) {
  RandomFragments random(2);
  for (int round = 0; round < kRounds; ++round) {
    FragmentLayout layout = random.getFragment(random.getShape(kRank, true));
    int64_t dim = random.getNumber(0, kRank);
    FragmentLayout inserted = layout.insertDim(dim);
    SmallVector<int64_t> permutation = {0, 1, 2};
    for (int64_t i = kRank; i > 1; --i)
      std::swap(permutation[i - 1], permutation[random.getNumber(0, i - 1)]);
    FragmentLayout permuted = layout.transpose(permutation);
    forEachPlace(layout, kRank, [&](int64_t t, int64_t v, Coords coords) {
      Coords permutedCoords;
      for (int64_t from : permutation)
        permutedCoords.push_back(coords[from]);
      EXPECT_EQ(permuted.getCoords(t, v, kRank), permutedCoords);
      coords.insert(coords.begin() + dim, 0);
      EXPECT_EQ(inserted.getCoords(t, v, kRank + 1), coords);
    });
  }
}

/// The registers that a slice keeps, in their order.
SmallVector<int64_t> getKept(const FragmentLayout &layout, int64_t dim,
                             int64_t extent) {
  SmallVector<int64_t> kept;
  for (int64_t v = 0; v < layout.getNumValues(); ++v)
    if (layout.getValueCoords(v, kRank)[dim] < extent)
      kept.push_back(v);
  return kept;
}

TEST(FragmentShapesTest, SlicesKeepTheRegistersOfTheFirstPart) {
  RandomFragments random(3);
  int slices = 0;
  for (int round = 0; round < kRounds; ++round) {
    SmallVector<int64_t> shape = random.getShape(kRank, false);
    FragmentLayout layout = random.getFragment(shape);
    int64_t dim = random.getNumber(0, kRank - 1);
    int64_t extent = int64_t(1) << random.getNumber(0, 3);
    if (shape[dim] % extent != 0)
      continue;
    bool threadsTakeParts = false;
    for (int64_t t = 0; t < layout.getNumThreads(); ++t)
      threadsTakeParts |= layout.getCoords(t, 0, kRank)[dim] >= extent;
    std::optional<FragmentLayout> slice = layout.slice(dim, extent);
    ASSERT_EQ(slice.has_value(), !threadsTakeParts);
    if (!slice)
      continue;
    ++slices;
    SmallVector<int64_t> kept = getKept(layout, dim, extent);
    ASSERT_EQ(slice->getNumValues(), int64_t(kept.size()));
    forEachPlace(*slice, kRank,
                 [&](int64_t t, int64_t v, const Coords &coords) {
                   EXPECT_EQ(layout.getCoords(t, kept[v], kRank), coords);
                 });
  }
  EXPECT_GT(slices, kRounds / 4);
}

TEST(FragmentShapesTest, SplitElementsStayWithTheirThread) {
  RandomFragments random(5);
  for (int round = 0; round < kRounds; ++round) {
    SmallVector<int64_t> shape = random.getShape(kRank, true);
    FragmentLayout layout = random.getFragment(shape);
    int64_t dim = random.getNumber(0, kRank - 1);
    int64_t parts = int64_t(1) << random.getNumber(0, 3);
    FragmentLayout split = layout.splitElements(dim, parts);
    ASSERT_EQ(split.getNumValues(), layout.getNumValues() * parts);
    forEachPlace(split, kRank, [&](int64_t t, int64_t v, const Coords &coords) {
      Coords whole = layout.getCoords(t, v / parts, kRank);
      whole[dim] = whole[dim] * parts + v % parts;
      EXPECT_EQ(coords, whole);
    });
    std::optional<FragmentLayout> joined = split.joinElements(dim, parts);
    ASSERT_TRUE(joined.has_value());
    EXPECT_TRUE(joined->isSameAs(layout));
  }
}

TEST(FragmentShapesTest, ElementsJoinWhereAThreadHoldsAllParts) {
  // Registers 2:1 and 4:2 along the columns, and threads 2:8.
  FragmentLayout layout({{2, 8, 1}}, {{2, 1, 1}, {4, 2, 1}});
  std::optional<FragmentLayout> joined = layout.joinElements(1, 4);
  ASSERT_TRUE(joined.has_value());
  EXPECT_TRUE(joined->isSameAs(FragmentLayout({{2, 2, 1}}, {{2, 1, 1}})));
  // Neighbors of two threads.
  EXPECT_FALSE(layout.joinElements(1, 16).has_value());
  EXPECT_FALSE(FragmentLayout({{4, 1, 1}}, {}).joinElements(1, 2).has_value());
}

TEST(FragmentShapesTest, RepeatsTakeFurtherRegisters) {
  RandomFragments random(4);
  for (int round = 0; round < kRounds; ++round) {
    SmallVector<int64_t> shape = random.getShape(kRank, true);
    FragmentLayout layout = random.getFragment(shape);
    int64_t dim = random.getNumber(0, kRank - 1);
    int64_t extent = shape[dim] + random.getNumber(-1, 1), count = 3;
    std::optional<FragmentLayout> repeated = layout.repeat(dim, extent, count);
    ASSERT_EQ(repeated.has_value(), extent >= shape[dim]);
    if (!repeated)
      continue;
    ASSERT_EQ(repeated->getNumValues(), layout.getNumValues() * count);
    forEachPlace(
        *repeated, kRank, [&](int64_t t, int64_t v, const Coords &coords) {
          Coords first = layout.getCoords(t, v % layout.getNumValues(), kRank);
          first[dim] += v / layout.getNumValues() * extent;
          EXPECT_EQ(coords, first);
        });
  }
}

TEST(FragmentShapesTest, ReshapesKeepTheNumbersOfElements) {
  RandomFragments random(5);
  int reshapes = 0;
  for (int round = 0; round < kRounds; ++round) {
    bool odd = random.getNumber(0, 1);
    SmallVector<int64_t> from = random.getShape(kRank, odd);
    FragmentLayout layout = random.getFragment(from);
    // The same digits in other dimensions, whose number differs as well.
    SmallVector<int64_t> to(random.getNumber(1, 4), 1);
    for (const Mode &digit : random.getDigits(from))
      to[random.getNumber(0, to.size() - 1)] *= digit.extent;
    std::optional<FragmentLayout> reshaped = layout.reshape(from, to);
    // Digits of two elements fit any shape of such extents.
    EXPECT_TRUE(odd || reshaped);
    if (!reshaped)
      continue;
    ++reshapes;
    forEachPlace(
        layout, from.size(), [&](int64_t t, int64_t v, const Coords &coords) {
          EXPECT_EQ(linearize(reshaped->getCoords(t, v, to.size()), to),
                    linearize(coords, from));
        });
    EXPECT_EQ(countHolders(*reshaped, to), countHolders(layout, from));
  }
  EXPECT_GT(reshapes, kRounds / 2);
}

} // namespace
