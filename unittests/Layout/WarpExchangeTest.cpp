//===- WarpExchangeTest.cpp - Exchanges, executed lane by lane ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exchange is executed as WarpExchange.h describes its rounds, on numbers of
// elements. Afterwards each register must hold the element that the layout of
// the result gives it. An exchange exists exactly if no element has to change
// its warp.
//
//===----------------------------------------------------------------------===//

#include "RandomFragments.h"

#include "tilews/Layout/WarpExchange.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <set>

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kNothing = -1;

/// The registers of all threads, thread by thread.
using Registers = std::vector<std::vector<int64_t>>;

/// Returns the number of the element in each register, or kNothing for those
/// past the shape.
Registers fill(const FragmentLayout &layout, ArrayRef<int64_t> shape) {
  Registers held(layout.getNumThreads(),
                 std::vector<int64_t>(layout.getNumValues(), kNothing));
  forEachPlace(layout, shape.size(), [&](int64_t t, int64_t v, Coords coords) {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (coords[dim] >= shape[dim])
        return;
    held[t][v] = linearize(coords, shape);
  });
  return held;
}

/// One round of an exchange.
struct Round {
  const WarpExchange &exchange;
  int64_t number;

  /// Calls `visit` with each bit move and its bit of the number of the round.
  template <typename Visit>
  void forEachMove(Visit visit) const {
    int64_t left = number;
    for (const WarpExchange::BitMove &move : exchange.bitMoves) {
      visit(move, move.takesRound ? left & 1 : 0);
      if (move.takesRound)
        left >>= 1;
    }
  }

  /// Returns the register that a thread offers, of those that are kept
  /// together the first one.
  int64_t getOffered(int64_t thread) const {
    int64_t offered = 0;
    for (const WarpExchange::Pick &pick : exchange.picks)
      offered +=
          pick.source.weigh(thread / pick.threadStep % pick.source.extent);
    forEachMove([&](const WarpExchange::BitMove &move, int64_t bit) {
      if (move.sourceRegister)
        offered +=
            move.sourceRegister->weigh(bit ^ ((thread & move.sourceLane) != 0));
    });
    return offered;
  }

  /// Returns the thread from which a thread reads.
  int64_t getSource(int64_t thread) const {
    int64_t lane = 0;
    forEachMove([&](const WarpExchange::BitMove &move, int64_t bit) {
      if (bit ^ ((thread & move.destLane) != 0))
        lane |= move.sourceLane;
    });
    for (const WarpExchange::LaneMove &move : exchange.moves)
      if (thread / move.threadStep % 2)
        lane |= move.sourceLane;
    return thread / exchange.warpSize * exchange.warpSize + lane;
  }

  /// Returns whether what a thread reads goes to register `value`.
  bool goesTo(int64_t thread, int64_t value) const {
    bool goes = true;
    forEachMove([&](const WarpExchange::BitMove &move, int64_t bit) {
      if (!move.takesRound)
        return;
      int64_t own = bit ^ ((thread & move.destLane) != 0);
      goes &= own == (move.destRegister ? move.destRegister->of(value) : 0);
    });
    return goes;
  }
};

/// Executes all rounds. A lane that offers a register past its last one offers
/// nothing: layouts are extended by registers without elements.
Registers execute(const WarpExchange &exchange, const Registers &source) {
  Registers dest(source.size(),
                 std::vector<int64_t>(exchange.destValues, kNothing));
  for (int64_t number = 0; number < exchange.getNumRounds(); ++number) {
    Round round = {exchange, number};
    for (size_t thread = 0; thread < source.size(); ++thread) {
      int64_t from = round.getSource(thread);
      for (int64_t value = 0; value < exchange.destValues; ++value) {
        int64_t offered = round.getOffered(from) +
                          exchange.getKeptSource(exchange.getKept(value));
        if (round.goesTo(thread, value))
          dest[thread][value] = offered < exchange.sourceValues
                                    ? source[from][offered]
                                    : kNothing;
      }
    }
  }
  return dest;
}

/// Expects that each element of the result arrives. Registers of the result
/// that hold none may get anything.
void expectConverts(const WarpExchange &exchange, const FragmentLayout &from,
                    const FragmentLayout &to, ArrayRef<int64_t> shape) {
  Registers expected = fill(to, shape);
  Registers found = execute(exchange, fill(from, shape));
  for (size_t thread = 0; thread < expected.size(); ++thread)
    for (size_t value = 0; value < expected[thread].size(); ++value)
      if (expected[thread][value] != kNothing)
        ASSERT_EQ(found[thread][value], expected[thread][value])
            << "thread " << thread << ", register " << value;
}

/// Returns whether each warp has the elements that the result gives it.
bool staysInWarps(const FragmentLayout &from, const FragmentLayout &to,
                  ArrayRef<int64_t> shape) {
  Registers source = fill(from, shape), dest = fill(to, shape);
  for (size_t first = 0; first < source.size(); first += kLanes) {
    std::set<int64_t> held = {kNothing};
    for (size_t thread = first; thread < first + kLanes; ++thread)
      held.insert(source[thread].begin(), source[thread].end());
    for (size_t thread = first; thread < first + kLanes; ++thread)
      for (int64_t element : dest[thread])
        if (!held.count(element))
          return false;
  }
  return true;
}

/// Returns a layout of `digits` on 4 warps: bits of lanes, bits of warps, and
/// registers, some of which may be replicas.
FragmentLayout place(ArrayRef<Mode> digits) {
  Modes thread(digits.take_front(5)), value(digits.drop_front(5));
  llvm::erase_if(value, [](const Mode &mode) { return mode.stride == 0; });
  return FragmentLayout(thread, value);
}

