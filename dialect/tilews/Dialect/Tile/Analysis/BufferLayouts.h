//===- BufferLayouts.h - Layouts of a kernel's shared buffers ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_BUFFERLAYOUTS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_BUFFERLAYOUTS_H

#include "tilews/Dialect/Tile/Analysis/LayoutInference.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Chooses a layout for each shared buffer and each view of one. A view places
/// the bytes of its source, so a buffer and its views are decided together:
/// types that have a layout come first, then what wgmma needs, then what other
/// matrix instructions like best, then what the fragments that are stored in it
/// like best.
class BufferLayouts {
public:
  BufferLayouts(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target,
                const LayoutInference &fragments);

  /// Chooses all layouts; fails with an error at an operation whose demand
  /// cannot be met.
  llvm::LogicalResult run();

  /// Each buffer and view with its layout. Buffers that operations of other
  /// dialects reshape are not in it: they stay as they are, row-major.
  llvm::ArrayRef<std::pair<mlir::Value, SharedLayoutAttr>> getLayouts() const {
    return chosen;
  }

private:
  /// A layout that `op` wants `value`, a buffer or a view of it, to have.
  struct Demand {
    mlir::Operation *op;
    mlir::Value value;
    SharedLayout layout;
    bool isType;  // of a type that was given
    bool isExact; // nothing else will do
  };
  /// A buffer with all its views and the demands on them, strongest first.
  struct Group {
    AllocSharedOp alloc;
    llvm::SmallVector<mlir::Value> values; // the buffer, then its views
    llvm::SmallVector<Demand> demands;
    bool isOpaque = false; // operations of other dialects look into it
  };

  Group collect(AllocSharedOp alloc);
  llvm::LogicalResult choose(const Group &group);
  std::optional<SharedLayout> getWholeLayout(const Group &group,
                                             const SharedLayout &layout,
                                             mlir::Value value);
  bool fits(const Group &group, const SharedLayout &layout,
            const Demand *&unmet, mlir::Value &badView);
  SharedLayout getDefault(const Group &group);
  bool isScattered(mlir::Value buffer);

  mlir::gpu::GPUFuncOp kernel;
  const TargetInfo &target;
  const LayoutInference &fragments;
  /// What instructions want of each buffer, in the order of the program.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LayoutRequirement>> required;
  llvm::SmallVector<std::pair<mlir::Value, SharedLayoutAttr>> chosen;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_BUFFERLAYOUTS_H
