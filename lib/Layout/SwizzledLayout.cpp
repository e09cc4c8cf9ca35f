//===- SwizzledLayout.cpp - Layouts followed by a swizzle -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Connects the two notations of layouts. Attributes hold modes with dimensions
// and a swizzle of bytes; the algebra has nested shapes and, around them, a
// swizzle and an offset in elements:
//
//   8 x 64 f16 in 128-byte rows, Sw<3,4,3> of bytes = Sw<3,3,3> o (8,64):(64,1)
//
// A swizzle is converted by moving its bits by the width of an element.
// Versions of a buffer are a new leading mode whose stride is a multiple of the
// swizzle's atom, so that each version has the same pattern.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/SwizzledLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Swizzles
//===----------------------------------------------------------------------===//

Error tilews::checkSwizzle(Swizzle swizzle) {
  auto [bits, base, shift] = swizzle;
  if (bits >= 0 && base >= 0 && bits <= shift && base <= 20 && shift <= 20 &&
      bits + base + shift <= 20)
    return Error::success();
  return makeLayoutError("a swizzle Sw<bits,base,shift> needs 0 <= bits <= "
                         "shift, 0 <= base and a sum of at most 20, found ",
                         toString(swizzle));
}

/// Reads a swizzle off the front of `text`.
static Expected<Swizzle> parseSwizzleFront(llvm::StringRef &text) {
  Swizzle swizzle;
  llvm::StringRef whole = text;
  auto consumeInteger = [&](int64_t &value) {
    text = text.ltrim();
    return !text.consumeInteger(10, value);
  };
  auto consume = [&](llvm::StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  };
  if (!consume("Sw") || !consume("<") || !consumeInteger(swizzle.bits) ||
      !consume(",") || !consumeInteger(swizzle.base) || !consume(",") ||
      !consumeInteger(swizzle.shift) || !consume(">"))
    return makeLayoutError("expected a swizzle Sw<bits,base,shift>, found '",
                           whole.str(), "'");
  if (Error error = checkSwizzle(swizzle))
    return std::move(error);
  return swizzle;
}

std::string tilews::toString(Swizzle swizzle) {
  return "Sw<" + std::to_string(swizzle.bits) + "," +
         std::to_string(swizzle.base) + "," + std::to_string(swizzle.shift) +
         ">";
}

Expected<Swizzle> tilews::recast(Swizzle swizzle, int64_t fromBits,
                                 int64_t toBits) {
  if (fromBits < 1 || toBits < 1)
    return makeLayoutError("expected positive widths, found ", fromBits,
                           " and ", toBits);
  if (swizzle.isIdentity() || fromBits == toBits)
    return swizzle;
  int64_t larger = std::max(fromBits, toBits);
  int64_t smaller = std::min(fromBits, toBits);
  if (larger % smaller != 0 || !llvm::isPowerOf2_64(larger / smaller))
    return makeLayoutError(toString(swizzle), " in units of ", fromBits,
                           " bits is no swizzle in units of ", toBits,
                           " bits: their ratio is not a power of two");
  Swizzle result = swizzle;
  int64_t places = llvm::Log2_64(larger / smaller);
  result.base += toBits > fromBits ? -places : places;
  if (result.base < 0)
    return makeLayoutError(toString(swizzle), " in units of ", fromBits,
                           " bits moves parts of units of ", toBits, " bits");
  if (Error error = checkSwizzle(result))
    return std::move(error);
  return result;
}

//===----------------------------------------------------------------------===//
// SwizzledLayout
//===----------------------------------------------------------------------===//

Expected<SwizzledLayout> SwizzledLayout::get(Swizzle swizzle, int64_t offset,
                                             Layout layout) {
  if (Error error = checkSwizzle(swizzle))
    return std::move(error);
  if (offset < 0 || offset > Layout::maxSize)
    return makeLayoutError("expected an offset from 0 to 2^40, found ", offset);
  return SwizzledLayout{swizzle, offset, std::move(layout)};
}

