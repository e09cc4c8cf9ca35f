//===- PlacedModes.cpp - Modes of a layout along one dimension ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the modes of threads and of registers with a running product of their
// extents, which is the step of a mode in the number of its thread or register.
// The result is sorted by stride, so that the modes are the digits of the
// coordinate, the lowest first, if each starts where the one before ends.
//
//===----------------------------------------------------------------------===//

#include "PlacedModes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

using namespace tilews;
using llvm::SmallVector;

SmallVector<PlacedMode> tilews::getPlacedModes(const FragmentLayout &layout,
                                               int64_t dim) {
  SmallVector<PlacedMode> result;
  for (bool isThread : {true, false}) {
    int64_t step = 1;
    for (const Mode &mode :
         isThread ? layout.getThreadModes() : layout.getValueModes()) {
      bool along =
          dim < 0 ? mode.stride == 0 : mode.stride != 0 && mode.dim == dim;
      if (along && mode.extent > 1)
        result.push_back(
            {isThread, mode.extent, step, mode.extent, mode.stride});
      step *= mode.extent;
    }
  }
  llvm::sort(result, [](const PlacedMode &a, const PlacedMode &b) {
    return std::tie(a.stride, a.isThread, a.step) <
           std::tie(b.stride, b.isThread, b.step);
  });
  return result;
}

bool tilews::fitToExtent(llvm::SmallVectorImpl<PlacedMode> &modes,
                         int64_t extent) {
  while (!modes.empty() && !modes.back().isThread &&
         modes.back().stride >= extent)
    modes.pop_back();
  if (!modes.empty() && !modes.back().isThread)
    modes.back().extent =
        std::min(modes.back().extent,
                 int64_t(llvm::divideCeil(extent, modes.back().stride)));
  int64_t reach = 1;
  for (const PlacedMode &mode : modes) {
    if (mode.stride != reach)
      return false;
    reach *= mode.extent;
  }
  return true;
}

int64_t tilews::getReach(llvm::ArrayRef<PlacedMode> modes) {
  return modes.empty() ? 1 : modes.back().stride * modes.back().extent;
}
