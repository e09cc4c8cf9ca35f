//===- Access.h - Reads and writes of regions -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_ACCESS_H
#define TILEWS_LIB_SIMULATOR_ACCESS_H

#include "Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::sim {

/// A region of a memref, which may reach past its bounds on all sides.
///
/// Example: offsets (-1, 0), sizes (2, 4) of a 4 x 4 memref is one row outside
/// and row 0.
struct Box {
  llvm::SmallVector<int64_t> offsets, sizes;

  /// Returns the region that is the whole memref.
  static Box getWhole(const MemRef &memref) {
    return {llvm::SmallVector<int64_t>(memref.shape.size(), 0), memref.shape};
  }
};

/// Returns the region of an operation. Its dynamic offsets are the operands
/// from `operand` on.
Box getBox(const Frame &frame, const Instruction &inst,
           const tile::TileRegion &region, unsigned operand);

/// Returns `memref` ended at index `limit` along a dimension, if it does not
/// end before; without elements if the region `box` starts at a negative index
/// there.
MemRef getLimited(MemRef memref, const Box &box, unsigned dim, int64_t limit);

/// A row of a region. Its elements `low` to `high` (exclusive) lie in the
/// memref. `first` is the offset of element `low` in elements, `coords` its
/// coordinates.
struct Row {
  int64_t low, high, first;
  llvm::SmallVector<int64_t> coords;
};

/// Calls `fn` for each row of a region until a call fails. Rows outside the
/// memref are empty: `low == high`.
mlir::LogicalResult
forEachRow(const MemRef &memref, const Box &box,
           llvm::function_ref<mlir::LogicalResult(const Row &)> fn);

/// Reads a region row by row into `values`. Elements outside the memref become
/// `padding`. Fails if an element was never written. `AccessChecker::check` has
/// checked the order of the access.
template <typename T>
mlir::LogicalResult readBox(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box, T padding,
                            T *values);

/// Writes `values` row by row to the part of a region that lies in the memref.
/// Fails if the memory is read-only. `AccessChecker::check` has checked the
/// order of the access.
template <typename T>
mlir::LogicalResult writeBox(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const T *values);

/// The same for accesses that are made at once: they are checked here.
template <typename T>
mlir::LogicalResult readNow(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box, T padding,
                            T *values, bool isAsyncProxy = false);
template <typename T>
mlir::LogicalResult writeNow(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const T *values);

/// Replaces each element of the region that lies in the memref by
/// `combine(old, value)`. `reads` says whether `combine` uses the old value.
template <typename T>
mlir::LogicalResult updateNow(Frame &frame, const Instruction &inst,
                              const MemRef &memref, const Box &box,
                              const T *values, bool reads,
                              std::optional<tile::AtomicKind> kind,
                              llvm::function_ref<T(T, T)> combine);

/// Fails if `coords` lies outside the memref.
mlir::LogicalResult checkBounds(Frame &frame, const Instruction &inst,
                                const MemRef &memref,
                                llvm::ArrayRef<int64_t> coords);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_ACCESS_H