Expected<SwizzledLayout> SwizzledLayout::parse(llvm::StringRef text) {
  text = text.trim();
  Swizzle swizzle;
  int64_t offset = 0;
  if (text.starts_with("Sw")) {
    Expected<Swizzle> parsed = parseSwizzleFront(text);
    if (!parsed)
      return parsed.takeError();
    swizzle = *parsed;
    text = text.ltrim();
    if (!text.consume_front("o "))
      return makeLayoutError("expected ' o ' and a layout after a swizzle, "
                             "found '",
                             text.str(), "'");
  }
  auto [number, rest] = text.split(" o ");
  if (!rest.empty()) {
    if (number.trim().getAsInteger(10, offset))
      return makeLayoutError("expected an integer before ' o ', found '",
                             number.trim().str(), "'");
    text = rest;
  }
  Expected<Layout> layout = Layout::parse(text);
  if (!layout)
    return layout.takeError();
  return get(swizzle, offset, std::move(*layout));
}

int64_t SwizzledLayout::getCosize() const {
  int64_t reach = offset + layout.getCosize();
  return swizzle.isIdentity() ? reach
                              : llvm::alignTo(reach, swizzle.getAtomBytes());
}

std::optional<int64_t> SwizzledLayout::findSwizzled() const {
  if (swizzle.isIdentity())
    return std::nullopt;
  // Only the offset's low bits matter, and each of their values once.
  int64_t atom = swizzle.getAtomBytes();
  std::vector<int64_t> indices(atom, -1); // that have this value
  std::vector<int64_t> reached = {offset % atom};
  indices[reached[0]] = 0;
  int64_t weight = 1;
  for (Axis axis : layout.getAxes()) {
    std::vector<int64_t> frontier = reached;
    for (int64_t i = 1; i < axis.extent && !frontier.empty(); ++i) {
      std::vector<int64_t> next;
      for (int64_t from : frontier) {
        int64_t to = (from + axis.stride) % atom;
        if (indices[to] != -1)
          continue;
        indices[to] = indices[from] + weight;
        next.push_back(to);
      }
      llvm::append_range(reached, next);
      frontier = std::move(next);
    }
    weight *= axis.extent;
  }
  for (int64_t place : reached)
    if (swizzle(place) != place)
      return indices[place];
  return std::nullopt;
}

std::string SwizzledLayout::str() const {
  std::string text = swizzle.isIdentity() ? "" : toString(swizzle) + " o ";
  if (offset != 0)
    text += std::to_string(offset) + " o ";
  return text + layout.str();
}

Expected<SwizzledLayout> tilews::recast(const SwizzledLayout &layout,
                                        int64_t fromBits, int64_t toBits) {
  Expected<Swizzle> swizzle = recast(layout.swizzle, fromBits, toBits);
  if (!swizzle)
    return swizzle.takeError();
  Expected<Layout> plain = recast(layout.layout, fromBits, toBits);
  if (!plain)
    return plain.takeError();
  int64_t bits = multiply(layout.offset, fromBits);
  if (bits % toBits != 0)
    return makeLayoutError("offset ", layout.offset, " in units of ", fromBits,
                           " bits is inside a unit of ", toBits, " bits");
  return SwizzledLayout::get(*swizzle, bits / toBits, *plain);
}

Expected<SwizzledLayout> tilews::slice(const SwizzledLayout &layout,
                                       const IntTuple &coord) {
  Expected<Slice> result = slice(layout.layout, coord);
  if (!result)
    return result.takeError();
  return SwizzledLayout::get(layout.swizzle, layout.offset + result->offset,
                             result->layout);
}

Expected<SwizzledLayout> tilews::expand(const SwizzledLayout &layout,
                                        int64_t count, int64_t alignment) {
  if (alignment < 1 || alignment > Layout::maxSize)
    return makeLayoutError("expected a positive alignment, found ", alignment);
  // The offset shifts a slot's elements towards the next one.
  if (layout.offset != 0)
    return makeLayoutError("cannot expand ", layout.str(),
                           ": versions of a part would overlap the whole");
  Expected<Layout> versions = expand(
      layout.layout, count, std::lcm(alignment, layout.swizzle.getAtomBytes()));
  if (!versions)
    return versions.takeError();
  return SwizzledLayout::get(layout.swizzle, 0, *versions);
}

//===----------------------------------------------------------------------===//
// Shared buffers
//===----------------------------------------------------------------------===//

