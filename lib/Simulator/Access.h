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

/// A box of a memref, which may reach past its bounds on all sides.
struct Box {
  llvm::SmallVector<int64_t> offsets, sizes;

  static Box getWhole(const MemRef &memref) {
    return {llvm::SmallVector<int64_t>(memref.shape.size(), 0), memref.shape};
  }
};

/// A row of a box: its elements `low` to `high` (exclusive) lie in the memref.
/// `first` is the element offset of element `low`, `coords` its place.
struct Row {
  int64_t low, high, first;
  llvm::SmallVector<int64_t> coords;
};

/// Calls `fn` for each row of a box until one fails. Rows outside the memref
/// are empty.
mlir::LogicalResult
forEachRow(const MemRef &memref, const Box &box,
           llvm::function_ref<mlir::LogicalResult(const Row &)> fn);

/// Reads a box row by row into `values`; elements outside the memref become
/// `padding`. Fails if an element was never written. Whether the access is
/// ordered is for `BlockState::access` to say.
template <typename T>
mlir::LogicalResult readBox(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box, T padding,
                            T *values);

/// Writes `values` row by row to the part of a box that lies in the memref.
/// Fails if the memory is read-only. Whether the access is ordered is for
/// `BlockState::access` to say.
template <typename T>
mlir::LogicalResult writeBox(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const T *values);

/// The same for accesses that are made and done at once, which it checks.
template <typename T>
mlir::LogicalResult readNow(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box, T padding,
                            T *values, bool isAsyncProxy = false);
template <typename T>
mlir::LogicalResult writeNow(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const T *values);

/// Replaces each element of the box that lies in the memref by
/// `combine(old, value)`. `reads` says whether the old value matters.
template <typename T>
mlir::LogicalResult updateNow(Frame &frame, const Instruction &inst,
                              const MemRef &memref, const Box &box,
                              const T *values, bool reads,
                              std::optional<tile::AtomicKind> kind,
                              llvm::function_ref<T(T, T)> combine);

/// Fails if `coords` does not lie in the memref.
mlir::LogicalResult checkBounds(Frame &frame, const Instruction &inst,
                                const MemRef &memref,
                                llvm::ArrayRef<int64_t> coords);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_ACCESS_H
