//===- PartLayout.cpp - Layouts of parts of a buffer ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinates in a part are the lowest digits of those in the buffer. The
// remaining digits say which part it is, and add the same to the offsets of all
// its elements:
//
//   part 64x32 of (64, (32, 4)):(32, (1, 2048)) with Sw<2,4,3>
//     -> (64, 32):(32, 1) with Sw<2,4,3>, parts 2048 elements apart
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/PartLayout.h"
#include "tilews/Layout/Algebra.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace llvm;
using namespace tilews;

Expected<SharedLayout> tilews::getPartLayout(const SharedLayout &layout,
                                             ArrayRef<int64_t> sizes,
                                             int64_t elementBits) {
  int64_t atom = layout.getSwizzle().getAtomBytes() * 8;
  SmallVector<Mode> modes;
  int64_t kept = 0;
  for (auto [dim, size] : enumerate(sizes)) {
    int64_t rest = size;
    for (const Mode &mode : layout.getModes(dim)) {
      int64_t inside = std::gcd(rest, mode.extent);
      if (inside != rest && inside != mode.extent)
        return makeLayoutError("a part of ", size, " elements along dimension ",
                               dim, " cuts a mode of ", mode.extent);
      rest /= inside;
      if (inside > 1)
        modes.push_back({inside, mode.stride, kept});
      if (inside < mode.extent && mode.stride * inside * elementBits % atom)
        return makeLayoutError("parts along dimension ", dim, " lie ",
                               mode.stride * inside * elementBits / 8,
                               " bytes apart, which is no multiple of the "
                               "swizzle's atom of ",
                               atom / 8, " bytes");
    }
    if (rest != 1)
      return makeLayoutError("a part of ", size,
                             " elements does not fit dimension ", dim);
    kept += size != 1;
  }
  return SharedLayout(modes, layout.getSwizzle());
}

Expected<SharedLayout> tilews::repeatPart(const SharedLayout &part,
                                          ArrayRef<int64_t> shape,
                                          ArrayRef<int64_t> sizes,
                                          int64_t elementBits) {
  constexpr int64_t alignment = 128 * 8;
  int64_t unit =
      std::lcm(std::max(part.getSwizzle().getAtomBytes() * 8, alignment),
               elementBits) /
      elementBits;
  int64_t stride = alignTo(part.getCosize(elementBits), unit);
  // Parts follow each other like panels: along the rows first, then the
  // columns, then the leading dimensions.
  SmallVector<int64_t> order;
  int64_t rank = shape.size();
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    order.push_back(dim);
  if (rank > 1)
    std::swap(order[0], order[1]);
  SmallVector<Mode> parts(rank);
  for (int64_t dim : order) {
    if (shape[dim] % sizes[dim] != 0)
      return makeLayoutError("parts of ", sizes[dim],
                             " elements do not divide the extent ", shape[dim]);
    int64_t count = shape[dim] / sizes[dim];
    parts[dim] = {count, stride, dim};
    if (MulOverflow(stride, count, stride) || stride > INT32_MAX)
      return makeLayoutError("the buffer is too large");
  }
  SmallVector<Mode> modes;
  int64_t kept = 0;
  for (auto [dim, size] : enumerate(sizes)) {
    size_t first = modes.size();
    if (size != 1)
      for (const Mode &mode : part.getModes(kept++))
        modes.push_back({mode.extent, mode.stride, int64_t(dim)});
    const Mode &next = parts[dim];
    bool continues = modes.size() > first &&
                     modes.back().extent * modes.back().stride == next.stride;
    if (continues)
      modes.back().extent *= next.extent;
    else if (size == 1 || next.extent > 1)
      modes.push_back(next);
  }
  return SharedLayout(modes, part.getSwizzle());
}
