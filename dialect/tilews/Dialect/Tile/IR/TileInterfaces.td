//===- TileInterfaces.td - Interfaces of tile operations ---*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD
#define TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

#endif // TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD
