//===- RandomLayouts.h - Small layouts for tests ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_UNITTESTS_LAYOUT_RANDOMLAYOUTS_H
#define TILEWS_UNITTESTS_LAYOUT_RANDOMLAYOUTS_H

#include "tilews/Layout/Algebra.h"

#include <random>

namespace tilews {

/// Makes random layouts of a few small leaves, the same ones in each run.
class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : engine(seed) {}

  /// Returns a number in [least, most].
  int64_t getNumber(int64_t least, int64_t most) {
    // The distributions of the standard library differ between platforms.
    return least + int64_t(engine() % uint64_t(most - least + 1));
  }

  /// Returns a layout of up to 4 leaves with extents up to 4 and any strides.
  Layout get() {
    llvm::SmallVector<Axis> axes;
    for (int64_t i = getNumber(1, 4); i > 0; --i)
      axes.push_back({getNumber(1, 4), getNumber(0, 3) * getNumber(1, 4)});
    return nest(axes);
  }

  /// Returns a layout whose leaves fill [0, size) without gaps, in any order.
  Layout getPermutation() {
    llvm::SmallVector<Axis> axes;
    int64_t stride = 1;
    for (int64_t i = getNumber(1, 4); i > 0; --i) {
      int64_t extent = getNumber(1, 4);
      axes.insert(axes.begin() + getNumber(0, axes.size()), {extent, stride});
      stride *= extent;
    }
    return nest(axes);
  }

  /// Returns an injective layout, which may have gaps.
  Layout getInjective() {
    llvm::SmallVector<Axis> axes;
    int64_t stride = 1;
    for (int64_t i = getNumber(1, 3); i > 0; --i) {
      stride *= getNumber(1, 3);
      int64_t extent = getNumber(1, 4);
      axes.insert(axes.begin() + getNumber(0, axes.size()), {extent, stride});
      stride *= extent;
    }
    return nest(axes);
  }

private:
  /// Makes a layout of the axes, of which the first two may be one mode.
  Layout nest(llvm::ArrayRef<Axis> axes) {
    if (axes.size() < 3 || getNumber(0, 1))
      return llvm::cantFail(Layout::getFlat(axes));
    llvm::SmallVector<Layout> modes = {
        llvm::cantFail(Layout::getFlat(axes.take_front(2)))};
    for (Axis axis : axes.drop_front(2))
      modes.push_back(llvm::cantFail(Layout::getFlat(axis)));
    return llvm::cantFail(Layout::join(modes));
  }

  std::mt19937 engine;
};

/// Evaluates a layout by its definition: the digits of the index, the first
/// leaf fastest, times the strides.
inline int64_t evaluate(const Layout &layout, int64_t index) {
  int64_t offset = 0;
  for (Axis axis : layout.getAxes()) {
    offset += index % axis.extent * axis.stride;
    index /= axis.extent;
  }
  return offset;
}

} // namespace tilews

#endif // TILEWS_UNITTESTS_LAYOUT_RANDOMLAYOUTS_H
