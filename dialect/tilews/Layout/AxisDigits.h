//===- AxisDigits.h - Where the digits of one coordinate lie ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction or a scan along an axis combines what the digits of the axis'
// coordinate tell apart: registers of a thread, lanes of a warp, or threads
// that have to meet in scratch memory.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_AXISDIGITS_H
#define TILEWS_LAYOUT_AXISDIGITS_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// The digit `number / step % extent` of the number of a register or a thread.
struct AxisDigit {
  enum class Place {
    Register,
    /// A power of two of lanes that differ in bits of their number.
    Lane,
    /// Threads that do not: of more than one warp, or of another number.
    Scratch
  };
  Place place;
  int64_t extent, step;

  int64_t of(int64_t number) const { return number / step % extent; }
};

/// The digits of the coordinate along `axis`, the lowest first; none if they
/// are not digits, so that some coordinates are held twice, or with gaps.
std::optional<llvm::SmallVector<AxisDigit>>
getAxisDigits(const FragmentLayout &layout, int64_t axis, int64_t warpSize);

} // namespace tilews

#endif // TILEWS_LAYOUT_AXISDIGITS_H
