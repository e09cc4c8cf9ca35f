//===- RandomFragments.h - Layouts of fragments for tests -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_UNITTESTS_LAYOUT_RANDOMFRAGMENTS_H
#define TILEWS_UNITTESTS_LAYOUT_RANDOMFRAGMENTS_H

#include "RandomLayouts.h"

#include "tilews/Layout/Layout.h"

#include "gtest/gtest.h"

namespace tilews {

using Modes = llvm::SmallVector<Mode>;
using Coords = llvm::SmallVector<int64_t>;

/// Makes random layouts of fragments in which each element has one place, but
/// for replicas: digits of the coordinates in the numbers of threads and
/// registers. They are the same ones in each run.
class RandomFragments : public RandomLayouts {
public:
  using RandomLayouts::RandomLayouts;

  void shuffle(Modes &modes) {
    for (size_t i = modes.size(); i > 1; --i)
      std::swap(modes[i - 1], modes[getNumber(0, i - 1)]);
  }

  /// Returns the prime digits of the coordinates of a fragment, in any order.
  /// The lowest digit of a dimension has stride 1.
  Modes getDigits(llvm::ArrayRef<int64_t> shape) {
    Modes digits;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      int64_t stride = 1, left = extent;
      while (left > 1) {
        int64_t prime = 2;
        // An extent of 6 is 2 * 3 or 3 * 2.
        while (left % prime != 0 || (left % 3 == 0 && getNumber(0, 1)))
          prime = prime == 2 ? 3 : 2;
        digits.push_back({prime, stride, int64_t(dim)});
        stride *= prime;
        left /= prime;
      }
    }
    shuffle(digits);
    return digits;
  }

  /// Returns a shape of `rank` extents with factors 2 and, if `odd`, 3.
  llvm::SmallVector<int64_t> getShape(int64_t rank, bool odd) {
    llvm::SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < rank; ++dim)
      shape.push_back((int64_t(1) << getNumber(0, 3)) *
                      (odd && getNumber(0, 2) == 0 ? 3 : 1));
    return shape;
  }

  /// Returns a layout of `shape`, sometimes with replicas in threads.
  FragmentLayout getFragment(llvm::ArrayRef<int64_t> shape) {
    Modes digits = getDigits(shape);
    // Few long modes instead of many short ones.
    bool isLong = getNumber(0, 1);
    if (isLong)
      llvm::sort(digits, [](const Mode &a, const Mode &b) {
        return std::make_pair(a.dim, a.stride) <
               std::make_pair(b.dim, b.stride);
      });
    size_t count = getNumber(0, digits.size());
    Modes thread(digits.begin(), digits.begin() + count);
    Modes value(digits.begin() + count, digits.end());
    if (getNumber(0, 2) == 0)
      thread.insert(thread.begin() + getNumber(0, thread.size()), {2, 0, 0});
    FragmentLayout layout(thread, value);
    return isLong ? layout.coalesce() : layout;
  }
};

/// Calls `visit` with the number of each thread and each of its registers, and
/// with the coordinates that the register holds.
template <typename Visit>
void forEachPlace(const FragmentLayout &layout, int64_t rank, Visit visit) {
  for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread)
    for (int64_t value = 0; value < layout.getNumValues(); ++value)
      visit(thread, value, layout.getCoords(thread, value, rank));
}

/// Returns the number of an element, row by row.
inline int64_t linearize(llvm::ArrayRef<int64_t> coords,
                         llvm::ArrayRef<int64_t> shape) {
  int64_t number = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    number = number * shape[dim] + coords[dim];
  return number;
}

/// Returns how many registers hold each element, and fails the test at a
/// register that lies outside of `shape`.
inline llvm::SmallVector<int64_t> countHolders(const FragmentLayout &layout,
                                               llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  llvm::SmallVector<int64_t> counts(size, 0);
  forEachPlace(layout, shape.size(), [&](int64_t, int64_t, Coords coords) {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (coords[dim] >= shape[dim]) {
        ADD_FAILURE() << "coordinate " << coords[dim] << " of " << shape[dim];
        return;
      }
    ++counts[linearize(coords, shape)];
  });
  return counts;
}

} // namespace tilews

#endif // TILEWS_UNITTESTS_LAYOUT_RANDOMFRAGMENTS_H
