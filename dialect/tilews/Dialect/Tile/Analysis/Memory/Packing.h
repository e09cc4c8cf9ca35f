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
  /// The first byte, set by `pack`.
  int64_t offset = 0;
};

/// Places items so that those alive at the same time do not overlap, and
/// returns the bytes of the arena. The largest items are placed first, each
/// into the tightest gap that takes it:
///
/// ```
///            bytes  live      offset
///   A          64   [0, 5]    0
///   B          32   [4, 9]    64    alive together with A
///   C          16   [6, 9]    0     A is dead: the gap below B takes it
///   arena: 96 bytes
/// ```
int64_t pack(llvm::MutableArrayRef<PackedItem> items);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_PACKING_H
