//===- ChannelBuffers.h - Buffers that share a channel ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two steps of `--tile-multi-version`: `groupBuffers` decides which buffers
// share a channel, `splitProducers` rewrites each loop to use the channels.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"

namespace tilews::tile {

/// Buffers that share a channel: in each loop, the first operation that reads
/// one of them is the first for all, and likewise the last.
///
/// Example: the loop `copy A -> As; copy B -> Bs; gemm As, Bs` has one channel
/// with both buffers. If another operation read `Bs` after the matmul, each
/// buffer would have a channel of its own.
struct ChannelBuffers {
  /// The first and the last operation that reads them, for each loop: loop i
  /// has the elements 2 * i and 2 * i + 1. Null if the loop does not use them.
  llvm::SmallVector<mlir::Operation *> reads;
  llvm::SmallVector<AllocSharedOp> allocs;
  /// How the slots are filled, without repetition.
  llvm::SmallVector<ProducerKind> kinds;
  /// The number of slots.
  int64_t depth = 1;

  /// The values that `create` makes; `getLast` makes `last`.
  mlir::Value channel, producer, consumer, last;
  /// The buffer with `depth` versions, by allocation.
  llvm::DenseMap<mlir::Operation *, mlir::Value> versions;

  void addKinds(llvm::ArrayRef<ProducerKind> more);
  /// Creates the buffers with versions, the channel and its cursors at the
  /// start of the block `entry` of a kernel. The caller has checked, with
  /// `getVersionedType`, that the buffers can have `depth` versions.
  void create(mlir::RewriterBase &rewriter, mlir::Block &entry,
              Cursors &cursors);
  /// Returns the cursor of the last transaction that was consumed. Creates it
  /// on the first call.
  mlir::Value getLast(mlir::RewriterBase &rewriter, Cursors &cursors);
};

/// Returns how `op`, which writes to shared memory, fills a slot.
ProducerKind getProducerKind(mlir::Operation *op);

/// Groups the piped buffers of all plans into channels. Each channel has as
/// many slots as the plan that needs most. With `isFew`, buffers that become
/// ready and free at different operations share a channel, too, where the
/// schedule allows it. With `separatesDepths`, buffers that need different
/// numbers of slots share none.
llvm::SmallVector<ChannelBuffers, 0>
groupBuffers(llvm::ArrayRef<PipelinePlan> plans, bool isFew,
             bool separatesDepths);

/// Rewrites a planned loop: each iteration first produces, then consumes, each
/// side with its own copy of the guards and scalars that it needs. The sides
/// communicate through `channels` only.
void splitProducers(mlir::RewriterBase &rewriter, const PipelinePlan &plan,
                    llvm::MutableArrayRef<ChannelBuffers> channels);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H
