//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEATTRS_TD
#define TILEWS_DIALECT_TILE_IR_TILEATTRS_TD

include "tilews/Dialect/Tile/IR/TileEnums.td"
include "mlir/IR/AttrTypeBase.td"

#endif // TILEWS_DIALECT_TILE_IR_TILEATTRS_TD
