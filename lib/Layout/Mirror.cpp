//===- Mirror.cpp - Fragments in reverse order ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverses the digits of the axes. A power of two of threads is reversed by
// flipping bits of the thread's number, which a shuffle does by itself:
//
//   24 rows as 3 registers of stride 8 and 8 lanes of step 4
//     register i comes from register 2 - i of lane `lane ^ 28`
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Mirror.h"

#include "PlacedModes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t Mirror::getThread(int64_t thread) const {
  int64_t mirrored = thread;
  for (const ThreadDigit &digit : threads) {
    int64_t value = thread / digit.step % digit.extent;
    mirrored += (digit.extent - 1 - 2 * value) * digit.step;
  }
  return mirrored;
}

std::optional<int64_t> Mirror::getThreadBits() const {
  int64_t bits = 0;
  for (const ThreadDigit &digit : threads) {
    if (!llvm::isPowerOf2_64(digit.extent) || !llvm::isPowerOf2_64(digit.step))
      return std::nullopt;
    bits |= (digit.extent - 1) * digit.step;
  }
  return bits;
}

std::optional<WarpExchange> Mirror::getExchange(int64_t numThreads,
                                                int64_t warpSize) const {
  std::optional<int64_t> bits = getThreadBits();
  if (!bits || *bits >= warpSize || (*bits != 0 && numThreads % warpSize != 0))
    return std::nullopt;
  WarpExchange exchange;
  exchange.warpSize = warpSize;
  exchange.flippedLanes = *bits;
  int64_t values = registers.size();
  exchange.sourceValues = exchange.destValues = values;
  RegisterDigit all = {values, 1, values, 1};
  exchange.kept.push_back({all, all});
  for (int64_t bit = 1; bit < warpSize; bit *= 2)
    exchange.moves.push_back({bit, bit});
  return exchange;
}

std::optional<Mirror> tilews::getMirror(const FragmentLayout &layout,
                                        ArrayRef<int64_t> shape,
                                        ArrayRef<int64_t> axes) {
  Mirror mirror;
  mirror.registers = llvm::to_vector(llvm::seq(layout.getNumValues()));
  for (int64_t axis : axes) {
    if (shape[axis] == 1)
      continue;
    SmallVector<PlacedMode> modes = getPlacedModes(layout, axis);
    if (!fitToExtent(modes, shape[axis]) || getReach(modes) != shape[axis])
      return std::nullopt;
    for (const PlacedMode &mode : modes) {
      if (mode.isThread) {
        mirror.threads.push_back({mode.extent, mode.step});
        continue;
      }
      for (auto [number, from] : llvm::enumerate(mirror.registers)) {
        int64_t value = int64_t(number) / mode.step % mode.modulo;
        if (value < mode.extent)
          from += (mode.extent - 1 - 2 * value) * mode.step;
      }
    }
  }
  return mirror;
}
