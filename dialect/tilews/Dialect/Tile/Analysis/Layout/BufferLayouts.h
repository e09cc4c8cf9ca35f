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
/// the bytes of its source, so that a buffer and its views are decided
/// together. The first of these layouts that every access can use is chosen:
///
/// 1. the layout that a type has,
/// 2. a layout that wgmma or TMA requires,
/// 3. a layout that another matrix instruction prefers, or one with narrower
///    panels, for parts of the buffer,
/// 4. swizzled panels, if loads and stores of fragments would otherwise have
///    bank conflicts,
/// 5. row-major.
///
/// Example: `%3 = tile.alloc_shared : memref<128x64xf16>` is filled by TMA and
/// read by wgmma. Both require swizzled panels, so rule 2 gives %3 a layout
/// with the 128-byte swizzle. A buffer that only `memref.load` reads is
/// row-major.
///
/// It prints `%3: #tile.shared<...>` for each buffer and view.
class BufferLayouts {
public:
  BufferLayouts(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target,
                const LayoutInference &fragments);

  /// Chooses all layouts; fails with an error at an operation whose demand
  /// cannot be met.
  llvm::LogicalResult run();

  /// Returns each buffer and view with its layout. Buffers that operations of
  /// other dialects view are not among them: they stay row-major.
  llvm::ArrayRef<std::pair<mlir::Value, SharedLayoutAttr>> getLayouts() const {
    return chosen;
  }

  void print(llvm::raw_ostream &os) const;

private:
  /// A layout that `op` requires or prefers for `value`, a buffer or a view of
  /// it.
  struct BufferDemand {
    mlir::Operation *op;
    mlir::Value value;
    SharedLayout layout;
    bool isType; // it is the layout of a type: no other one is allowed
  };
  /// A buffer with all its views, each after what it is a view of, and the
  /// demands on them, strongest first.
  struct Group {
    AllocSharedOp alloc;
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<BufferDemand> demands;
    bool isOpaque = false; // operations of other dialects access it
  };
  /// The layouts of a group's values, in their order.
  using Assignment = llvm::SmallVector<SharedLayout>;
  /// Why a buffer cannot have a layout: the operation that cannot use it.
  struct Misfit {
    mlir::Operation *op;
    std::string reason;
    /// The layout that the operation prefers.
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
  /// The layouts that instructions require of each buffer, in program order.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LayoutRequirement>> required;
  llvm::SmallVector<std::pair<mlir::Value, SharedLayoutAttr>> chosen;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_BUFFERLAYOUTS_H
