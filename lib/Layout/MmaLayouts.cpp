//===- MmaLayouts.cpp - Fragments of matrix instructions ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register fragments of the matrix instructions, from the ISA documents, and
// their repetition over a grid of warps. An accumulator of a block repeats the
// instruction's fragment: further value modes step over the instructions of a
// warp, further thread modes over the warps.
//
//   mma.m16n8 in a 64 x 64 accumulator, 4 warps along M, 8 repeats along N:
//     thread {4, 2, n} {8, 1, m} {4, 16, m}
//     value {2, 1, n} {2, 8, m} {8, 8, n}
//
// The grid is the one with the fewest instructions per warp.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/MmaLayouts.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

using namespace tilews;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// In the left operand and the accumulator M is dimension 0; in the right
// operand and the accumulator N is dimension 1. K is 1 on the left, 0 on the
// right.

MmaInstruction tilews::getMmaSync(int64_t operandBits) {
  MmaInstruction mma;
  mma.m = 16;
  mma.n = 8;
  mma.acc = FragmentLayout({{4, 2, 1}, {8, 1, 0}}, {{2, 1, 1}, {2, 8, 0}});
  switch (operandBits) {
  case 64:
    mma.m = 8;
    mma.k = 4;
    mma.lhs = FragmentLayout({{4, 1, 1}, {8, 1, 0}}, {});
    mma.rhs = FragmentLayout({{4, 1, 0}, {8, 1, 1}}, {});
    mma.acc = FragmentLayout({{4, 2, 1}, {8, 1, 0}}, {{2, 1, 1}});
    return mma;
  case 32:
    mma.k = 8;
    mma.lhs = FragmentLayout({{4, 1, 1}, {8, 1, 0}}, {{2, 8, 0}, {2, 4, 1}});
    mma.rhs = FragmentLayout({{4, 1, 0}, {8, 1, 1}}, {{2, 4, 0}});
    return mma;
  case 16:
  case 8: {
    // A 32-bit register holds `p` neighbours along K.
    int64_t p = 32 / operandBits;
    mma.k = 8 * p;
    mma.lhs = FragmentLayout({{4, p, 1}, {8, 1, 0}},
                             {{p, 1, 1}, {2, 8, 0}, {2, 4 * p, 1}});
    mma.rhs =
        FragmentLayout({{4, p, 0}, {8, 1, 1}}, {{p, 1, 0}, {2, 4 * p, 0}});
    return mma;
  }
  default:
    llvm_unreachable("mma.sync has operands of 8, 16, 32 or 64 bits");
  }
}

MmaInstruction tilews::getWgmma(int64_t n, int64_t operandBits) {
  int64_t p = 32 / operandBits;
  MmaInstruction mma;
  mma.m = 64;
  mma.n = n;
  mma.k = 8 * p;
  SmallVector<Mode> accValues = {{2, 1, 1}, {2, 8, 0}};
  if (n > 8)
    accValues.push_back({n / 8, 8, 1});
  mma.acc = FragmentLayout({{4, 2, 1}, {8, 1, 0}, {4, 16, 0}}, accValues);
  SmallVector<Mode> lhsValues = {{2, 8, 0}, {2, 4 * p, 1}};
  if (p > 1)
    lhsValues.insert(lhsValues.begin(), {p, 1, 1});
  mma.lhs = FragmentLayout({{4, p, 1}, {8, 1, 0}, {4, 16, 0}}, lhsValues);
  return mma;
}

MmaInstruction tilews::getMfma(int64_t size, int64_t k) {
  MmaInstruction mma;
  mma.m = mma.n = size;
  mma.k = k;
  // 64 lanes: `size` along M (or N), the rest along K.
  int64_t lanesK = 64 / size;
  int64_t perLane = k / lanesK;
  SmallVector<Mode> lhsValues, rhsValues;
  if (perLane > 1) {
    lhsValues.push_back({perLane, 1, 1});
    rhsValues.push_back({perLane, 1, 0});
  }
  mma.lhs = FragmentLayout({{size, 1, 0}, {lanesK, perLane, 1}}, lhsValues);
  mma.rhs = FragmentLayout({{size, 1, 1}, {lanesK, perLane, 0}}, rhsValues);
  SmallVector<Mode> accValues = {{4, 1, 0}};
  if (size == 32)
    accValues.push_back({4, 8, 0});
  mma.acc = FragmentLayout({{size, 1, 1}, {lanesK, 4, 0}}, accValues);
  return mma;
}

/// Returns the bytes of an operand that the lanes of an mfma with small
/// elements hold, rows along `dim`. A lane holds 32 elements, which are
/// neighbors if they are packed; of 8 bits they are two runs of 16, half of K
/// apart.
static FragmentLayout getSmallOperand(int64_t size, int64_t bits, int64_t dim) {
  int64_t lanesK = 64 / size, dimK = 1 - dim;
  if (bits == 8)
    return FragmentLayout({{size, 1, dim}, {lanesK, 16, dimK}},
                          {{16, 1, dimK}, {2, 16 * lanesK, dimK}});
  int64_t bytes = 32 * bits / 8;
  return FragmentLayout({{size, 1, dim}, {lanesK, bytes, dimK}},
                        {{bytes, 1, dimK}});
}

