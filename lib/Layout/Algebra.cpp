//===- Algebra.cpp - The algebra of shape:stride layouts ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of the algebra: construction with checks, evaluation, and
// simplification. A layout is a function of its index, so `coalesce` may
// replace it by any layout with the same values:
//
//   (2,4,8):(1,2,8) = 64:1       (4,8):(1,8) has a gap and stays
//
// All numbers stay below 2^40 and products saturate above that, so that no sum
// or product in the algebra overflows.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

/// The largest value of a product: small enough that sums do not overflow.
static constexpr int64_t saturation = int64_t(1) << 50;
/// The largest number of leaves, which bounds the number of summands.
static constexpr size_t maxLeaves = 1024;

int64_t tilews::multiply(int64_t a, int64_t b) {
  return a != 0 && b > saturation / a ? saturation : a * b;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Expected<Layout> Layout::get(IntTuple shape, IntTuple stride) {
  std::string text = shape.str() + ":" + stride.str();
  if (!shape.isCongruentTo(stride))
    return makeLayoutError("shape and stride of ", text,
                           " are not nested in the same way");
  SmallVector<int64_t> extents = shape.flatten(), strides = stride.flatten();
  if (extents.size() > maxLeaves)
    return makeLayoutError("a layout has more than ", maxLeaves, " leaves");
  int64_t size = 1, cosize = 1;
  for (auto [extent, step] : llvm::zip(extents, strides)) {
    if (extent < 1)
      return makeLayoutError("extents have to be positive, found ", extent,
                             " in ", text);
    if (step < 0)
      return makeLayoutError("strides must not be negative, found ", step,
                             " in ", text);
    size = multiply(size, extent);
    cosize += multiply(extent - 1, step);
    if (step > maxSize || size > maxSize || cosize > maxSize)
      return makeLayoutError("the layout ", text,
                             " reaches past 2^40 elements");
  }
  return Layout(std::move(shape), std::move(stride));
}

Expected<Layout> Layout::getCompact(IntTuple shape) {
  SmallVector<int64_t> strides;
  int64_t size = 1;
  for (int64_t extent : shape.flatten()) {
    strides.push_back(size);
    size = multiply(size, std::max<int64_t>(extent, 1));
  }
  IntTuple stride = shape.nest(strides);
  return get(std::move(shape), std::move(stride));
}

Expected<Layout> Layout::join(ArrayRef<Layout> modes) {
  std::vector<IntTuple> shapes, strides;
  for (const Layout &mode : modes) {
    shapes.push_back(mode.shape);
    strides.push_back(mode.stride);
  }
  return get(IntTuple(std::move(shapes)), IntTuple(std::move(strides)));
}

Expected<Layout> Layout::getFlat(ArrayRef<Axis> axes) {
  if (axes.empty())
    return Layout();
  if (axes.size() == 1)
    return get(axes[0].extent, axes[0].stride);
  std::vector<IntTuple> shapes, strides;
  for (Axis axis : axes) {
    shapes.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  return get(IntTuple(std::move(shapes)), IntTuple(std::move(strides)));
}

/// Fails for an empty tuple and for an open place, which layouts cannot have.
static Error checkTuple(const IntTuple &tuple) {
  if (tuple.isOpen())
    return makeLayoutError("a layout has no open places '_'");
  if (tuple.getRank() == 0)
    return makeLayoutError("a layout has no empty tuples");
  if (!tuple.isLeaf())
    for (const IntTuple &part : tuple.getParts())
      if (Error error = checkTuple(part))
        return error;
  return Error::success();
}

static Expected<IntTuple> parseTuple(llvm::StringRef text) {
  Expected<IntTuple> tuple = IntTuple::parse(text);
  if (tuple)
    if (Error error = checkTuple(*tuple))
      return std::move(error);
  return tuple;
}

Expected<Layout> Layout::parse(llvm::StringRef text) {
  auto [shapeText, strideText] = text.split(':');
  Expected<IntTuple> shape = parseTuple(shapeText);
  if (!shape)
    return shape.takeError();
  if (!text.contains(':'))
    return getCompact(std::move(*shape));
  Expected<IntTuple> stride = parseTuple(strideText);
  if (!stride)
    return stride.takeError();
  return get(std::move(*shape), std::move(*stride));
}

int64_t Layout::getSize() const {
  int64_t size = 1;
  for (Axis axis : getAxes())
    size *= axis.extent;
  return size;
}

int64_t Layout::getCosize() const {
  int64_t last = 0;
  for (Axis axis : getAxes())
    last += (axis.extent - 1) * axis.stride;
  return last + 1;
}

Layout Layout::getMode(size_t i) const { return Layout(shape[i], stride[i]); }

std::vector<Layout> Layout::getModes() const {
  std::vector<Layout> modes;
  for (size_t i = 0, e = getRank(); i < e; ++i)
    modes.push_back(getMode(i));
  return modes;
}

SmallVector<Axis> Layout::getAxes() const {
  return llvm::map_to_vector(
      llvm::zip(shape.flatten(), stride.flatten()),
      [](auto pair) { return Axis{std::get<0>(pair), std::get<1>(pair)}; });
}

int64_t Layout::operator()(int64_t index) const {
  SmallVector<Axis> axes = getAxes();
  int64_t offset = 0;
  for (Axis axis : ArrayRef(axes).drop_back()) {
    offset += index % axis.extent * axis.stride;
    index /= axis.extent;
  }
  return offset + index * axes.back().stride;
}

Expected<int64_t> Layout::at(const IntTuple &coord) const {
  if (coord.isOpen())
    return makeLayoutError("the coordinate of an element has no open places");
  if (coord.isLeaf()) {
    int64_t index = coord.getValue();
    if (index < 0 || index >= getSize())
      return makeLayoutError("coordinate ", index, " is outside of ", str(),
                             ", which has ", getSize(), " elements");
    return (*this)(index);
  }
  if (shape.isLeaf() || coord.getRank() != getRank())
    return makeLayoutError("coordinate ", coord.str(), " does not fit shape ",
                           shape.str());
  int64_t offset = 0;
  for (size_t i = 0, e = getRank(); i < e; ++i) {
    Expected<int64_t> part = getMode(i).at(coord[i]);
    if (!part)
      return part.takeError();
    offset += *part;
  }
  return offset;
}

IntTuple Layout::getCoord(int64_t index) const {
  SmallVector<int64_t> digits;
  for (int64_t extent : shape.flatten()) {
    digits.push_back(index % extent);
    index /= extent;
  }
  return shape.nest(digits);
}

std::string Layout::str() const { return shape.str() + ":" + stride.str(); }

//===----------------------------------------------------------------------===//
// Simplification
//===----------------------------------------------------------------------===//

static SmallVector<Axis> coalesceAxes(ArrayRef<Axis> axes) {
  SmallVector<Axis> result;
  for (Axis axis : axes) {
    if (axis.extent == 1)
      continue;
    if (!result.empty() &&
        axis.stride == multiply(result.back().extent, result.back().stride))
      result.back().extent *= axis.extent;
    else
      result.push_back(axis);
  }
  return result;
}

// The results have the size and the offsets of a valid layout, so they are
// valid.

Layout tilews::coalesce(const Layout &layout) {
  return llvm::cantFail(Layout::getFlat(coalesceAxes(layout.getAxes())));
}

Layout tilews::coalesceModes(const Layout &layout) {
  if (layout.getShape().isLeaf())
    return coalesce(layout);
  return llvm::cantFail(Layout::join(llvm::map_to_vector(
      layout.getModes(), [](const Layout &mode) { return coalesce(mode); })));
}

Layout tilews::flatten(const Layout &layout) {
  return llvm::cantFail(Layout::getFlat(layout.getAxes()));
}
