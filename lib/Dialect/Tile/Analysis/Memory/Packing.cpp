//===- Packing.cpp - Share an arena between intervals ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Packing.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tilews;
using namespace tilews::tile;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The offset for `item` among `neighbours`, which are placed, alive at the
/// same time and sorted by offset: in the smallest gap, else behind them all.
static int64_t findOffset(const PackedItem &item,
                          ArrayRef<const PackedItem *> neighbours) {
  int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), free = 0;
  for (const PackedItem *neighbour : neighbours) {
    int64_t offset = llvm::alignTo(free, item.alignment);
    int64_t gap = neighbour->offset - free;
    if (offset + item.bytes <= neighbour->offset && gap < bestGap) {
      best = offset;
      bestGap = gap;
    }
    free = std::max(free, neighbour->offset + neighbour->bytes);
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
    SmallVector<const PackedItem *> neighbours;
    for (const PackedItem *other : placed)
      if (other->live.overlaps(item->live))
        neighbours.push_back(other);
    item->offset = findOffset(*item, neighbours);
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
