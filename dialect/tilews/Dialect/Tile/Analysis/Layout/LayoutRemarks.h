//===- LayoutRemarks.h - Remarks on chosen layouts --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTREMARKS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTREMARKS_H

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutInference.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Emits a remark at each fragment of `kernel` with its layout and the reason:
/// "layout #tile.fragment<...>: 'tile.load' has the widest accesses in it; the
/// cheapest of 3".
void explainLayouts(mlir::gpu::GPUFuncOp kernel,
                    const LayoutInference &inference);

/// Does the same for shared buffers, whose types do not have their layouts yet.
void explainLayouts(
    llvm::ArrayRef<std::pair<mlir::Value, SharedLayoutAttr>> buffers,
    const TargetInfo &target);

/// A conversion that was inserted, and why the fragment has the layouts before
/// and after it.
struct InsertedConversion {
  ConvertLayoutOp op;
  mlir::Operation *user; // that asks for it
  LayoutReason from, to;
};

/// A remark at each operation for which `conversions` move elements between
/// threads (tile-layout-0001).
void remarkConversions(llvm::ArrayRef<InsertedConversion> conversions,
                       const TargetInfo &target);

/// Remarks at accesses with bank conflicts (tile-layout-0002) and at those
/// narrower than memory allows (tile-layout-0003), in a kernel that has all its
/// layouts.
void remarkAccesses(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTREMARKS_H
