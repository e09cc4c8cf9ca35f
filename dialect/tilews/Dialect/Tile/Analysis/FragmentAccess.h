//===- FragmentAccess.h - How fragments meet memory -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the accesses of a fragment to a region of a buffer become in a given
// layout: how wide a thread's accesses are, and which bytes a warp's touch.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_FRAGMENTACCESS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_FRAGMENTACCESS_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/SwizzledLayout.h"

namespace tilews::tile {

/// A `tile.load`, `tile.store` or `tile.atomic_rmw`: a fragment and the region
/// it is read from or written to.
class FragmentAccess {
public:
  /// None for other operations.
  static std::optional<FragmentAccess> get(mlir::Operation *op,
                                           Divisibility &divisibility);

  mlir::Operation *getOp() const { return op; }
  mlir::Value getBuffer() const { return buffer; }
  mlir::Value getFragment() const { return fragment; }
  mlir::RankedTensorType getFragmentType() const;
  bool isStore() const;
  /// The bits of an element in memory.
  int64_t getBits() const;
  /// The widest vector, in elements, that the region allows.
  int64_t getMaxVector() const { return maxVector; }

  /// The elements a thread with `layout` accesses at a time; `shared` is the
  /// layout of a buffer in shared memory.
  int64_t getVectorElements(const FragmentLayout &layout,
                            const SharedLayout *shared) const;

  /// The bytes of global memory that the first warp's lanes begin to access in
  /// the access of register `value`. A stride that is not known counts as a
  /// long one.
  llvm::SmallVector<int64_t> getGlobalOffsets(const FragmentLayout &layout,
                                              int64_t value,
                                              int64_t warpSize) const;
  /// The bank conflicts of the first warp's access to register 0 of a buffer in
  /// shared memory. Accesses of other registers lie at a constant distance.
  BankConflicts getBankConflicts(const FragmentLayout &layout,
                                 const SharedLayout &shared,
                                 int64_t warpSize) const;

  /// All that decides how the access is done, but for the layout.
  using Key =
      std::tuple<mlir::Type, mlir::Type, mlir::Attribute, int64_t, unsigned>;
  Key getKey() const {
    return {buffer.getType(), fragment.getType(), sizes, maxVector, isStore()};
  }

private:
  /// Calls `visit` with the coordinates in the buffer of each lane's element in
  /// register `value`, relative to the region's constant offsets.
  void
  forEachLane(const FragmentLayout &layout, int64_t value, int64_t warpSize,
              llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) const;

  mlir::Operation *op;
  mlir::Value buffer, fragment;
  mlir::Attribute sizes;
  /// The fragment's dimension that runs along each of the buffer's, or -1, and
  /// the known part of the region's offset.
  llvm::SmallVector<int64_t> dims, offsets;
  int64_t maxVector = 1;
};

/// The longest run of registers, and of at most `limit`, that are adjacent
/// along `dim` and start at a multiple of the run's length in all threads.
int64_t getVectorRun(const FragmentLayout &layout, int64_t dim, int64_t limit);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_FRAGMENTACCESS_H
