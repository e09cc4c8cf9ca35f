//===- Algebra.cpp - The algebra of shape:stride layouts ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <tuple>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

/// Saturated products stay this small, so that a sum of them does not overflow.
static constexpr int64_t saturation = int64_t(1) << 50;
/// More leaves than anyone writes, and few enough for such sums.
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

/// An empty tuple, or an open place, has no place in a layout.
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

// What is made of a valid layout with the same size and offsets is valid.

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

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getDigits(int64_t number,
                                      ArrayRef<int64_t> radices) {
  SmallVector<int64_t> digits;
  for (int64_t radix : radices.drop_back()) {
    digits.push_back(number % radix);
    number /= radix;
  }
  digits.push_back(number);
  return digits;
}

/// How many multiples of `digits`, from 0 on, fit below the radices.
static int64_t countFitting(ArrayRef<int64_t> digits, ArrayRef<int64_t> radices,
                            int64_t limit) {
  for (auto [digit, radix] : llvm::zip(digits.drop_back(), radices))
    if (digit > 0)
      limit = std::min(limit, (radix - 1) / digit + 1);
  return limit;
}

std::optional<SmallVector<DigitStep>>
tilews::splitSteps(Axis axis, ArrayRef<int64_t> radices) {
  SmallVector<DigitStep> steps;
  while (axis.extent > 1) {
    SmallVector<int64_t> digits = getDigits(axis.stride, radices);
    int64_t count = countFitting(digits, radices, axis.extent);
    // The axis is cut into whole parts.
    if (axis.extent % count != 0)
      return std::nullopt;
    if (count == 1)
      return std::nullopt;
    steps.push_back({count, digits});
    axis = {axis.extent / count, multiply(axis.stride, count)};
  }
  return steps;
}

namespace {
/// Composes the leaves of a layout with an outer one. The offsets of the inner
/// layout are numbers whose digits the outer one weighs: the sum of its leaves'
/// steps has to stay free of carries.
class Composer {
public:
  explicit Composer(const Layout &outer)
      : outer(outer), axes(coalesce(outer).getAxes()), reach(axes.size(), 0) {
    for (Axis axis : axes)
      radices.push_back(axis.extent);
  }

  Expected<Layout> compose(const Layout &inner) {
    Expected<Layout> result = visit(inner);
    if (!result)
      return result;
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      if (reach[i] >= axes[i].extent)
        return makeLayoutError(
            "the composition of ", outer.str(), " with ", inner.str(),
            " is not a layout: modes of the latter add up to ", reach[i],
            " along ", axes[i].extent, ":", axes[i].stride,
            " of the former, and carry");
    return result;
  }

private:
  Expected<Layout> visit(const Layout &inner) {
    if (inner.getShape().isLeaf())
      return visitLeaf(
          {inner.getShape().getValue(), inner.getStride().getValue()});
    SmallVector<Layout> modes;
    for (const Layout &mode : inner.getModes()) {
      Expected<Layout> result = visit(mode);
      if (!result)
        return result;
      modes.push_back(std::move(*result));
    }
    return Layout::join(modes);
  }

  Expected<Layout> visitLeaf(Axis leaf) {
    std::optional<SmallVector<DigitStep>> steps = splitSteps(leaf, radices);
    if (!steps)
      return makeLayoutError(
          "the composition of ", outer.str(), " with ", leaf.extent, ":",
          leaf.stride, " is not a layout: ", leaf.extent, " steps of ",
          leaf.stride, " do not divide into the former's extents");
    SmallVector<Axis> result;
    for (const DigitStep &step : *steps) {
      int64_t stride = 0;
      for (auto [i, digit] : llvm::enumerate(step.digits)) {
        stride += multiply(digit, axes[i].stride);
        reach[i] += multiply(digit, step.count - 1);
      }
      result.push_back({step.count, stride});
    }
    return Layout::getFlat(coalesceAxes(result));
  }

  const Layout &outer;
  SmallVector<Axis> axes;
  SmallVector<int64_t> radices;
  SmallVector<int64_t> reach; // the largest sum of each digit
};
} // namespace

/// Composition in which the last mode of `outer` goes on.
static Expected<Layout> composeOpen(const Layout &outer, const Layout &inner) {
  return Composer(outer).compose(inner);
}

Expected<Layout> tilews::compose(const Layout &outer, const Layout &inner) {
  if (inner.getCosize() > outer.getSize())
    return makeLayoutError("cannot compose ", outer.str(), " with ",
                           inner.str(), ": the latter reaches ",
                           inner.getCosize() - 1, ", the former has only ",
                           outer.getSize(), " elements");
  return composeOpen(outer, inner);
}

static Error checkTilers(const Layout &layout, ArrayRef<Layout> tilers) {
  if (tilers.size() > layout.getRank())
    return makeLayoutError(tilers.size(), " tilers for the ", layout.getRank(),
                           " modes of ", layout.str());
  return Error::success();
}

Expected<Layout> tilews::compose(const Layout &outer, ArrayRef<Layout> tilers) {
  if (Error error = checkTilers(outer, tilers))
    return std::move(error);
  std::vector<Layout> modes = outer.getModes();
  for (auto [mode, tiler] : llvm::zip(modes, tilers)) {
    Expected<Layout> result = compose(mode, tiler);
    if (!result)
      return result;
    mode = std::move(*result);
  }
  return Layout::join(modes);
}

//===----------------------------------------------------------------------===//
// Complement and division
//===----------------------------------------------------------------------===//

