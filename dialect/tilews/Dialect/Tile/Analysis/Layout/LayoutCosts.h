//===- LayoutCosts.h - Costs of layouts -------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates by which layouts of fragments are compared. The unit is a quarter
// of a cycle of a multiprocessor (compute unit) that runs nothing but the
// fragment's threads. An operation in a loop counts several times.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Estimates what operations cost in given layouts, and remembers the results.
/// For a load of 64x64 f32 by 128 threads from global memory, of which each
/// thread holds 32 elements, `getAccess` returns
///
/// * in a layout with 4 adjacent elements a thread: 8 accesses, each of 16
///   whole sectors of 32 bytes for a warp: (8 * 8 + 8 * 16 * 2) * 4 warps =
///   1280;
/// * in a layout with single elements along columns: 32 accesses, which share
///   128 sectors in the first-level cache: (32 * 8 + 128 * 2) * 4 warps = 2048.
class LayoutCosts {
public:
  explicit LayoutCosts(const TargetInfo &target) : target(target) {}

  /// The cost of what cannot be lowered: more than the sum of all other costs.
  static constexpr int64_t kImpossible = int64_t(1) << 40;

  /// Returns how often an operation in this block is assumed to run, compared
  /// to one outside of all loops: 8 times for each loop around it.
  static int64_t getWeight(mlir::Block *block);
  static int64_t getWeight(mlir::Value value) {
    return getWeight(value.getParentBlock());
  }

  /// Returns the cost of converting a fragment of `type` between two layouts.
  int64_t getConversion(mlir::RankedTensorType type, FragmentAttr from,
                        FragmentAttr to) {
    return planConversion(type, from, to).cost;
  }
  /// Returns the cost of a change of shape that moves elements between threads.
  int64_t getReshape(mlir::RankedTensorType type, FragmentAttr from,
                     FragmentAttr to);
  /// Returns the cost of a load, store or atomic access in `layout`.
  int64_t getAccess(const FragmentAccess &access, FragmentAttr layout);
  /// Returns the cheapest layout in which to store a fragment that has
  /// `layout`: `layout` itself, or one with wider stores that warps reach by
  /// exchanges.
  struct Store {
    FragmentAttr layout;
    int64_t cost; // of the store and the conversion
  };
  Store getStore(const FragmentAccess &access, FragmentAttr layout);
  /// Returns the cost of a reduction of a fragment in `layout`.
  int64_t getReduction(ReduceOp op, FragmentAttr layout);
  /// Returns the cost of the instructions and registers that it takes to
  /// compute a result in `layout`.
  int64_t getResult(mlir::OpResult result, FragmentAttr layout) const;

  /// Prints the remembered costs of conversions and accesses, in the order of
  /// the questions. The example prints
  ///
  /// ```
  /// reads memref<64x64xf32> as tensor<64x64xf32>,
  ///   at most 4 elements at a time, in #tile.fragment<...>: 1280
  /// ```
  void print(llvm::raw_ostream &os) const;

private:
  using ConversionKey =
      std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>;
  /// The layout, everything else that decides how the access is done, and the
  /// buffer if it is in shared memory.
  using AccessKey =
      std::tuple<mlir::Attribute, FragmentAccess::Key, mlir::Value>;

  struct Conversion {
    int64_t cost;
    bool needsScratch;
  };
  Conversion planConversion(mlir::RankedTensorType type, FragmentAttr from,
                            FragmentAttr to);
  int64_t getScan(ScanOp op, FragmentAttr layout) const;
  int64_t getFlip(FlipOp op, FragmentAttr layout) const;
  Store computeStore(const FragmentAccess &access, FragmentAttr layout);
  int64_t computeGlobal(const FragmentAccess &access,
                        const FragmentLayout &layout) const;
  int64_t computeShared(const FragmentAccess &access,
                        const FragmentLayout &layout);
  llvm::ArrayRef<SharedLayout> getLikelyLayouts(mlir::Value buffer);
  int64_t getNumWarps(const FragmentLayout &layout) const;
  AccessKey getKey(const FragmentAccess &access, FragmentAttr layout) const;

  const TargetInfo &target;
  llvm::MapVector<ConversionKey, Conversion> conversions;
  llvm::MapVector<AccessKey, int64_t> accesses;
  llvm::DenseMap<AccessKey, Store> stores;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<SharedLayout>> likely;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCOSTS_H