Expected<Layout> tilews::getDimLayout(const SharedLayout &layout, int64_t dim) {
  return Layout::getFlat(
      llvm::map_to_vector(layout.getModes(dim), [](const Mode &mode) {
        return Axis{mode.extent, mode.stride};
      }));
}

Expected<SwizzledLayout> tilews::getSwizzledLayout(const SharedLayout &layout,
                                                   int64_t elementBits) {
  Expected<Swizzle> swizzle = recast(layout.getSwizzle(), 8, elementBits);
  if (!swizzle)
    return swizzle.takeError();
  SmallVector<Layout> dims;
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    Expected<Layout> group = getDimLayout(layout, dim);
    if (!group)
      return group.takeError();
    dims.push_back(std::move(*group));
  }
  if (dims.empty())
    dims.push_back(Layout());
  Expected<Layout> joined = Layout::join(dims);
  if (!joined)
    return joined.takeError();
  return SwizzledLayout::get(*swizzle, 0, *joined);
}

Expected<SharedLayout> tilews::getSharedLayout(const SwizzledLayout &layout,
                                               int64_t elementBits) {
  if (layout.offset != 0)
    return makeLayoutError("the layout ", layout.str(),
                           " of a whole buffer cannot begin at an offset");
  Expected<Swizzle> swizzle = recast(layout.swizzle, elementBits, 8);
  if (!swizzle)
    return swizzle.takeError();
  SmallVector<Mode> modes;
  for (auto [dim, group] : llvm::enumerate(layout.layout.getModes()))
    for (Axis axis : group.getAxes())
      modes.push_back({axis.extent, axis.stride, int64_t(dim)});
  return SharedLayout(modes, *swizzle);
}

Expected<std::optional<SharedCollision>>
tilews::findCollision(const SharedLayout &layout) {
  // The swizzle moves all bytes, and none to the place of another one.
  Expected<SwizzledLayout> plain =
      getSwizzledLayout(SharedLayout(layout.getModes()), 8);
  if (!plain)
    return plain.takeError();
  Expected<std::optional<Collision>> found = findCollision(plain->layout);
  if (!found)
    return found.takeError();
  if (!*found)
    return std::nullopt;
  // The digits of each dimension make up its coordinate.
  auto toCoords = [&](const IntTuple &digits) {
    SmallVector<int64_t> leaves = digits.flatten();
    SmallVector<int64_t> coords(layout.getRank(), 0), weights(coords.size(), 1);
    for (auto [mode, digit] : llvm::zip(layout.getModes(), leaves)) {
      coords[mode.dim] += digit * weights[mode.dim];
      weights[mode.dim] *= mode.extent;
    }
    return coords;
  };
  return SharedCollision{toCoords((*found)->first), toCoords((*found)->second),
                         (*found)->offset};
}

/// Where TMA can copy to.
static constexpr int64_t slotBits = 128 * 8;

Expected<SharedLayout> tilews::expand(const SharedLayout &layout, int64_t count,
                                      int64_t elementBits) {
  Expected<SwizzledLayout> slot = getSwizzledLayout(layout, elementBits);
  if (!slot)
    return slot.takeError();
  Expected<SwizzledLayout> versions =
      expand(*slot, count, slotBits / std::gcd(slotBits, elementBits));
  if (!versions)
    return versions.takeError();
  // A buffer of one element has no modes, its algebraic form has one.
  if (layout.getRank() == 0)
    return SharedLayout({{count, versions->layout.getAxes().front().stride, 0}},
                        layout.getSwizzle());
  return getSharedLayout(*versions, elementBits);
}

Expected<SharedLayout> tilews::getSlotLayout(const SharedLayout &layout,
                                             int64_t elementBits) {
  int64_t atom = layout.getSwizzle().getAtomBytes();
  SmallVector<Mode> modes;
  for (const Mode &mode : layout.getModes()) {
    int64_t bits = mode.stride * elementBits;
    if (mode.dim > 0)
      modes.push_back({mode.extent, mode.stride, mode.dim - 1});
    else if (mode.extent > 1 && bits % (atom * 8) != 0)
      return makeLayoutError("slots of ", bits / 8,
                             " bytes are no multiple of the swizzle's atom of ",
                             atom, " bytes");
  }
  return SharedLayout(modes, layout.getSwizzle());
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

static Error checkBox(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape) {
    if (extent < 1)
      return makeLayoutError("extents have to be positive, found ", extent);
    size = multiply(size, extent);
  }
  if (size > Layout::maxSize)
    return makeLayoutError("the fragment has more than 2^40 elements");
  return Error::success();
}

