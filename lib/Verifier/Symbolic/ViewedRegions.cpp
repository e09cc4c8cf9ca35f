//===- ViewedRegions.cpp - Accesses through parts of buffers --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part has its elements at the places that they have in its source, without
// the dimensions of size one. So a region of it becomes one of the source by
// adding the offsets of the part: one of the two is a constant in each
// dimension, as only parts of size one have offsets that are values. Parts of
// parts are followed one by one.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/ViewedRegions.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

SmallVector<Value> ViewedRegion::getValues() const {
  SmallVector<Value> values;
  for (OpFoldResult offset : offsets)
    if (auto value = dyn_cast<Value>(offset))
      values.push_back(value);
  return values;
}

/// Makes a region of a part one of the memory that the part is taken from.
static void moveToSource(ViewedRegion &region, SubviewOp part) {
  Builder builder(part.getContext());
  SmallVector<OpFoldResult> offsets =
      getMixedValues(part.getStaticOffsets(), part.getOffsets(), builder);
  ViewedRegion moved{part.getSource(), {}, {}, {}, region.mayBeCut};
  unsigned inner = 0;
  for (auto [offset, size] : llvm::zip_equal(offsets, part.getSizes())) {
    if (size == 1) {
      moved.offsets.push_back(offset);
      moved.starts.push_back(0);
      moved.sizes.push_back(1);
      continue;
    }
    OpFoldResult own = region.offsets[inner];
    int64_t start = region.starts[inner], length = region.sizes[inner];
    ++inner;
    std::optional<int64_t> constant = getConstantIntValue(own);
    moved.mayBeCut |=
        !constant || *constant + start < 0 || *constant + start + length > size;
    moved.offsets.push_back(own);
    moved.starts.push_back(start + *getConstantIntValue(offset));
    moved.sizes.push_back(length);
  }
  region = std::move(moved);
}

/// The region of its operand that an access names, be this a part or not;
/// nullopt if its elements are not known.
static std::optional<TileRegion> getNamedRegion(const SharedAccess &access) {
  if (access.region)
    return access.region;
  auto op = dyn_cast<AccessOpInterface>(access.operand->getOwner());
  if (!op || !access.operand->get().getDefiningOp<SubviewOp>())
    return std::nullopt;
  SmallVector<AccessRegion> regions;
  op.getAccessRegions(regions);
  for (AccessRegion &region : regions)
    if (region.buffer == access.operand && region.kind == access.kind)
      return region.isExact() ? std::optional(region.region) : std::nullopt;
  return std::nullopt;
}

std::optional<ViewedRegion>
verifier::getViewedRegion(const SharedAccess &access) {
  std::optional<TileRegion> named = getNamedRegion(access);
  if (!named)
    return std::nullopt;
  ViewedRegion region{access.operand->get(), named->offsets,
                      SmallVector<int64_t>(named->offsets.size(), 0),
                      named->sizes};
  while (auto part = region.memory.getDefiningOp<SubviewOp>())
    moveToSource(region, part);
  // The elements of a part are not together in memory, so that which of them a
  // view of the part has where is not said here.
  Value source = region.memory;
  while (auto view = source.getDefiningOp<ViewOp>())
    source = view.getSource();
  return source.getDefiningOp<SubviewOp>() ? std::nullopt
                                           : std::optional(region);
}
