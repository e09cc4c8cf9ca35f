//===- Scratch.h - Shared memory that an operation needs --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations whose fragments move between threads pass them through shared
// memory. The plan reserves exactly these bytes at the operation's
// `tile.offset`, and the lowering uses exactly these: both ask here.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H

#include "tilews/Dialect/Tile/IR/Tile.h"

namespace tilews::tile {

/// Bytes that one element takes in scratch memory: whole bytes, eight for an
/// index (which may be lowered to 64 bits).
int64_t getScratchElementBytes(mlir::Type elementType);

/// Bytes of shared memory that `op` needs for itself, 0 for most. It writes
/// them, and reads them behind a barrier of its own:
///
/// * `tile.convert_layout` and `tile.reshape`: what their plan says, nothing if
///   elements stay within warps (ConversionPlan.h);
/// * `tile.reduce` and `tile.scan`: nothing if the axis lies within warps.
///   Across warps, a reduction has a copy of its result (as far as the source's
///   layout covers it) for each part of the axis; a scan has the totals of each
///   thread.
///
/// Without layouts yet, the most that a usual layout needs.
int64_t getScratchBytes(mlir::Operation *op, const TargetInfo &target);

/// Bytes of a barrier in shared memory (PTX ISA, "mbarrier").
constexpr int64_t kBarrierBytes = 8;

/// Bytes of shared memory for the barriers of a channel: of each slot one that
/// says "full" and one that says "empty"; none in a kernel without roles.
int64_t getBarrierBytes(ChannelOp channel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SCRATCH_H
