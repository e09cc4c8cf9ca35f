//===- Tma.cpp - Boxes of the tensor memory accelerator -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the TMA instructions for a region of a shared buffer. The layout of the
// region is cut into steps, digits that move by a fixed distance in shared and
// in global memory, and sorted by the shared distance. The box starts with the
// innermost step, which must be contiguous in both memories, and takes each
// further step that continues it without a gap. Steps that do not fit are
// repeats, one instruction for each combination:
//
//   64 x 128 f16 in two panels of 64 columns: steps 64 columns (shared 1),
//   64 rows (shared 64), 2 panels (shared 4096)
//     box 64 x 64, two instructions
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Tma.h"

#include "tilews/Layout/SwizzledLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

// Limits of a tensor map and of the instruction.
static constexpr int64_t maxRank = 5;
static constexpr int64_t maxExtent = 256;
static constexpr int64_t chunkBytes = 16;
static constexpr int64_t alignment = 128;
/// A copy that needs more instructions is better done by threads.
static constexpr int64_t maxInstructions = 64;

/// The rows that a swizzle's atom has.
static constexpr int64_t atomRows = 8;

int64_t TmaBoxes::getBoxBytes(int64_t elementBits) const {
  return llvm::product_of(extents, elementBits) / 8;
}

static TmaInstruction getStep(const TmaInstruction &from,
                              const TmaInstruction &to) {
  TmaInstruction step = to;
  step.sharedBytes -= from.sharedBytes;
  for (auto [coord, start] : llvm::zip_equal(step.coords, from.coords))
    coord -= start;
  return step;
}

/// Returns whether each instruction after the first `count` is `step` away from
/// the one `count` before it.
static bool areSteps(ArrayRef<TmaInstruction> instructions, size_t count,
                     const TmaInstruction &step) {
  for (size_t i = count; i < instructions.size(); ++i) {
    TmaInstruction found = getStep(instructions[i - count], instructions[i]);
    if (found.sharedBytes != step.sharedBytes || found.coords != step.coords)
      return false;
  }
  return true;
}

Error TmaBoxes::shareOut(int64_t shares, int64_t elementBits) {
  if (shares == 1)
    return Error::success();
  if (instructions.size() % shares == 0) {
    size_t count = instructions.size() / shares;
    TmaInstruction step = getStep(instructions[0], instructions[count]);
    if (areSteps(instructions, count, step)) {
      nextShare = std::move(step);
      instructions.truncate(count);
      return Error::success();
    }
  }
  size_t outer = extents.size() - 1;
  while (outer > 0 && extents[outer] == 1)
    --outer;
  int64_t bytes = getBoxBytes(elementBits);
  int64_t unit = std::max(alignment, atomRows * swizzleBytes);
  if (extents[outer] % shares != 0 || bytes % (shares * unit) != 0)
    return makeLayoutError("boxes of ", bytes, " bytes with ", extents[outer],
                           " rows cannot be cut into ", shares,
                           " shares of multiples of ", unit, " bytes");
  extents[outer] /= shares;
  nextShare = {bytes / shares, SmallVector<int64_t>(dims.size(), 0)};
  nextShare.coords[dims[outer]] = extents[outer];
  return Error::success();
}

namespace {
/// Elements of the region that follow each other along a global dimension.
struct RegionStep {
  int64_t extent;
  int64_t shared; // distance in shared memory, in elements
  int64_t dim;    // the global dimension
  int64_t global; // distance along it
};

bool isCloser(const RegionStep &a, const RegionStep &b) {
  return std::tuple(a.shared, a.dim, a.global) <
         std::tuple(b.shared, b.dim, b.global);
}

/// Finds the boxes of a region.
class BoxFinder {
public:
  explicit BoxFinder(const TmaRegion &region)
      : region(region), bytes(region.elementBits / 8) {}

