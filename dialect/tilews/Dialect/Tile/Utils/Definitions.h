//===- Definitions.h - What inline assembly computes ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_DEFINITIONS_H
#define TILEWS_DIALECT_TILE_UTILS_DEFINITIONS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Replaces the assembly of a kernel that has no template for the target by
/// what its definition computes. Fails with an error if one has no definition.
mlir::LogicalResult applyDefinitions(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_DEFINITIONS_H
