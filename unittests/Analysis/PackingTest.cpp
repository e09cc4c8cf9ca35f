//===- PackingTest.cpp - Packings against brute force ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A packing is valid if items that are alive together share no byte and all are
// aligned. Its size is compared with that of first fit in program order, and
// with the best of all orders.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Packing.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace tilews::tile;

namespace {

using Items = std::vector<PackedItem>;

int64_t getTotal(const Items &items) {
  int64_t total = 0;
  for (const PackedItem &item : items)
    total = std::max(total, item.offset + item.bytes);
  return total;
}

bool isValid(const Items &items) {
  for (const PackedItem &a : items) {
    if (a.offset < 0 || a.offset % a.alignment != 0)
      return false;
    for (const PackedItem &b : items)
      if (&a != &b && a.live.overlaps(b.live) &&
          a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return false;
  }
  return true;
}

/// Places the items in this order, each at the lowest offset that is free.
int64_t placeLowest(Items &items, llvm::ArrayRef<size_t> order) {
  for (auto [i, number] : llvm::enumerate(order)) {
    PackedItem &item = items[number];
    item.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t before : order.take_front(i)) {
        const PackedItem &other = items[before];
        if (item.live.overlaps(other.live) &&
            item.offset < other.offset + other.bytes &&
            other.offset < item.offset + item.bytes) {
          item.offset =
              llvm::alignTo(other.offset + other.bytes, item.alignment);
          moved = true;
        }
      }
    }
  }
  return getTotal(items);
}

/// The smallest packing that some order leads to.
int64_t getOptimum(Items items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = std::numeric_limits<int64_t>::max();
  do
    least = std::min(least, placeLowest(items, order));
  while (std::next_permutation(order.begin(), order.end()));
  return least;
}

int64_t packFirstFit(Items items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  return placeLowest(items, order);
}

Items getRandomItems(std::mt19937 &engine, size_t count) {
  auto number = [&](int64_t least, int64_t most) {
    return least + int64_t(engine() % uint64_t(most - least + 1));
  };
  Items items;
  for (size_t i = 0; i < count; ++i) {
    PackedItem item;
    item.bytes = 16 * number(1, 12);
    item.alignment = int64_t(16) << number(0, 3);
    item.live.begin = number(0, 10);
    item.live.end = item.live.begin + number(0, 6);
    items.push_back(item);
  }
  return items;
}

TEST(PackingTest, DeadItemsMakeRoom) {
  Items items = {{64, 16, {0, 5}}, {32, 16, {4, 9}}, {16, 16, {6, 9}}};
  EXPECT_EQ(pack(items), 96);
  EXPECT_EQ(items[0].offset, 0);
  EXPECT_EQ(items[1].offset, 64);
  EXPECT_EQ(items[2].offset, 0);
}

TEST(PackingTest, TheTightestGapIsTaken) {
  Items items = {{512, 16, {0, 9}}, {256, 16, {0, 2}}, {240, 16, {0, 9}},
                 {128, 16, {0, 2}}, {112, 16, {0, 9}}, {96, 16, {3, 9}}};
  EXPECT_EQ(pack(items), 1248);
  // The items that die at 2 leave gaps of 256 bytes at 512 and of 128 at 1008.
  EXPECT_EQ(items.back().offset, 1008);
}

TEST(PackingTest, NothingNeedsNothing) {
  Items items;
  EXPECT_EQ(pack(items), 0);
}

TEST(PackingTest, AlignmentLeavesGaps) {
  Items items = {{48, 16, {0, 1}}, {32, 128, {0, 1}}, {16, 16, {0, 1}}};
  EXPECT_EQ(pack(items), 160);
  EXPECT_EQ(items[1].offset, 128);
  EXPECT_EQ(items[2].offset, 48);
}

TEST(PackingTest, RandomItemsAgainstFirstFitAndTheOptimum) {
  std::mt19937 engine(1);
  int64_t sum = 0, sumOfFirstFit = 0, sumOfOptimum = 0;
  for (int round = 0; round < 300; ++round) {
    Items items = getRandomItems(engine, 2 + engine() % 5);
    int64_t bytes = pack(items), optimum = getOptimum(items);
    ASSERT_TRUE(isValid(items));
    EXPECT_EQ(bytes, getTotal(items));
    EXPECT_GE(bytes, optimum);
    sum += bytes;
    sumOfFirstFit += packFirstFit(items);
    sumOfOptimum += optimum;
  }
  EXPECT_LT(sum, sumOfFirstFit);
  EXPECT_LT(sum, sumOfOptimum * 110 / 100);
}

TEST(PackingTest, ManyItemsStayValid) {
  std::mt19937 engine(2);
  for (int round = 0; round < 50; ++round) {
    Items items = getRandomItems(engine, 60);
    EXPECT_EQ(pack(items), getTotal(items));
    EXPECT_TRUE(isValid(items));
  }
}

TEST(PackingTest, BuffersOfOneSizeArePackedOptimally) {
  // The most that are alive at one time decide, if they come in program order.
  std::mt19937 engine(3);
  for (int round = 0; round < 100; ++round) {
    Items items = getRandomItems(engine, 20);
    for (PackedItem &item : items)
      item.bytes = item.alignment = 64;
    int64_t most = 0;
    for (int64_t point = 0; point <= 16; ++point)
      most = std::max<int64_t>(
          most, llvm::count_if(items, [&](const PackedItem &item) {
            return item.live.begin <= point && point <= item.live.end;
          }));
    llvm::sort(items, [](const PackedItem &a, const PackedItem &b) {
      return a.live.begin < b.live.begin;
    });
    EXPECT_EQ(pack(items), most * 64);
    EXPECT_TRUE(isValid(items));
  }
}

TEST(LiveIntervalTest, IntervalsArePrinted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  LiveInterval{3, 17}.print(os);
  EXPECT_EQ(text, "[3, 17]");
  EXPECT_TRUE((LiveInterval{0, 3}.overlaps({3, 4})));
  EXPECT_FALSE((LiveInterval{0, 3}.overlaps({4, 4})));
}

} // namespace
