//===- ArenaAccessSetTest.cpp - Sets of accesses against std::set ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random operations change some sets and, in the same way, some of std::set.
// Many sets come from others, so that they share nodes. After each operation
// both kinds have the same accesses in the same order.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccessSet.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace tilews::tile;

namespace {

using Reference = std::set<ArenaAccess>;

struct CheckedSet {
  ArenaAccessSet set;
  Reference reference;
};

class ArenaAccessSetTest : public testing::Test {
protected:
  int64_t draw(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random);
  }

  ArenaAccess drawAccess() {
    ArenaAccess access;
    access.space = draw(8) == 0 ? ArenaSpace::Unknown : ArenaSpace::Arena;
    access.begin = 16 * draw(24);
    access.end = access.begin + 16 * (1 + draw(3));
    (draw(2) ? access.reads : access.writes) = true;
    return access;
  }

  std::mt19937 random{11};
};

std::vector<ArenaAccess> list(const ArenaAccessSet &set) {
  std::vector<ArenaAccess> all;
  (void)set.any([&](const ArenaAccess &access) {
    all.push_back(access);
    return false;
  });
  return all;
}

void expectEqual(const CheckedSet &checked) {
  EXPECT_EQ(list(checked.set),
            std::vector<ArenaAccess>(checked.reference.begin(),
                                     checked.reference.end()));
  EXPECT_EQ(checked.set.empty(), checked.reference.empty());
}

bool hasAll(const Reference &set, const Reference &others) {
  return std::includes(set.begin(), set.end(), others.begin(), others.end());
}

void removeAll(Reference &from, const Reference &others) {
  for (const ArenaAccess &access : others)
    from.erase(access);
}

/// Makes writes of all reads at multiples of 32 bytes, and drops other reads.
void replaceReads(CheckedSet &checked) {
  auto isRead = [](const ArenaAccess &access) { return access.reads; };
  auto change = [](ArenaAccess access) -> std::optional<ArenaAccess> {
    if (access.begin % 32 != 0)
      return std::nullopt;
    std::swap(access.reads, access.writes);
    return access;
  };
  checked.set.replace(isRead, change);
  Reference changed;
  for (const ArenaAccess &access : checked.reference)
    if (!isRead(access))
      changed.insert(access);
    else if (std::optional<ArenaAccess> result = change(access))
      changed.insert(*result);
  checked.reference = std::move(changed);
}

TEST_F(ArenaAccessSetTest, HasWhatAStandardSetHas) {
  std::vector<CheckedSet> sets(5);
  for (int step = 0; step < 20000; ++step) {
    CheckedSet &one = sets[draw(5)], &other = sets[draw(5)];
    ArenaAccess access = drawAccess();
    switch (draw(8)) {
    case 0:
      one = CheckedSet(other);
      break;
    case 1:
      EXPECT_EQ(one.set.containsAll(other.set),
                hasAll(one.reference, other.reference));
      EXPECT_EQ(one.set.insertAll(other.set),
                !hasAll(one.reference, other.reference));
      one.reference.insert(other.reference.begin(), other.reference.end());
      break;
    case 2:
      if (&one != &other && draw(4) == 0) {
        one.set.removeAll(other.set);
        removeAll(one.reference, other.reference);
      }
      break;
    case 3:
      if (draw(8) == 0)
        replaceReads(one);
      break;
    default:
      EXPECT_EQ(one.set.contains(access), one.reference.count(access) != 0);
      EXPECT_EQ(one.set.insert(access), one.reference.insert(access).second);
    }
    expectEqual(one);
    expectEqual(other);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST_F(ArenaAccessSetTest, FindsWhatOverlaps) {
  CheckedSet checked;
  for (int step = 0; step < 2000; ++step) {
    ArenaAccess access = drawAccess();
    std::set<ArenaAccess> found, expected;
    (void)checked.set.anyOverlapping(access, [&](const ArenaAccess &each) {
      found.insert(each);
      return false;
    });
    for (const ArenaAccess &each : checked.reference)
      if (each.overlaps(access))
        expected.insert(each);
    EXPECT_EQ(found, expected);
    if (draw(40) == 0)
      checked = {};
    checked.set.insert(access);
    checked.reference.insert(access);
  }
}

TEST_F(ArenaAccessSetTest, CopiesDoNotChangeWithTheOriginal) {
  CheckedSet original;
  for (int step = 0; step < 100; ++step) {
    ArenaAccess access = drawAccess();
    original.set.insert(access);
    original.reference.insert(access);
  }
  CheckedSet copy = original;
  original.set.removeRoot(drawAccess());
  original.set.clear();
  expectEqual(copy);
}

} // namespace
