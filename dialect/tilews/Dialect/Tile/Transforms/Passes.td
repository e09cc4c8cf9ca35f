//===- Passes.td - Passes on the tile dialect --------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "tilews/Dialect/Tile/Transforms/KernelPasses.td"
include "tilews/Dialect/Tile/Transforms/MemoryPasses.td"
include "tilews/Dialect/Tile/Transforms/RolePasses.td"
include "tilews/Dialect/Tile/Transforms/SchedulePasses.td"

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
