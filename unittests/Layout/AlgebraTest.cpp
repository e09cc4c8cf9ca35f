//===- AlgebraTest.cpp - The layout algebra by its definitions ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation is compared with its definition, evaluated at every coordinate
// of small random layouts. An operation may refuse layouts for which no layout
// is the function that it describes; the tests count how often it does not.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace tilews;

namespace {

constexpr int kRounds = 2000;

/// Returns the values of a function on [0, size).
template <typename Function>
std::multiset<int64_t> getValues(const Function &function, int64_t size) {
  std::multiset<int64_t> values;
  for (int64_t i = 0; i < size; ++i)
    values.insert(function(i));
  return values;
}

TEST(AlgebraTest, LayoutsAreDigitsTimesStrides) {
  RandomLayouts random(1);
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.get();
    int64_t most = 0;
    for (int64_t i = 0; i < layout.getSize(); ++i) {
      EXPECT_EQ(layout(i), evaluate(layout, i)) << layout.str() << " at " << i;
      EXPECT_EQ(llvm::cantFail(layout.at(layout.getCoord(i))), layout(i));
      most = std::max(most, layout(i));
    }
    EXPECT_EQ(layout.getCosize(), most + 1) << layout.str();
    EXPECT_EQ(llvm::cantFail(Layout::parse(layout.str())), layout);
  }
}

TEST(AlgebraTest, CoalesceKeepsTheFunction) {
  RandomLayouts random(2);
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.get();
    for (const Layout &same :
         {coalesce(layout), coalesceModes(layout), flatten(layout)}) {
      EXPECT_EQ(same.getSize(), layout.getSize());
      for (int64_t i = 0; i < layout.getSize(); ++i)
        EXPECT_EQ(same(i), layout(i)) << layout.str();
    }
    // No two neighbors of the coalesced leaves can be merged.
    llvm::SmallVector<Axis> axes = coalesce(layout).getAxes();
    for (size_t i = 1; i < axes.size(); ++i)
      EXPECT_NE(axes[i].stride, axes[i - 1].stride * axes[i - 1].extent)
          << layout.str();
  }
}

TEST(AlgebraTest, ComposeIsTheCompositionOfFunctions) {
  RandomLayouts random(3);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Layout outer = random.get(), inner = random.get();
    auto composed = llvm::expectedToOptional(compose(outer, inner));
    if (!composed)
      continue;
    ++found;
    ASSERT_EQ(composed->getSize(), inner.getSize());
    for (int64_t i = 0; i < inner.getSize(); ++i)
      EXPECT_EQ((*composed)(i), outer(inner(i)))
          << outer.str() << " o " << inner.str() << " at " << i;
  }
  EXPECT_GT(found, kRounds / 10);
}

TEST(AlgebraTest, ComplementFillsTheGaps) {
  RandomLayouts random(4);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.getInjective();
    int64_t size = random.getNumber(1, 3 * layout.getCosize());
    auto rest = llvm::expectedToOptional(complement(layout, size));
    if (!rest)
      continue;
    ++found;
    std::map<int64_t, int> count;
    for (int64_t i = 0; i < layout.getSize(); ++i)
      for (int64_t j = 0; j < rest->getSize(); ++j)
        ++count[layout(i) + (*rest)(j)];
    for (int64_t offset = 0; offset < size; ++offset)
      EXPECT_EQ(count[offset], 1)
          << layout.str() << " and " << rest->str() << " at " << offset;
    for (auto [offset, times] : count)
      EXPECT_EQ(times, 1) << layout.str() << " at " << offset;
  }
  EXPECT_GT(found, kRounds / 2);
}

TEST(AlgebraTest, DivideTakesTilesApart) {
  RandomLayouts random(5);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.getPermutation(), tile = random.getInjective();
    if (tile.getCosize() > layout.getSize())
      continue;
    auto divided = llvm::expectedToOptional(logicalDivide(layout, tile));
    if (!divided)
      continue;
    ++found;
    ASSERT_EQ(divided->getRank(), 2u);
    ASSERT_EQ(divided->getMode(0).getSize(), tile.getSize());
    for (int64_t i = 0; i < tile.getSize(); ++i)
      EXPECT_EQ((*divided)(i), layout(tile(i)))
          << layout.str() << " / " << tile.str();
    // Every element of the layout is in some tile.
    auto reached = getValues(*divided, divided->getSize());
    for (int64_t i = 0; i < layout.getSize(); ++i)
      EXPECT_TRUE(reached.count(layout(i)))
          << layout.str() << " / " << tile.str();
  }
  EXPECT_GT(found, kRounds / 10);
}

TEST(AlgebraTest, ProductRepeatsTheLayoutBesideItself) {
  RandomLayouts random(6);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.getInjective(), by = random.getInjective();
    auto product = llvm::expectedToOptional(logicalProduct(layout, by));
    if (!product)
      continue;
    ++found;
    int64_t size = layout.getSize();
    ASSERT_EQ(product->getSize(), size * by.getSize());
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < by.getSize(); ++j)
        EXPECT_EQ((*product)(i + size * j), layout(i) + (*product)(size * j))
            << layout.str() << " * " << by.str();
    auto reached = getValues(*product, product->getSize());
    EXPECT_EQ(std::set<int64_t>(reached.begin(), reached.end()).size(),
              reached.size())
        << layout.str() << " * " << by.str() << " has two copies in one place";
  }
  EXPECT_GT(found, kRounds / 2);
}

TEST(AlgebraTest, InversesUndoLayouts) {
  RandomLayouts random(7);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.getInjective();
    Layout right = rightInverse(layout);
    for (int64_t i = 0; i < right.getSize(); ++i)
      EXPECT_EQ(layout(right(i)), i) << layout.str();
    if (auto left = llvm::expectedToOptional(leftInverse(layout))) {
      ++found;
      for (int64_t i = 0; i < layout.getSize(); ++i)
        EXPECT_EQ((*left)(layout(i)), i) << layout.str();
    }
    Layout permutation = random.getPermutation();
    EXPECT_EQ(rightInverse(permutation).getSize(), permutation.getSize())
        << permutation.str();
  }
  EXPECT_GT(found, kRounds / 2);
}

TEST(AlgebraTest, CollisionsAndGapsAreFound) {
  RandomLayouts random(8);
  for (int round = 0; round < kRounds; ++round) {
    Layout layout = random.get();
    auto offsets = getValues(layout, layout.getSize());
    std::set<int64_t> distinct(offsets.begin(), offsets.end());
    auto collision = llvm::expectedToOptional(findCollision(layout));
    ASSERT_TRUE(collision) << layout.str();
    EXPECT_EQ(collision->has_value(), distinct.size() != offsets.size())
        << layout.str();
    if (*collision) {
      EXPECT_FALSE((*collision)->first == (*collision)->second);
      for (const IntTuple &coord : {(*collision)->first, (*collision)->second})
        EXPECT_EQ(llvm::cantFail(layout.at(coord)), (*collision)->offset);
    }
    int64_t gap = 0;
    while (distinct.count(gap))
      ++gap;
    EXPECT_EQ(findGap(layout),
              gap < layout.getCosize() ? std::optional(gap) : std::nullopt)
        << layout.str();
  }
}

} // namespace
