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

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTACCESS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTACCESS_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/MatrixAccess.h"
#include "tilews/Layout/SwizzledLayout.h"

#include <array>

namespace tilews::tile {

/// A region of a buffer that is read into a fragment or written from one: by
/// `tile.load`, `tile.store` or `tile.atomic_rmw`, or on one of the sides of a
/// `tile.copy`, whose threads hold what they copy.
class FragmentAccess {
public:
  /// The access of a load, a store or an atomic; none for other operations.
  static std::optional<FragmentAccess> get(mlir::Operation *op,
                                           Divisibility &divisibility);
  /// The accesses of a copy, source first.
  static std::array<FragmentAccess, 2> getSides(CopyOp op,
                                                Divisibility &divisibility);

  mlir::Operation *getOp() const { return op; }
  mlir::Value getBuffer() const { return buffer; }
  mlir::RankedTensorType getType() const { return type; }
  bool isStore() const { return store; }
  /// The fragment of a load, a store or an atomic.
  mlir::Value getFragment() const;
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
  /// The access by 8x8 matrices, where target and layouts allow it.
  std::optional<MatrixAccess> getMatrices(const FragmentLayout &layout,
                                          const SharedLayout &shared,
                                          const TargetInfo &target) const;
  /// The bank conflicts of the first warp's access to register 0 of a buffer in
  /// shared memory. Accesses of other registers lie at a constant distance.
  BankConflicts getBankConflicts(const FragmentLayout &layout,
                                 const SharedLayout &shared,
                                 const TargetInfo &target) const;

  /// All that decides how the access is done, but for the layout.
  using Key =
      std::tuple<mlir::Type, mlir::Type, mlir::Attribute, int64_t, unsigned>;
  Key getKey() const {
    return {buffer.getType(), type, sizes, maxVector, store};
  }

private:
  FragmentAccess(const AccessRegion &region, mlir::RankedTensorType type);

  /// Calls `visit` with each lane that holds something in register `value`, and
  /// with the place of that in the region.
  void forEachLane(
      const FragmentLayout &layout, int64_t value, int64_t warpSize,
      llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> visit) const;

  mlir::Operation *op;
  mlir::Value buffer;
  mlir::RankedTensorType type; // of the fragment
  bool store;
  mlir::Attribute sizes;
  /// The fragment's dimension that runs along each of the buffer's, or -1, and
  /// the known part of the region's offset.
  llvm::SmallVector<int64_t> dims, offsets;
  int64_t maxVector = 1;
};

/// Whether warps load, or store, 8x8 matrices of shared memory.
bool hasMatrixAccess(const TargetInfo &target, bool isStore);

/// The longest run of registers, and of at most `limit`, that are adjacent
/// along `dim` and start at a multiple of the run's length in all threads.
int64_t getVectorRun(const FragmentLayout &layout, int64_t dim, int64_t limit);

/// How threads share the elements of a copy that passes through their
/// registers, if its regions allow to access so many at a time: neighbouring
/// threads have neighbouring runs in global memory, of at most 16 bytes.
FragmentLayout getCopyLayout(CopyOp op, int64_t numThreads,
                             int64_t sourceVector, int64_t destVector);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTACCESS_H
