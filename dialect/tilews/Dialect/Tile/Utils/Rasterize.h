//===- Rasterize.h - Numbering of a grid's tiles ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_RASTERIZE_H
#define TILEWS_DIALECT_TILE_UTILS_RASTERIZE_H

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Creates the coordinates (x, y) of tile number `id` in a grid of `extentX` by
/// `extentY` tiles, 0 <= id < extentX * extentY. Without `order` x runs
/// fastest. All values have type index and are not negative.
std::pair<mlir::Value, mlir::Value>
rasterize(mlir::OpBuilder &builder, mlir::Location loc, RasterizeAttr order,
          mlir::Value id, mlir::Value extentX, mlir::Value extentY);

/// Computes the same for integers.
std::pair<int64_t, int64_t> rasterize(RasterizeAttr order, int64_t id,
                                      int64_t extentX, int64_t extentY);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_RASTERIZE_H
