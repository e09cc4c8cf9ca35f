//===- Packing.cpp - Share an arena between intervals ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Best fit by decreasing size. Items are placed from the largest to the
// smallest. For each one the items that are placed and alive at the same time,
// sorted by offset, leave gaps; it goes into the smallest gap that takes it
// aligned, or after all of them. Packing intervals optimally is NP-hard
// (dynamic storage allocation); kernels have few buffers, most of the same
// size, for which this order is optimal or close to it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Packing.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tilews;
using namespace tilews::tile;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Returns the offset for `item` among `neighbors`, which are placed, alive at
/// the same time and sorted by offset: in the smallest gap, else after all of
/// them.
static int64_t findOffset(const PackedItem &item,
                          ArrayRef<const PackedItem *> neighbors) {
  int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), free = 0;
  for (const PackedItem *neighbor : neighbors) {
    int64_t offset = llvm::alignTo(free, item.alignment);
    int64_t gap = neighbor->offset - free;
    if (offset + item.bytes <= neighbor->offset && gap < bestGap) {
      best = offset;
      bestGap = gap;
    }
    free = std::max(free, neighbor->offset + neighbor->bytes);
  }
  return best >= 0 ? best : int64_t(llvm::alignTo(free, item.alignment));
}

int64_t tile::pack(llvm::MutableArrayRef<PackedItem> items) {
  SmallVector<PackedItem *> order;
  for (PackedItem &item : items)
    order.push_back(&item);
  llvm::sort(order, [](const PackedItem *a, const PackedItem *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  int64_t total = 0;
  SmallVector<const PackedItem *> placed; // sorted by offset
  for (PackedItem *item : order) {
    SmallVector<const PackedItem *> neighbors;
    for (const PackedItem *other : placed)
      if (other->live.overlaps(item->live))
        neighbors.push_back(other);
    item->offset = findOffset(*item, neighbors);
    total = std::max(total, item->offset + item->bytes);
    placed.insert(
        llvm::upper_bound(placed, item,
                          [](const PackedItem *a, const PackedItem *b) {
                            return a->offset < b->offset;
                          }),
        item);
  }
  return total;
}
