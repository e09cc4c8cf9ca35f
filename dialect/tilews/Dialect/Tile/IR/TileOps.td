//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEOPS_TD

include "tilews/Dialect/Tile/IR/TileAsmOps.td"
include "tilews/Dialect/Tile/IR/TileAtomicOps.td"
include "tilews/Dialect/Tile/IR/TileBarrierOps.td"
include "tilews/Dialect/Tile/IR/TileControlOps.td"
include "tilews/Dialect/Tile/IR/TileGatherOps.td"
include "tilews/Dialect/Tile/IR/TileMatmulOps.td"
include "tilews/Dialect/Tile/IR/TileMemoryOps.td"
include "tilews/Dialect/Tile/IR/TileScheduleOps.td"
include "tilews/Dialect/Tile/IR/TileShapeOps.td"

#endif // TILEWS_DIALECT_TILE_IR_TILEOPS_TD
