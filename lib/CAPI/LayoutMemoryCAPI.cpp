//===- LayoutMemoryCAPI.cpp - C interface of derived accesses -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How TMA and wgmma access a layout, in C. The boxes of TMA are a list of
// varying length, so they are a handle with functions that read its parts. A
// descriptor of wgmma is a struct; the two layouts in it, which say where the
// instructions start, belong to the caller. Failures send their message to the
// report.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/LayoutMemory.h"

#include "tilews/Layout/SwizzledLayout.h"
#include "tilews/Layout/Tma.h"
#include "tilews/Layout/WgmmaDescriptor.h"

#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"

using namespace tilews;
using llvm::Expected;
using llvm::SmallVector;

DEFINE_C_API_PTR_METHODS(TilewsTmaBoxes, TmaBoxes)

static const SharedLayout &take(TilewsSharedLayout layout) {
  return *static_cast<const SharedLayout *>(layout.ptr);
}

static TilewsLayout give(Layout layout) {
  return {new SwizzledLayout{{}, 0, std::move(layout)}};
}

static void fail(llvm::Error error, TilewsReport report) {
  std::string message = llvm::toString(std::move(error));
  report.callback(wrap(llvm::StringRef(message)), report.userData);
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

TilewsTmaBoxes tilewsGetTmaBoxes(TilewsTmaRegion region, TilewsReport report) {
  auto toVector = [&](const int64_t *numbers) {
    return numbers ? SmallVector<int64_t>(numbers, numbers + region.rank)
                   : SmallVector<int64_t>();
  };
  Expected<TmaBoxes> boxes = getTmaBoxes(
      {take(region.layout), region.elementBits, toVector(region.offsets),
       toVector(region.sizes), toVector(region.globalDims), region.globalRank,
       region.innerDim});
  if (boxes)
    return wrap(new TmaBoxes(std::move(*boxes)));
  fail(boxes.takeError(), report);
  return {nullptr};
}

void tilewsTmaBoxesDestroy(TilewsTmaBoxes boxes) { delete unwrap(boxes); }

intptr_t tilewsTmaBoxesGetRank(TilewsTmaBoxes boxes) {
  return unwrap(boxes)->dims.size();
}

void tilewsTmaBoxesGetDim(TilewsTmaBoxes boxes, intptr_t i, int64_t *dim,
                          int64_t *extent) {
  *dim = unwrap(boxes)->dims[i];
  *extent = unwrap(boxes)->extents[i];
}

int64_t tilewsTmaBoxesGetSwizzle(TilewsTmaBoxes boxes) {
  return unwrap(boxes)->swizzleBytes;
}

intptr_t tilewsTmaBoxesGetNumInstructions(TilewsTmaBoxes boxes) {
  return unwrap(boxes)->instructions.size();
}

int64_t tilewsTmaBoxesGetInstruction(TilewsTmaBoxes boxes, intptr_t i,
                                     int64_t *coords) {
  const TmaInstruction &instruction = unwrap(boxes)->instructions[i];
  llvm::copy(instruction.coords, coords);
  return instruction.sharedBytes;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

TilewsWgmmaDescriptor tilewsGetWgmmaDescriptor(TilewsSharedLayout layout,
                                               int64_t elementBits,
                                               int64_t kDim, int64_t extent,
                                               int64_t k, TilewsReport report) {
  Expected<WgmmaDescriptor> found =
      getWgmmaDescriptor({take(layout), elementBits, kDim, extent, k});
  if (!found) {
    fail(found.takeError(), report);
    return {};
  }
  return {found->majorK,       found->swizzleBytes, found->leadingBytes,
          found->strideBytes,  found->getBits(),    give(found->starts),
          give(found->kStarts)};
}