  Expected<TmaBoxes> find() {
    if (Error error = check())
      return std::move(error);
    if (Error error = findSteps())
      return std::move(error);
    if (Error error = startBox())
      return std::move(error);
    growBox();
    if (Error error = checkRepeats())
      return std::move(error);
    return finish();
  }

private:
  Error check() const;
  Error findSteps();
  Error addSteps(int64_t dim, int64_t offset, int64_t size);
  Error startBox();
  void growBox();
  Error checkRepeats() const;
  TmaBoxes finish();

  const TmaRegion &region;
  int64_t bytes;
  SmallVector<RegionStep> steps, repeats;
  int64_t start = 0; // of the region, in elements
  int64_t dense = 1; // elements of the box
  TmaBoxes boxes;
};
} // namespace

Error BoxFinder::check() const {
  int64_t rank = region.layout.getRank();
  if (!llvm::is_contained({8, 16, 32, 64}, region.elementBits))
    return makeLayoutError("TMA moves elements of 8, 16, 32 or 64 bits, found ",
                           region.elementBits);
  if (region.globalRank < 1 || region.globalRank > maxRank)
    return makeLayoutError("a tensor map has 1 to 5 dimensions, the global "
                           "buffer has ",
                           region.globalRank);
  if (int64_t(region.globalDims.size()) != rank ||
      region.sizes.size() != region.offsets.size() ||
      (!region.sizes.empty() && int64_t(region.sizes.size()) != rank))
    return makeLayoutError("expected one global dimension, and one offset and "
                           "size or none, for each of ",
                           rank, " shared dimensions");
  if (region.innerDim < 0 || region.innerDim >= region.globalRank)
    return makeLayoutError("there is no global dimension ", region.innerDim);
  Swizzle swizzle = region.layout.getSwizzle();
  if (!swizzle.isIdentity() &&
      (swizzle.bits > 3 || swizzle.base != 4 || swizzle.shift != 3))
    return makeLayoutError("TMA has no swizzle ", toString(swizzle),
                           ", only Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>");
  return Error::success();
}

/// Splits the region along one shared dimension into digits of the layout.
Error BoxFinder::addSteps(int64_t dim, int64_t offset, int64_t size) {
  int64_t globalDim = region.globalDims[dim];
  if (size > 1 && (globalDim < 0 || globalDim >= region.globalRank))
    return makeLayoutError("shared dimension ", dim, " with extent ", size,
                           " has no global dimension");
  Expected<Layout> whole = getDimLayout(region.layout, dim);
  if (!whole)
    return whole.takeError();
  if (offset < 0 || size < 1 || offset + size > whole->getSize())
    return makeLayoutError("elements ", offset, " to ", offset + size - 1,
                           " of shared dimension ", dim,
                           " are outside of its extent ", whole->getSize());
  int64_t global = 1;
  for (Axis axis : coalesce(*whole).getAxes()) {
    int64_t digit = offset % axis.extent;
    bool isWhole = digit == 0 && size % axis.extent == 0;
    int64_t count = isWhole ? axis.extent : size;
    if (digit + count > axis.extent)
      return makeLayoutError("the region cuts through the runs of ",
                             axis.extent, " elements along shared dimension ",
                             dim);
    start += digit * axis.stride;
    if (count > 1)
      steps.push_back({count, axis.stride, globalDim, global});
    offset /= axis.extent;
    size /= count;
    global *= axis.extent;
  }
  return Error::success();
}

/// Lists the digits of the region by their distance in shared memory.
Error BoxFinder::findSteps() {
  SmallVector<int64_t> offsets = region.offsets, sizes = region.sizes;
  if (sizes.empty()) {
    sizes = region.layout.getShape();
    offsets.assign(sizes.size(), 0);
  }
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (Error error = addSteps(dim, offsets[dim], size))
      return error;
  llvm::sort(steps, isCloser);
  if (start * bytes % alignment != 0)
    return makeLayoutError("the region begins ", start * bytes,
                           " bytes into the buffer, not at a multiple of ",
                           alignment);
  return Error::success();
}

