//===- Packing.h - Share an arena between intervals -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_PACKING_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_PACKING_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedLiveness.h"

namespace tilews::tile {

/// Something that needs bytes of an arena for a while.
struct PackedItem {
  int64_t bytes;
  int64_t alignment;
  LiveInterval live;
  /// Where it was placed.
  int64_t offset = 0;
};

/// Places items so that those alive at the same time do not overlap, and
/// returns the bytes of the arena. The largest are placed first, each into the
/// tightest gap that takes it.
int64_t pack(llvm::MutableArrayRef<PackedItem> items);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_PACKING_H
