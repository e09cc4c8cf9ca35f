//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEOPS_TD

include "tilews/Dialect/Tile/IR/TileAttrs.td"
include "tilews/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_FillOp : Op<Tile_Dialect, "fill", [Pure]> {
  let summary = "fragment with one value in every element";
  let arguments = (ins AnyType:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEOPS_TD