/// Returns the largest divisor of `extent`, and multiple of `unit`, that a box
/// can have.
static int64_t getBoxExtent(int64_t extent, int64_t unit) {
  for (int64_t part = std::min(extent, maxExtent); part > unit; --part)
    if (extent % part == 0 && part % unit == 0)
      return part;
  return unit;
}

/// Makes the innermost dimension of the box.
Error BoxFinder::startBox() {
  if (steps.empty() || steps.front().shared != 1)
    return makeLayoutError("no elements of the region lie side by side in "
                           "shared memory");
  RegionStep inner = steps.front();
  if (inner.dim != region.innerDim || inner.global != 1)
    return makeLayoutError("neighbours in shared memory are ", inner.global,
                           " apart along global dimension ", inner.dim,
                           ", they have to be neighbours along dimension ",
                           region.innerDim);
  int64_t bits = region.layout.getSwizzle().bits;
  boxes.swizzleBytes = bits ? chunkBytes << bits : 0;
  int64_t unitBytes = bits ? boxes.swizzleBytes : chunkBytes;
  int64_t runBytes = inner.extent * bytes;
  if (runBytes % unitBytes != 0)
    return makeLayoutError("runs of ", runBytes,
                           " bytes in shared memory are no multiple of ",
                           bits ? "the swizzle's " : "", unitBytes, " bytes");
  int64_t unit = unitBytes / bytes;
  int64_t extent = bits ? unit : getBoxExtent(inner.extent, unit);
  boxes.dims = {inner.dim};
  boxes.extents = {extent};
  dense = extent;
  steps.erase(steps.begin());
  if (extent < inner.extent)
    steps.push_back({inner.extent / extent, extent, inner.dim, extent});
  llvm::sort(steps, isCloser);
  return Error::success();
}

/// Adds the steps that continue the box without a gap. The others are repeats.
void BoxFinder::growBox() {
  for (RegionStep step : steps) {
    if (step.shared != dense || step.global != 1 ||
        llvm::is_contained(boxes.dims, step.dim)) {
      repeats.push_back(step);
      continue;
    }
    int64_t extent = getBoxExtent(step.extent, 1);
    boxes.dims.push_back(step.dim);
    boxes.extents.push_back(extent);
    dense *= extent;
    if (extent < step.extent)
      repeats.push_back(
          {step.extent / extent, step.shared * extent, step.dim, extent});
  }
}

Error BoxFinder::checkRepeats() const {
  int64_t count = 1;
  for (const RegionStep &step : repeats) {
    if (step.shared * bytes % alignment != 0)
      return makeLayoutError(
          "boxes of ", dense * bytes, " bytes without gaps lie ",
          step.shared * bytes,
          " bytes apart in shared memory, not a multiple of ", alignment,
          step.shared > dense ? "; the layout is padded" : "");
    count = multiply(count, step.extent);
  }
  if (count > maxInstructions)
    return makeLayoutError("the region falls into ", count, " boxes of ",
                           dense * bytes, " bytes without gaps, more than ",
                           maxInstructions);
  return Error::success();
}

/// Lists the instructions and the dimensions along which a box is one element.
TmaBoxes BoxFinder::finish() {
  for (int64_t dim = region.globalRank - 1; dim >= 0; --dim) {
    if (llvm::is_contained(boxes.dims, dim))
      continue;
    boxes.dims.push_back(dim);
    boxes.extents.push_back(1);
  }
  boxes.instructions.push_back(
      {start * bytes, SmallVector<int64_t>(region.globalRank, 0)});
  for (const RegionStep &step : repeats) {
    size_t known = boxes.instructions.size();
    for (int64_t i = 1; i < step.extent; ++i)
      for (size_t j = 0; j < known; ++j) {
        TmaInstruction next = boxes.instructions[j];
        next.sharedBytes += i * step.shared * bytes;
        next.coords[step.dim] += i * step.global;
        boxes.instructions.push_back(std::move(next));
      }
  }
  return std::move(boxes);
}

Expected<TmaBoxes> tilews::getTmaBoxes(const TmaRegion &region) {
  return BoxFinder(region).find();
}
