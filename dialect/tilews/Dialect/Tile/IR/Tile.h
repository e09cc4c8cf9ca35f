//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILE_H
#define TILEWS_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilews/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_OP_CLASSES
#include "tilews/Dialect/Tile/IR/TileOps.h.inc"

#endif // TILEWS_DIALECT_TILE_IR_TILE_H