MmaInstruction tilews::getMfmaSmall(int64_t size, int64_t lhsBits,
                                    int64_t rhsBits) {
  MmaInstruction mma = getMfma(size, 32 * (64 / size));
  mma.lhs = getSmallOperand(size, lhsBits, 0);
  mma.rhs = getSmallOperand(size, rhsBits, 1);
  return mma;
}

MmaInstruction tilews::getMfmaF64() {
  MmaInstruction mma = getMfma(16, 4);
  // Unlike all others, neighbouring rows are in neighbouring groups of lanes.
  mma.acc = FragmentLayout({{16, 1, 1}, {4, 1, 0}}, {{4, 4, 0}});
  return mma;
}

MmaInstruction tilews::getWmmaGfx11() {
  MmaInstruction mma;
  mma.m = mma.n = mma.k = 16;
  mma.lhs = FragmentLayout({{16, 1, 0}, {2, 0, 0}}, {{16, 1, 1}});
  mma.rhs = FragmentLayout({{16, 1, 1}, {2, 0, 0}}, {{16, 1, 0}});
  mma.acc = FragmentLayout({{16, 1, 1}, {2, 1, 0}}, {{8, 2, 0}});
  return mma;
}

MmaInstruction tilews::getWmmaGfx12() {
  MmaInstruction mma;
  mma.m = mma.n = mma.k = 16;
  mma.lhs = FragmentLayout({{16, 1, 0}, {2, 8, 1}}, {{8, 1, 1}});
  mma.rhs = FragmentLayout({{16, 1, 1}, {2, 8, 0}}, {{8, 1, 0}});
  mma.acc = FragmentLayout({{16, 1, 1}, {2, 8, 0}}, {{8, 1, 0}});
  return mma;
}

//===----------------------------------------------------------------------===//
// Distribution over warps
//===----------------------------------------------------------------------===//

MmaRepeats tilews::getRepeats(const MmaInstruction &mma, WarpGrid grid,
                              int64_t m, int64_t n) {
  return {int64_t(llvm::divideCeil(m, mma.m * grid.m)),
          int64_t(llvm::divideCeil(n, mma.n * grid.n))};
}

WarpGrid tilews::getWarpGrid(const MmaInstruction &mma, int64_t numGroups,
                             int64_t m, int64_t n, WarpShape shape) {
  WarpGrid best;
  std::tuple<int64_t, int64_t> bestCost;
  bool found = false;
  for (int64_t along = 1; along <= numGroups; ++along) {
    if (numGroups % along != 0)
      continue;
    WarpGrid grid = {along, numGroups / along};
    MmaRepeats repeats = getRepeats(mma, grid, m, n);
    int64_t traffic = repeats.m * mma.m + repeats.n * mma.n;
    if (shape == WarpShape::AlongM)
      traffic = -grid.m;
    else if (shape == WarpShape::AlongN)
      traffic = -grid.n;
    std::tuple<int64_t, int64_t> cost = {repeats.m * repeats.n, traffic};
    if (!found || cost < bestCost) {
      best = grid;
      bestCost = cost;
      found = true;
    }
  }
  return best;
}

static void addMode(SmallVector<Mode> &modes, Mode mode) {
  if (mode.extent > 1)
    modes.push_back(mode);
}

FragmentLayout tilews::getAccLayout(const MmaInstruction &mma, WarpGrid grid,
                                    int64_t m, int64_t n) {
  MmaRepeats repeats = getRepeats(mma, grid, m, n);
  SmallVector<Mode> thread(mma.acc.getThreadModes());
  SmallVector<Mode> value(mma.acc.getValueModes());
  addMode(thread, {grid.m, repeats.m * mma.m, 0});
  addMode(thread, {grid.n, repeats.n * mma.n, 1});
  addMode(value, {repeats.n, mma.n, 1});
  addMode(value, {repeats.m, mma.m, 0});
  return FragmentLayout(thread, value);
}

FragmentLayout tilews::getLhsLayout(const MmaInstruction &mma, WarpGrid grid,
                                    int64_t m, int64_t k) {
  MmaRepeats repeats = getRepeats(mma, grid, m, 1);
  SmallVector<Mode> thread(mma.lhs.getThreadModes());
  SmallVector<Mode> value(mma.lhs.getValueModes());
  addMode(thread, {grid.m, repeats.m * mma.m, 0});
  addMode(thread, {grid.n, 0, 0});
  addMode(value, {int64_t(llvm::divideCeil(k, mma.k)), mma.k, 1});
  addMode(value, {repeats.m, mma.m, 0});
  return FragmentLayout(thread, value);
}

FragmentLayout tilews::getRhsLayout(const MmaInstruction &mma, WarpGrid grid,
                                    int64_t k, int64_t n) {
  MmaRepeats repeats = getRepeats(mma, grid, 1, n);
  SmallVector<Mode> thread(mma.rhs.getThreadModes());
  SmallVector<Mode> value(mma.rhs.getValueModes());
  addMode(thread, {grid.m, 0, 0});
  addMode(thread, {grid.n, repeats.n * mma.n, 1});
  addMode(value, {int64_t(llvm::divideCeil(k, mma.k)), mma.k, 0});
  addMode(value, {repeats.n, mma.n, 1});
  return FragmentLayout(thread, value);
}
