//===- BufferLayouts.h - Layouts of a kernel's shared buffers ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_BUFFERLAYOUTS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_BUFFERLAYOUTS_H

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutInference.h"
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
    bool isType; // of a type that was given: nothing else will do
  };
  /// A buffer with all its views, each after what it is a view of, and the
  /// demands on them, strongest first.
  struct Group {
    AllocSharedOp alloc;
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<Demand> demands;
    bool isOpaque = false; // operations of other dialects look into it
  };
  /// The layouts of a group's values, in their order.
  using Assignment = llvm::SmallVector<SharedLayout>;
  /// What stands against a layout of the buffer: an operation, and why.
  struct Misfit {
    mlir::Operation *op;
    std::string reason;
    /// What the operation would like.
    std::optional<SharedLayout> wanted;
  };

  Group collect(AllocSharedOp alloc);
  void collectDemands(Group &group);
  llvm::LogicalResult choose(const Group &group);
  std::optional<Misfit> findMisfit(const Group &group,
                                   const SharedLayout &layout,
                                   Assignment &assignment);
  std::optional<Misfit> findUnmet(const Group &group, size_t index,
                                  const SharedLayout &layout);
  SharedLayout getDefault(const Group &group);
  bool isScattered(mlir::Value buffer);
  llvm::LogicalResult emitMisfit(const Group &group, const SharedLayout &layout,
                                 const Misfit &misfit);

  mlir::gpu::GPUFuncOp kernel;
  const TargetInfo &target;
  const LayoutInference &fragments;
  /// What instructions want of each buffer, in the order of the program.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LayoutRequirement>> required;
  llvm::SmallVector<std::pair<mlir::Value, SharedLayoutAttr>> chosen;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_BUFFERLAYOUTS_H
