//===- Mirror.h - Fragments in reverse order --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which thread and which register holds the element at the opposite end. If a
// layout keeps whole digits of the coordinates in the numbers of threads and
// registers, each digit is reversed on its own. The reason is that coordinate
// extent - 1 - c has the digits of c, each subtracted from its largest value.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_MIRROR_H
#define TILEWS_LAYOUT_MIRROR_H

#include "tilews/Layout/WarpExchange.h"

namespace tilews {

/// The element that register `v` of thread `t` holds once the axes are reversed
/// is in register `registers[v]` of thread `getThread(t)`.
///
/// Example: 64 columns in thread mode 16:4 and value mode 4:1. The registers
/// are 3 2 1 0, and thread 5 gets its elements from thread 10.
struct Mirror {
  /// The digit `thread / step % extent` of the thread's number.
  struct ThreadDigit {
    int64_t extent, step;
  };
  llvm::SmallVector<int64_t> registers;
  /// The digits of the thread's number that are reversed.
  llvm::SmallVector<ThreadDigit> threads;

  int64_t getThread(int64_t thread) const;
  /// Returns the bits in which the number of each thread differs from that of
  /// its mirror; none if these are not the same for all threads.
  std::optional<int64_t> getThreadBits() const;
  /// Returns the exchange that moves each register to the same register of the
  /// mirrored lane. None if `numThreads` threads exchange between warps, or are
  /// no whole warps.
  std::optional<WarpExchange> getExchange(int64_t numThreads,
                                          int64_t warpSize) const;
};

/// Returns the mirror of a fragment of `shape` along `axes`. None if `layout`
/// does not cover the extent of an axis by whole digits. Registers that hold no
/// element have any mirror.
std::optional<Mirror> getMirror(const FragmentLayout &layout,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<int64_t> axes);

} // namespace tilews

#endif // TILEWS_LAYOUT_MIRROR_H
