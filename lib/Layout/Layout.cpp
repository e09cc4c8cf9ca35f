//===- Layout.cpp - Layouts of buffers and fragments ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

//===----------------------------------------------------------------------===//
// SharedLayout
//===----------------------------------------------------------------------===//

SharedLayout SharedLayout::getRowMajor(ArrayRef<int64_t> shape) {
  SmallVector<Mode> modes(shape.size());
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    modes[dim] = {shape[dim], stride, dim};
    stride *= shape[dim];
  }
  return SharedLayout(modes);
}

SharedLayout SharedLayout::getPanels(ArrayRef<int64_t> shape,
                                     int64_t elementBits, int64_t spanBytes) {
  int64_t inner = shape.back();
  int64_t panel = spanBytes * 8 / elementBits;
  if (spanBytes < 16 || inner % panel != 0)
    return getRowMajor(shape);

  int64_t last = shape.size() - 1;
  int64_t stride = panel;
  SmallVector<Mode> modes;
  // Rows of one panel first, then the panels, then the leading dimensions.
  if (last > 0) {
    modes.push_back({shape[last - 1], stride, last - 1});
    stride *= shape[last - 1];
  }
  modes.push_back({panel, 1, last});
  if (inner > panel) {
    modes.push_back({inner / panel, stride, last});
    stride *= inner / panel;
  }
  for (int64_t dim = last - 2; dim >= 0; --dim) {
    modes.insert(modes.begin(), {shape[dim], stride, dim});
    stride *= shape[dim];
  }
  Swizzle swizzle;
  if (spanBytes > 16)
    swizzle.bits = llvm::Log2_64(spanBytes) - 4;
  return SharedLayout(modes, swizzle);
}

SmallVector<Mode> SharedLayout::getModes(int64_t dim) const {
  return llvm::filter_to_vector(
      modes, [&](const Mode &mode) { return mode.dim == dim; });
}

int64_t SharedLayout::getRank() const {
  return modes.empty() ? 0 : modes.back().dim + 1;
}

SmallVector<int64_t> SharedLayout::getShape() const {
  SmallVector<int64_t> shape(getRank(), 1);
  for (const Mode &mode : modes)
    shape[mode.dim] *= mode.extent;
  return shape;
}

int64_t SharedLayout::getOffset(ArrayRef<int64_t> coords,
                                int64_t elementBits) const {
  SmallVector<int64_t> rest(coords);
  int64_t offset = 0;
  for (const Mode &mode : modes) {
    offset += rest[mode.dim] % mode.extent * mode.stride;
    rest[mode.dim] /= mode.extent;
  }
  if (swizzle.isIdentity())
    return offset;
  int64_t bit = offset * elementBits;
  return (swizzle(bit / 8) * 8 + bit % 8) / elementBits;
}

int64_t SharedLayout::getCosize(int64_t elementBits) const {
  int64_t last = 0;
  for (const Mode &mode : modes)
    last += (mode.extent - 1) * mode.stride;
  if (swizzle.isIdentity())
    return last + 1;
  // The swizzle permutes within an atom, so only whole atoms are certain.
  int64_t atom = swizzle.getAtomBytes() * 8 / elementBits;
  return llvm::alignTo(last + 1, atom);
}

int64_t SharedLayout::getContiguity(int64_t elementBits) const {
  SmallVector<Mode> inner = getModes(getRank() - 1);
  int64_t run = 1;
  for (const Mode &mode : inner) {
    if (mode.stride != run)
      break;
    run *= mode.extent;
  }
  if (!swizzle.isIdentity())
    run = std::gcd(run, (int64_t(8) << swizzle.base) / elementBits);
  // Other strides have to keep the run's start a multiple of it.
  for (const Mode &mode : modes)
    if (mode.stride >= run || mode.dim != getRank() - 1)
      run = std::gcd(run, mode.stride);
  return std::max<int64_t>(run, 1);
}

bool SharedLayout::isRowMajor() const {
  return swizzle.isIdentity() && modes == getRowMajor(getShape()).modes;
}

//===----------------------------------------------------------------------===//
// FragmentLayout
//===----------------------------------------------------------------------===//

