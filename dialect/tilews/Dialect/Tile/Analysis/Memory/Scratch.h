//===- Scratch.h - Shared memory that an operation needs --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shared memory that an operation needs for itself, because its fragments
// move between threads. The plan of shared memory reserves these bytes at the
// operation's `tile.offset`, and the lowering uses them: both ask here.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Returns the bytes that one element takes in scratch memory: whole bytes,
/// eight for an index, which may be lowered to 64 bits.
int64_t getScratchElementBytes(mlir::Type elementType);

/// Returns the bytes of shared memory that `op` needs for itself; most
/// operations need none. The operation writes them, passes a barrier of its
/// own, and reads them:
///
/// * `tile.convert_layout`, `tile.reshape` and `tile.flip` need what their plan
///   says (ConversionPlan.h), nothing if elements stay within warps.
/// * `tile.reduce` needs nothing if the axis lies within warps. Otherwise each
///   part of the axis has a copy of the result, as far as the source's layout
///   covers it: a sum of 128x64 f32 along rows that 4 warps share takes
///   4 * 128 * 4 bytes.
/// * `tile.scan` needs nothing if the axis lies within warps, otherwise the
///   totals of each thread.
/// * An atomic access with a result needs a copy of the result if several
///   threads hold the same element.
/// * `tile.print` of a fragment needs a part of its table on NVIDIA, where one
///   thread prints it.
///
/// Before layouts are chosen, the result is the most that a usual layout needs.
int64_t getScratchBytes(mlir::Operation *op, const TargetInfo &target);

/// The lines in which a GPU prints a fragment: each has up to `width` neighbors
/// of a row, as a 64-bit number each. `chunk` lines are in scratch memory at a
/// time.
///
///   tensor<3x20xf32>: 3 rows in 3 segments each, of 8, 8 and 4 elements
struct PrintTable {
  explicit PrintTable(llvm::ArrayRef<int64_t> shape);
  int64_t getBytes() const { return chunk * width * kElementBytes; }

  static constexpr int64_t kElementBytes = 8;
  int64_t columns, width, segments, lines, chunk;
};

/// The bytes of a barrier in shared memory (PTX ISA, "mbarrier").
constexpr int64_t kBarrierBytes = 8;

/// Returns the bytes of shared memory for the barriers of a channel: each slot
/// has one for "full" and one for "empty", 48 bytes for 3 slots. A channel of a
/// kernel without roles has none.
int64_t getBarrierBytes(ChannelOp channel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H
