//===- Versions.h - Uses of versions of shared buffers ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_VERSIONS_H
#define TILEWS_DIALECT_TILE_UTILS_VERSIONS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/PatternMatch.h"

namespace tilews::tile {

/// Replaces uses of `alloc`, and of views of it, in `op` and its regions by the
/// version in `versions` that `cursor` selects before `op`.
void useVersion(mlir::RewriterBase &rewriter, mlir::Operation *op,
                AllocSharedOp alloc, mlir::Value versions, mlir::Value cursor);

/// Erases `op`, an allocation or a view that is used only by views, and these
/// views.
void eraseWithViews(mlir::RewriterBase &rewriter, mlir::Operation *op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_VERSIONS_H
