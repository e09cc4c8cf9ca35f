//===- TileDialect.td - The tile dialect -------------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD
#define TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilews::tile";
  let summary = "Whole-tile operations of GPU kernels";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD
