//===- FragmentAccess.cpp - How fragments meet memory ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/FragmentAccess.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

int64_t tile::getVectorRun(const FragmentLayout &layout, int64_t dim,
                           int64_t limit) {
  int64_t run = std::gcd(layout.getContiguity(dim), limit);
  // Every run has to start at a multiple of its length.
  for (const Mode &mode : layout.getThreadModes())
    if (mode.dim == dim && mode.extent > 1)
      run = std::gcd(run, mode.stride);
  for (const Mode &mode : layout.getValueModes())
    if (mode.dim == dim && mode.stride >= run)
      run = std::gcd(run, mode.stride);
  return run;
}

std::optional<FragmentAccess> FragmentAccess::get(Operation *op,
                                                  Divisibility &divisibility) {
  FragmentAccess access;
  access.op = op;
  if (auto load = dyn_cast<LoadOp>(op)) {
    access.fragment = load.getResult();
    access.sizes = load.getSizesAttr();
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    access.fragment = store.getValue();
    access.sizes = store.getSizesAttr();
  } else if (auto atomic = dyn_cast<AtomicRMWOp>(op)) {
    access.fragment = atomic.getValue();
    access.sizes = atomic.getSizesAttr();
  } else {
    return std::nullopt;
  }
  SmallVector<AccessRegion> regions;
  cast<AccessOpInterface>(op).getAccessRegions(regions);
  const TileRegion &region = regions.front().region;
  access.buffer = regions.front().buffer->get();
  access.maxVector = divisibility.getVectorElements(access.buffer, region);
  // The dimensions that are not one agree in order.
  ArrayRef<int64_t> shape = access.getFragmentType().getShape();
  size_t next = 0;
  for (auto [size, offset] : llvm::zip(region.sizes, region.offsets)) {
    while (next < shape.size() && shape[next] == 1)
      ++next;
    access.dims.push_back(size == 1 ? -1 : int64_t(next++));
    access.offsets.push_back(getConstantIntValue(offset).value_or(0));
  }
  return access;
}

RankedTensorType FragmentAccess::getFragmentType() const {
  return cast<RankedTensorType>(fragment.getType());
}

bool FragmentAccess::isStore() const { return !isa<LoadOp>(op); }

int64_t FragmentAccess::getBits() const {
  return getStorageBits(getElementType(buffer));
}

int64_t FragmentAccess::getVectorElements(const FragmentLayout &layout,
                                          const SharedLayout *shared) const {
  if (isa<AtomicRMWOp>(op) || dims.empty() || dims.back() < 0)
    return 1;
  int64_t limit = std::gcd(maxVector, std::max<int64_t>(128 / getBits(), 1));
  int64_t run = getVectorRun(layout, dims.back(), limit);
  return shared ? std::gcd(run, shared->getContiguity(getBits())) : run;
}

void FragmentAccess::forEachLane(
    const FragmentLayout &layout, int64_t value, int64_t warpSize,
    function_ref<void(ArrayRef<int64_t>)> visit) const {
  ArrayRef<int64_t> shape = getFragmentType().getShape();
  int64_t lanes = std::min(warpSize, layout.getNumThreads());
  SmallVector<int64_t> place(dims.size());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<int64_t> coords = layout.getCoords(lane, value, shape.size());
    // Registers beyond the fragment are not accessed.
    if (llvm::any_of(llvm::zip(coords, shape), [](auto pair) {
          return std::get<0>(pair) >= std::get<1>(pair);
        }))
      continue;
    for (auto [i, dim] : llvm::enumerate(dims))
      place[i] = dim < 0 ? 0 : coords[dim];
    visit(place);
  }
}

SmallVector<int64_t>
FragmentAccess::getGlobalOffsets(const FragmentLayout &layout, int64_t value,
                                 int64_t warpSize) const {
  constexpr int64_t kLongStride = int64_t(1) << 24;
  SmallVector<int64_t> strides =
      cast<MemRefType>(buffer.getType()).getStridesAndOffset().first;
  SmallVector<int64_t> result;
  forEachLane(layout, value, warpSize, [&](ArrayRef<int64_t> coords) {
    int64_t offset = 0;
    for (auto [dim, coord] : llvm::enumerate(coords)) {
      int64_t stride = ShapedType::isDynamic(strides[dim])
                           ? kLongStride << (8 * (coords.size() - 1 - dim) % 32)
                           : strides[dim];
      offset += coord * stride;
    }
    result.push_back(offset * getBits() / 8);
  });
  return result;
}

BankConflicts FragmentAccess::getBankConflicts(const FragmentLayout &layout,
                                               const SharedLayout &shared,
                                               int64_t warpSize) const {
  int64_t vector = getVectorElements(layout, &shared);
  int64_t bytes = vector * getBits() / 8;
  ArrayRef<int64_t> extents = cast<MemRefType>(buffer.getType()).getShape();
  SmallVector<int64_t> lanes;
  forEachLane(layout, 0, warpSize, [&](ArrayRef<int64_t> coords) {
    SmallVector<int64_t> place;
    for (auto [coord, offset, extent] : llvm::zip(coords, offsets, extents)) {
      place.push_back(coord + offset);
      if (place.back() < 0 || place.back() >= extent)
        return;
    }
    lanes.push_back(shared.getOffset(place, getBits()) * getBits() / 8);
  });
  llvm::Expected<BankConflicts> conflicts =
      tilews::getBankConflicts(lanes, bytes);
  if (conflicts)
    return *conflicts;
  llvm::consumeError(conflicts.takeError());
  return {};
}