Expected<Layout> tilews::getThreadValueLayout(const FragmentLayout &layout,
                                              ArrayRef<int64_t> shape) {
  if (Error error = checkBox(shape))
    return std::move(error);
  SmallVector<int64_t> weights(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    weights[dim - 1] = weights[dim] * shape[dim];
  SmallVector<Layout> halves;
  SmallVector<int64_t> last(shape.size(), 0);
  for (ArrayRef<Mode> modes :
       {layout.getThreadModes(), layout.getValueModes()}) {
    SmallVector<Axis> axes;
    for (const Mode &mode : modes) {
      int64_t weight = 0;
      if (mode.stride != 0) {
        if (mode.dim >= int64_t(shape.size()))
          return makeLayoutError("the fragment layout has a mode along "
                                 "dimension ",
                                 mode.dim, ", the shape only ", shape.size(),
                                 " extents");
        weight = weights[mode.dim];
        last[mode.dim] += multiply(mode.extent - 1, mode.stride);
      }
      axes.push_back({mode.extent, multiply(mode.stride, weight)});
    }
    Expected<Layout> half = Layout::getFlat(axes);
    if (!half)
      return half.takeError();
    halves.push_back(std::move(*half));
  }
  for (auto [dim, coord] : llvm::enumerate(last))
    if (coord >= shape[dim])
      return makeLayoutError("the fragment layout reaches coordinate ", coord,
                             " along dimension ", dim, " of extent ",
                             shape[dim]);
  return Layout::join(halves);
}

/// Adds a leaf of a thread-value layout as modes along single dimensions.
static Error addModes(Axis axis, ArrayRef<int64_t> radices,
                      SmallVector<Mode> &modes) {
  if (axis.stride == 0 || axis.extent == 1) {
    modes.push_back({axis.extent, 0, 0});
    return Error::success();
  }
  std::optional<SmallVector<DigitStep>> steps = splitSteps(axis, radices);
  if (!steps)
    return makeLayoutError(axis.extent, ":", axis.stride,
                           " does not divide into rows of the fragment");
  for (const DigitStep &step : *steps) {
    if (llvm::count_if(step.digits, [](int64_t d) { return d != 0; }) != 1)
      return makeLayoutError(axis.extent, ":", axis.stride,
                             " moves along two dimensions at once");
    const int64_t *digit =
        llvm::find_if(step.digits, [](int64_t d) { return d != 0; });
    int64_t dim = step.digits.end() - digit - 1;
    modes.push_back({step.count, *digit, dim});
  }
  return Error::success();
}

Expected<FragmentLayout> tilews::getFragmentLayout(const Layout &layout,
                                                   ArrayRef<int64_t> shape) {
  if (Error error = checkBox(shape))
    return std::move(error);
  if (layout.getShape().isLeaf() || layout.getRank() != 2)
    return makeLayoutError("expected the modes (thread, value), found ",
                           layout.str());
  // The last dimension is the fastest digit of an element's number.
  SmallVector<int64_t> radices(llvm::reverse(shape));
  if (radices.empty())
    radices.push_back(1);
  SmallVector<Mode> halves[2];
  for (size_t half = 0; half < 2; ++half)
    for (Axis axis : layout.getMode(half).getAxes())
      if (Error error = addModes(axis, radices, halves[half]))
        return std::move(error);
  FragmentLayout result = FragmentLayout(halves[0], halves[1]).coalesce();
  // Sums of digits must stay inside the shape too.
  if (shape.empty()
          ? layout.getCosize() != 1
          : llvm::any_of(llvm::zip(result.getCover(shape.size()), shape),
                         [](auto pair) {
                           return std::get<0>(pair) > std::get<1>(pair);
                         }))
    return makeLayoutError("the layout ", layout.str(),
                           " leaves a row of the fragment's shape");
  return result;
}
