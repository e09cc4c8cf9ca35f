//===- TileDialect.cpp - The tile dialect ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilews::tile;

#include "tilews/Dialect/Tile/IR/TileDialect.cpp.inc"

#define GET_OP_CLASSES
#include "tilews/Dialect/Tile/IR/TileOps.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilews/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}
