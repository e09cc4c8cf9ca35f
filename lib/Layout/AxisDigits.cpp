//===- AxisDigits.cpp - Digits of a coordinate in a layout ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sorts the modes along one axis by their stride. If each begins where the one
// before ends, they are the digits of the coordinate, the lowest first. A mode
// of threads is cut at the end of a warp, because lanes exchange by shuffles
// and warps through memory:
//
//   register mode 2:1, thread modes 4:2 and 64:8 (extent:stride), warps of 32
//     digits: 2 registers, 4 lanes of step 1, 8 lanes of step 4, 8 warps
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/AxisDigits.h"

#include "PlacedModes.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tilews;
using llvm::SmallVector;

/// Adds a mode of threads, cut at the end of a warp.
static void addThreadDigits(const PlacedMode &mode, int64_t warpSize,
                            SmallVector<AxisDigit> &digits) {
  using Place = AxisDigit::Place;
  int64_t lanes = 1;
  if (mode.step < warpSize && llvm::isPowerOf2_64(mode.step))
    lanes = std::min(mode.extent, warpSize / mode.step);
  if (!llvm::isPowerOf2_64(lanes) || mode.extent % lanes != 0)
    lanes = 1;
  if (lanes > 1)
    digits.push_back({Place::Lane, lanes, mode.step});
  if (mode.extent > lanes)
    digits.push_back({Place::Scratch, mode.extent / lanes, mode.step * lanes});
}

std::optional<SmallVector<AxisDigit>>
tilews::getAxisDigits(const FragmentLayout &layout, int64_t axis,
                      int64_t warpSize) {
  SmallVector<AxisDigit> digits;
  int64_t reach = 1;
  for (const PlacedMode &mode : getPlacedModes(layout, axis)) {
    if (mode.stride != reach)
      return std::nullopt;
    reach *= mode.extent;
    if (mode.isThread)
      addThreadDigits(mode, warpSize, digits);
    else
      digits.push_back({AxisDigit::Place::Register, mode.extent, mode.step});
  }
  return digits;
}