/// Returns the bits of 16 x 16 elements, and `replicas` that stand for none.
Modes getBits(RandomFragments &random, int64_t replicas) {
  Modes bits = random.getDigits({16, 16});
  bits.append(replicas, {2, 0, 0});
  random.shuffle(bits);
  return bits;
}

TEST(WarpExchangeTest, ConvertsWithinWarps) {
  RandomFragments random(1);
  for (int round = 0; round < 400; ++round) {
    Modes bits = getBits(random, random.getNumber(0, 2));
    FragmentLayout from = place(bits);
    // The two bits of the warp stay.
    Modes inner(bits.begin(), bits.begin() + 3);
    inner.append(bits.begin() + 5, bits.end());
    random.shuffle(inner);
    inner.insert(inner.begin() + 3, bits.begin() + 3, bits.begin() + 5);
    FragmentLayout to = place(inner);
    auto exchange = getWarpExchange(from, to, {16, 16}, kLanes);
    ASSERT_TRUE(exchange.has_value()) << "round " << round;
    expectConverts(*exchange, from, to, {16, 16});
  }
}

TEST(WarpExchangeTest, ExistsIfNoElementChangesItsWarp) {
  RandomFragments random(2);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    Modes bits = getBits(random, random.getNumber(0, 4));
    FragmentLayout from = place(bits);
    // Few exchanges of bits, so that warps often keep their elements.
    for (int64_t i = random.getNumber(1, 4); i > 0; --i)
      std::swap(bits[random.getNumber(0, bits.size() - 1)],
                bits[random.getNumber(0, bits.size() - 1)]);
    FragmentLayout to = place(bits);
    auto exchange = getWarpExchange(from, to, {16, 16}, kLanes);
    ASSERT_EQ(exchange.has_value(), staysInWarps(from, to, {16, 16}))
        << "round " << round;
    if (!exchange)
      continue;
    ++found;
    expectConverts(*exchange, from, to, {16, 16});
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 1800);
}

TEST(WarpExchangeTest, RaggedShapes) {
  RandomFragments random(3);
  for (int round = 0; round < 400; ++round) {
    // Registers reach past the shape, each layout its own way.
    int64_t rows = random.getNumber(5, 8), columns = random.getNumber(9, 16);
    Modes thread = {{2, 1, 0}, {2, 2, 0}, {2, 1, 1}, {2, 2, 1}};
    random.shuffle(thread);
    Modes value = {{2, 4, 1}, {2, 4, 0}, {2, 8, 1}};
    FragmentLayout from(thread, value);
    random.shuffle(thread);
    int64_t steps = llvm::divideCeil(columns, 4);
    FragmentLayout to(thread, {{steps, 4, 1}, {2, 4, 0}});
    if (random.getNumber(0, 1))
      std::swap(from, to);
    auto exchange = getWarpExchange(from, to, {rows, columns}, 16);
    ASSERT_TRUE(exchange.has_value()) << rows << " x " << columns;
    expectConverts(*exchange, from, to, {rows, columns});
  }
}

TEST(WarpExchangeTest, TransposeOfTwoLanes) {
  FragmentLayout rows({{2, 1, 0}}, {{2, 1, 1}}),
      columns({{2, 1, 1}}, {{2, 1, 0}});
  auto exchange = getWarpExchange(rows, columns, {2, 2}, 2);
  ASSERT_TRUE(exchange.has_value());
  EXPECT_EQ(exchange->getNumRounds(), 2);
  EXPECT_EQ(exchange->getNumShuffleRounds(), 1);
  EXPECT_TRUE(exchange->isXor());
  EXPECT_FALSE(exchange->isRename());
}

TEST(WarpExchangeTest, XorRoundsReadFromTheMaskedLane) {
  RandomFragments random(4);
  int found = 0;
  for (int round = 0; round < 1000; ++round) {
    Modes bits = getBits(random, 0);
    FragmentLayout from = place(bits);
    std::swap(bits[random.getNumber(0, 2)], bits[random.getNumber(5, 7)]);
    auto exchange = getWarpExchange(from, place(bits), {16, 16}, kLanes);
    ASSERT_TRUE(exchange.has_value());
    if (!exchange->isXor())
      continue;
    ++found;
    for (int64_t number = 0; number < exchange->getNumRounds(); ++number)
      for (int64_t thread = 0; thread < from.getNumThreads(); ++thread)
        EXPECT_EQ((Round{*exchange, number}.getSource(thread)),
                  thread ^ exchange->getRoundMask(number));
  }
  EXPECT_GT(found, 100);
}

TEST(WarpExchangeTest, WideLayoutsHoldRunsInALane) {
  RandomFragments random(5);
  int found = 0;
  for (int round = 0; round < 500; ++round) {
    FragmentLayout layout = place(getBits(random, random.getNumber(0, 1)));
    int64_t elements = int64_t(1) << random.getNumber(1, 3);
    auto wide = getWideLayout(layout, {16, 16}, 1, elements, kLanes);
    if (!wide)
      continue;
    ++found;
    ASSERT_EQ(wide->getNumThreads(), layout.getNumThreads());
    forEachPlace(*wide, 2, [&](int64_t t, int64_t v, const Coords &coords) {
      Coords first = wide->getCoords(t, v / elements * elements, 2);
      EXPECT_EQ(first[1] % elements, 0);
      first[1] += v % elements;
      EXPECT_EQ(coords, first);
    });
    auto exchange = getWarpExchange(layout, *wide, {16, 16}, kLanes);
    ASSERT_TRUE(exchange.has_value());
    expectConverts(*exchange, layout, *wide, {16, 16});
  }
  EXPECT_GT(found, 50);
}

} // namespace
