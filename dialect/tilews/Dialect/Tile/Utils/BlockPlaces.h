//===- BlockPlaces.h - Which block prints and fails -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_BLOCKPLACES_H
#define TILEWS_DIALECT_TILE_UTILS_BLOCKPLACES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/PatternMatch.h"

namespace tilews::tile {

/// Gives the prints and assertions of a kernel the block ids as operands,
/// unless they have coordinates already. A pass that replaces the uses of block
/// ids calls it first.
void nameBlocks(mlir::RewriterBase &rewriter, mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_BLOCKPLACES_H
