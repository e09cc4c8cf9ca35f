//===- AxisDigits.h - Digits of a coordinate in a layout --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction or a scan along an axis combines elements that differ in the
// coordinate along the axis. Each digit of that coordinate is a digit of the
// number of a register, of a lane, or of a thread in another warp. Values of
// different warps go through scratch memory.
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
    /// Lanes of a warp; extent and step are powers of two.
    Lane,
    /// Other threads: of several warps, or not a power of two of lanes.
    Scratch
  };
  Place place;
  int64_t extent, step;

  int64_t of(int64_t number) const { return number / step % extent; }
};

/// Returns the digits of the coordinate along `axis`, the lowest first. None if
/// the modes along the axis are not digits: they overlap or have gaps.
std::optional<llvm::SmallVector<AxisDigit>>
getAxisDigits(const FragmentLayout &layout, int64_t axis, int64_t warpSize);

} // namespace tilews

#endif // TILEWS_LAYOUT_AXISDIGITS_H
