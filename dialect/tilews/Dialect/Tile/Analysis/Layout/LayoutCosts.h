//===- LayoutCosts.h - What a layout costs ----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates by which layouts of fragments are compared, in quarters of a cycle
// of a multiprocessor (compute unit) that has the fragment's threads for
// itself. An operation in a loop counts several times.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

class LayoutCosts {
public:
  explicit LayoutCosts(const TargetInfo &target) : target(target) {}

  /// The cost of what cannot be lowered.
  static constexpr int64_t kImpossible = int64_t(1) << 40;

  /// How often an operation at this place runs, compared to one outside of all
  /// loops.
  static int64_t getWeight(mlir::Block *block);
  static int64_t getWeight(mlir::Value value) {
    return getWeight(value.getParentBlock());
  }

  /// A conversion of a fragment of `type` between two layouts.
  int64_t getConversion(mlir::RankedTensorType type, FragmentAttr from,
                        FragmentAttr to) {
    return planConversion(type, from, to).cost;
  }
  /// A change of shape that moves elements between threads.
  int64_t getReshape(mlir::RankedTensorType type, FragmentAttr from,
                     FragmentAttr to);
  /// A load, store or atomic access in `layout`.
  int64_t getAccess(const FragmentAccess &access, FragmentAttr layout);
  /// The best way to store a fragment that is in `layout`: as it is, or after
  /// an exchange within warps to a layout with wider stores.
  struct Store {
    FragmentAttr layout;
    int64_t cost; // with the conversion
  };
  Store getStore(const FragmentAccess &access, FragmentAttr layout);
  /// A reduction of a fragment in `layout`.
  int64_t getReduction(ReduceOp op, FragmentAttr layout);
  /// The instructions and the registers that it takes to compute a result in
  /// `layout`.
  int64_t getResult(mlir::OpResult result, FragmentAttr layout) const;

private:
  using ConversionKey =
      std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>;
  /// The layout, all that decides how the access is done, and a buffer in
  /// shared memory.
  using AccessKey =
      std::tuple<mlir::Attribute, FragmentAccess::Key, mlir::Value>;

  struct Conversion {
    int64_t cost;
    bool needsScratch;
  };
  Conversion planConversion(mlir::RankedTensorType type, FragmentAttr from,
                            FragmentAttr to);
  int64_t getScan(ScanOp op, FragmentAttr layout) const;
  Store computeStore(const FragmentAccess &access, FragmentAttr layout);
  int64_t computeGlobal(const FragmentAccess &access,
                        const FragmentLayout &layout) const;
  int64_t computeShared(const FragmentAccess &access,
                        const FragmentLayout &layout);
  llvm::ArrayRef<SharedLayout> getLikelyLayouts(mlir::Value buffer);
  int64_t getNumWarps(const FragmentLayout &layout) const;
  AccessKey getKey(const FragmentAccess &access, FragmentAttr layout) const;

  const TargetInfo &target;
  llvm::DenseMap<ConversionKey, Conversion> conversions;
  llvm::DenseMap<AccessKey, int64_t> accesses;
  llvm::DenseMap<AccessKey, Store> stores;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<SharedLayout>> likely;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H