static int64_t getSize(ArrayRef<Mode> modes) {
  int64_t size = 1;
  for (const Mode &mode : modes)
    size *= mode.extent;
  return size;
}

static void addCoords(ArrayRef<Mode> modes, int64_t index,
                      SmallVectorImpl<int64_t> &coords) {
  for (const Mode &mode : modes) {
    coords[mode.dim] += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
}

int64_t FragmentLayout::getNumThreads() const { return getSize(thread); }
int64_t FragmentLayout::getNumValues() const { return getSize(value); }

SmallVector<int64_t> FragmentLayout::getCoords(int64_t threadIndex,
                                               int64_t valueIndex,
                                               int64_t rank) const {
  SmallVector<int64_t> coords(rank, 0);
  addCoords(thread, threadIndex, coords);
  addCoords(value, valueIndex, coords);
  return coords;
}

SmallVector<int64_t> FragmentLayout::getValueCoords(int64_t valueIndex,
                                                    int64_t rank) const {
  SmallVector<int64_t> coords(rank, 0);
  addCoords(value, valueIndex, coords);
  return coords;
}

SmallVector<int64_t> FragmentLayout::getCover(int64_t rank) const {
  SmallVector<int64_t> cover(rank, 1);
  for (ArrayRef<Mode> modes : {ArrayRef<Mode>(thread), ArrayRef<Mode>(value)})
    for (const Mode &mode : modes)
      cover[mode.dim] += (mode.extent - 1) * mode.stride;
  return cover;
}

int64_t FragmentLayout::getContiguity(int64_t dim) const {
  int64_t run = 1;
  for (const Mode &mode : value) {
    if (mode.dim != dim || mode.stride != run)
      break;
    run *= mode.extent;
  }
  return run;
}

FragmentLayout FragmentLayout::dropDim(int64_t dim) const {
  FragmentLayout result;
  for (Mode mode : thread) {
    if (mode.dim == dim)
      mode = {mode.extent, 0, 0};
    else if (mode.dim > dim)
      --mode.dim;
    result.thread.push_back(mode);
  }
  for (Mode mode : value) {
    if (mode.dim == dim)
      continue;
    if (mode.dim > dim)
      --mode.dim;
    result.value.push_back(mode);
  }
  return result;
}

FragmentLayout FragmentLayout::insertDim(int64_t dim) const {
  FragmentLayout result = *this;
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.dim >= dim && mode.stride != 0)
        ++mode.dim;
  return result;
}

FragmentLayout FragmentLayout::transpose(ArrayRef<int64_t> permutation) const {
  FragmentLayout result = *this;
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.stride != 0)
        mode.dim = llvm::find(permutation, mode.dim) - permutation.begin();
  return result;
}

FragmentLayout tilews::getBlockedLayout(ArrayRef<int64_t> shape,
                                        int64_t numThreads,
                                        int64_t vectorElements) {
  int64_t rank = shape.size();
  SmallVector<Mode> thread, value;
  SmallVector<int64_t> reach(rank, 1);
  if (rank > 0) {
    int64_t vector = std::gcd(vectorElements, shape.back());
    if (vector > 1)
      value.push_back({vector, 1, rank - 1});
    reach.back() = vector;
  }
  // Threads fill the dimensions innermost first; the last digit of a dimension
  // is rounded to a divisor of the threads left so that the product is exact.
  int64_t left = numThreads;
  for (int64_t dim = rank - 1; dim >= 0 && left > 1; --dim) {
    int64_t wanted = llvm::divideCeil(shape[dim], reach[dim]);
    int64_t extent = 1;
    while (extent < wanted && extent < left)
      extent *= left % (extent * 2) == 0 ? 2 : left / extent;
    if (extent > 1)
      thread.push_back({extent, reach[dim], dim});
    reach[dim] *= extent;
    left /= extent;
  }
  if (left > 1)
    thread.push_back({left, 0, 0});
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t repeats = llvm::divideCeil(shape[dim], reach[dim]);
    if (repeats > 1)
      value.push_back({repeats, reach[dim], dim});
  }
  return FragmentLayout(thread, value);
}
