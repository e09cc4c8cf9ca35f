//===- FragmentAccess.h - Memory accesses of fragments ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accesses of a fragment to a region of a buffer, for a given layout of the
// fragment: how wide a thread's accesses are, and which bytes a warp touches.
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

class BriefPrinter;

/// Returns whether `op` only stores a fragment to a region: a `tile.store`, or
/// a `tile.scatter` with no indices and no mask, but a limit. Its fragment may
/// have any layout.
bool storesRegion(mlir::Operation *op);

/// A region of a buffer that is read into a fragment or written from one: by
/// `tile.load`, `tile.store` or `tile.atomic_rmw`, or as source or destination
/// of a `tile.copy`, whose threads hold the elements in between. For
///
/// ```mlir
/// %4 = tile.load %arg0[%c0, %k] : memref<64x64xf16> -> tensor<64x64xf16>
/// ```
///
/// with %k a multiple of 8 it prints `reads %arg0 64x64, at most 8 elements at
/// a time`. In a layout with 2 adjacent elements a thread, `getVectorElements`
/// is 2.
class FragmentAccess {
public:
  /// Returns the access of a load, a store or an atomic; none for other
  /// operations.
  static std::optional<FragmentAccess> get(mlir::Operation *op,
                                           Divisibility &divisibility);
  /// Returns the accesses of a copy, source first.
  static std::array<FragmentAccess, 2> getSides(CopyOp op,
                                                Divisibility &divisibility);

  mlir::Operation *getOp() const { return op; }
  mlir::Value getBuffer() const { return buffer; }
  mlir::RankedTensorType getType() const { return type; }
  bool isStore() const { return store; }
  /// Returns the fragment of a load, a store or an atomic.
  mlir::Value getFragment() const;
  /// Returns the bits of an element in memory.
  int64_t getBits() const;
  /// Returns the widest vector, in elements, that the region allows.
  int64_t getMaxVector() const { return maxVector; }

  /// Returns the elements that a thread accesses at a time in `layout`.
  /// `shared` is the layout of a buffer in shared memory, null for other
  /// buffers.
  int64_t getVectorElements(const FragmentLayout &layout,
                            const SharedLayout *shared) const;

  /// Returns the byte offset in global memory of each lane's access, for the
  /// first warp and register `value`. An unknown stride counts as a long one.
  llvm::SmallVector<int64_t> getGlobalOffsets(const FragmentLayout &layout,
                                              int64_t value,
                                              int64_t warpSize) const;
  /// Returns the access by 8x8 matrices (ldmatrix, stmatrix), if target and
  /// layouts allow it.
  std::optional<MatrixAccess> getMatrices(const FragmentLayout &layout,
                                          const SharedLayout &shared,
                                          const TargetInfo &target) const;
  /// Returns the bank conflicts of the first warp's access with register 0 to a
  /// buffer in shared memory. Other registers have the same conflicts, because
  /// their accesses lie at a constant distance.
  BankConflicts getBankConflicts(const FragmentLayout &layout,
                                 const SharedLayout &shared,
                                 const TargetInfo &target) const;

  /// Everything but the layout that decides how the access is done.
  using Key =
      std::tuple<mlir::Type, mlir::Type, mlir::Attribute, int64_t, unsigned>;
  Key getKey() const {
    return {buffer.getType(), type, sizes, maxVector, store};
  }

  void print(BriefPrinter &printer) const;

private:
  FragmentAccess(const AccessRegion &region, mlir::RankedTensorType type);

  /// Calls `visit` with each lane that holds an element in register `value`,
  /// and with the coordinates of that element in the region.
  void forEachLane(
      const FragmentLayout &layout, int64_t value, int64_t warpSize,
      llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> visit) const;

  mlir::Operation *op;
  mlir::Value buffer;
  mlir::RankedTensorType type; // of the fragment
  bool store;
  mlir::Attribute sizes;
  /// For each dimension of the buffer the fragment's dimension along it, or -1,
  /// and the region's offset if it is constant, otherwise 0.
  llvm::SmallVector<int64_t> dims, offsets;
  int64_t maxVector = 1;
};

/// Returns whether the target has ldmatrix, or stmatrix for stores.
bool hasMatrixAccess(const TargetInfo &target, bool isStore);

/// Returns the longest run of registers, at most `limit`, that hold adjacent
/// elements along `dim` and start at a multiple of the run's length in all
/// threads.
int64_t getVectorRun(const FragmentLayout &layout, int64_t dim, int64_t limit);

/// Returns how threads share the elements of a copy through registers whose
/// regions allow accesses of `sourceVector` and `destVector` elements.
/// Neighboring threads have neighboring runs in global memory, of at most 16
/// bytes.
FragmentLayout getCopyLayout(CopyOp op, int64_t numThreads,
                             int64_t sourceVector, int64_t destVector);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTACCESS_H
