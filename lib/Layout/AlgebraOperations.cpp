//===- AlgebraOperations.cpp - Composition, division, product of layouts --===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composition, complement, division and product. Composition is the core: the
// offsets of the inner layout are numbers whose digits, in the radices of the
// outer layout's extents, weigh the outer strides. It is a layout as long as no
// step of a leaf, and no sum of leaves, carries from one digit into the next:
//
//   (4,8):(8,1) o 16:2: steps of 2 are digits (2,0), then carry after 2 steps,
//   so 16:2 is cut into (2,8):(2,4) = digits (2,0) and (0,1): (2,8):(16,1)
//
// Division composes with a tile and its complement, a product composes the
// complement with the layout that repeats.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <tuple>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

static Expected<Layout> getCoalesced(ArrayRef<Axis> axes) {
  Expected<Layout> layout = Layout::getFlat(axes);
  if (!layout)
    return layout;
  return coalesce(*layout);
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

/// Returns how many multiples of `digits`, from 0 on, have no carry.
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
    // The axis must be cut into equal parts of more than one step.
    if (count == 1 || axis.extent % count != 0)
      return std::nullopt;
    steps.push_back({count, digits});
    axis = {axis.extent / count, multiply(axis.stride, count)};
  }
  return steps;
}

namespace {
/// Composes the leaves of an inner layout with an outer one. Offsets of the
/// inner layout are split into digits by the extents of the outer one. The
/// steps of the leaves, and sums of them, must have no carries.
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
    return getCoalesced(result);
  }

  const Layout &outer;
  SmallVector<Axis> axes;
  SmallVector<int64_t> radices;
  SmallVector<int64_t> reach; // the largest sum of each digit
};
} // namespace

/// Composes as if the last mode of `outer` had no end.
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
  return getCoalesced(result);
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

/// Divides mode by mode into tiles and rests. Modes without a tiler are rests.
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

/// Pairs the modes of a product one by one, those of the layout or those of the
/// repetition first.
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
