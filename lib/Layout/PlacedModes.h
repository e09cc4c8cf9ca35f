//===- PlacedModes.h - Modes of a layout along one dimension ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_LAYOUT_PLACEDMODES_H
#define TILEWS_LIB_LAYOUT_PLACEDMODES_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// A mode of a fragment's layout and its place in the number of the thread or
/// the register: it is the digit `number / step % extent` of that number.
///
/// Example: thread modes {4, 2, 1} {8, 1, 0}. The mode along dimension 0 has
/// step 4, extent 8 and stride 1: threads 0-3 hold row 0, threads 4-7 row 1.
struct PlacedMode {
  bool isThread;
  int64_t extent, step;
  /// The extent in the layout. `extent` may be cut to the fragment's extent.
  int64_t modulo;
  int64_t stride; // of the coordinate
};

/// The modes with more than one value along dimension `dim`, by stride. With
/// -1 for `dim`, the modes that replicate the fragment.
llvm::SmallVector<PlacedMode> getPlacedModes(const FragmentLayout &layout,
                                             int64_t dim);

/// Cuts registers past the extent off. Returns false if the modes are not
/// digits of the coordinate, each starting where the one before ends.
bool fitToExtent(llvm::SmallVectorImpl<PlacedMode> &modes, int64_t extent);

/// Returns how far the digits of a coordinate reach: its extent if they cover
/// it exactly.
int64_t getReach(llvm::ArrayRef<PlacedMode> modes);

} // namespace tilews

#endif // TILEWS_LIB_LAYOUT_PLACEDMODES_H