Expected<Layout> tilews::complement(const Layout &layout, int64_t size) {
  if (size < 1)
    return makeLayoutError("a complement needs a positive size, found ", size);
  SmallVector<Axis> axes =
      llvm::filter_to_vector(layout.getAxes(), [](Axis axis) {
        return axis.extent > 1 && axis.stride > 0;
      });
  llvm::sort(axes, [](Axis a, Axis b) {
    return std::tuple(a.stride, a.extent) < std::tuple(b.stride, b.extent);
  });
  SmallVector<Axis> result;
  int64_t span = 1;
  for (Axis axis : axes) {
    if (axis.stride % span != 0)
      return makeLayoutError(
          "the layout ", layout.str(), " has no complement: ", axis.extent, ":",
          axis.stride, " does not step by a multiple of the ", span,
          " elements that its other modes span");
    result.push_back({axis.stride / span, span});
    span = axis.extent * axis.stride;
  }
  result.push_back({(size + span - 1) / span, span});
  return Layout::getFlat(coalesceAxes(result));
}

Expected<Layout> tilews::logicalDivide(const Layout &layout,
                                       const Layout &tile) {
  Expected<Layout> rest = complement(tile, layout.getSize());
  if (!rest)
    return rest;
  Expected<Layout> both = Layout::join({tile, *rest});
  if (!both)
    return both;
  return composeOpen(layout, *both);
}

Expected<Layout> tilews::logicalDivide(const Layout &layout,
                                       ArrayRef<Layout> tilers) {
  if (Error error = checkTilers(layout, tilers))
    return std::move(error);
  std::vector<Layout> modes = layout.getModes();
  for (auto [mode, tiler] : llvm::zip(modes, tilers)) {
    Expected<Layout> result = logicalDivide(mode, tiler);
    if (!result)
      return result;
    mode = std::move(*result);
  }
  return Layout::join(modes);
}

/// Divides by modes into the tiles and the rests, untouched modes among the
/// latter.
static Error divide(const Layout &layout, ArrayRef<Layout> tilers,
                    SmallVectorImpl<Layout> &tiles,
                    SmallVectorImpl<Layout> &rests) {
  if (tilers.empty())
    return makeLayoutError("expected at least one tiler");
  Expected<Layout> divided = logicalDivide(layout, tilers);
  if (!divided)
    return divided.takeError();
  for (auto [i, mode] : llvm::enumerate(divided->getModes())) {
    if (i < tilers.size()) {
      tiles.push_back(mode.getMode(0));
      rests.push_back(mode.getMode(1));
    } else {
      rests.push_back(mode);
    }
  }
  return Error::success();
}

Expected<Layout> tilews::zippedDivide(const Layout &layout,
                                      ArrayRef<Layout> tilers) {
  SmallVector<Layout> tiles, rests;
  if (Error error = divide(layout, tilers, tiles, rests))
    return std::move(error);
  Expected<Layout> tile = Layout::join(tiles), rest = Layout::join(rests);
  if (!tile || !rest)
    return llvm::joinErrors(tile.takeError(), rest.takeError());
  return Layout::join({*tile, *rest});
}

Expected<Layout> tilews::tiledDivide(const Layout &layout,
                                     ArrayRef<Layout> tilers) {
  SmallVector<Layout> tiles, rests;
  if (Error error = divide(layout, tilers, tiles, rests))
    return std::move(error);
  Expected<Layout> tile = Layout::join(tiles);
  if (!tile)
    return tile;
  rests.insert(rests.begin(), *tile);
  return Layout::join(rests);
}

//===----------------------------------------------------------------------===//
// Product
//===----------------------------------------------------------------------===//

Expected<Layout> tilews::logicalProduct(const Layout &layout,
                                        const Layout &by) {
  Expected<Layout> places =
      complement(layout, multiply(layout.getSize(), by.getCosize()));
  if (!places)
    return places;
  Expected<Layout> repeats = compose(*places, by);
  if (!repeats)
    return repeats;
  return Layout::join({layout, *repeats});
}

/// Modes of the product paired one by one, the layout's or the repetition's
/// first.
static Expected<Layout> pairProduct(const Layout &layout, const Layout &by,
                                    bool layoutFirst) {
  size_t rank = std::max(layout.getRank(), by.getRank());
  std::vector<Layout> own = layout.getModes(), repeats = by.getModes();
  own.resize(rank);
  repeats.resize(rank);
  Expected<Layout> padded = Layout::join(own), paddedBy = Layout::join(repeats);
  if (!padded || !paddedBy)
    return llvm::joinErrors(padded.takeError(), paddedBy.takeError());
  Expected<Layout> product = logicalProduct(*padded, *paddedBy);
  if (!product)
    return product;
  SmallVector<Layout> modes;
  for (size_t i = 0; i < rank; ++i) {
    Layout first = product->getMode(0).getMode(i);
    Layout second = product->getMode(1).getMode(i);
    if (!layoutFirst)
      std::swap(first, second);
    Expected<Layout> mode = Layout::join({first, second});
    if (!mode)
      return mode;
    modes.push_back(std::move(*mode));
  }
  return Layout::join(modes);
}

Expected<Layout> tilews::blockedProduct(const Layout &layout,
                                        const Layout &by) {
  return pairProduct(layout, by, /*layoutFirst=*/true);
}

Expected<Layout> tilews::rakedProduct(const Layout &layout, const Layout &by) {
  return pairProduct(layout, by, /*layoutFirst=*/false);
}
