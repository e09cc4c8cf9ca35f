//===- Passes.h - Passes on the tile dialect --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace tilews::tile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_H
