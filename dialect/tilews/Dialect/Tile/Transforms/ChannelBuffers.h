//===- ChannelBuffers.h - Buffers that share a channel ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"

namespace tilews::tile {

/// Buffers that are read from the same first to the same last operation in all
/// loops, and the channel that delivers them.
struct ChannelBuffers {
  /// The first and the last operation that reads them, loop by loop.
  llvm::SmallVector<mlir::Operation *> reads;
  llvm::SmallVector<AllocSharedOp> allocs;
  llvm::SmallVector<ProducerKind> kinds;
  int64_t depth = 1;

  /// What `create` makes; `last` is there only if it was asked for.
  mlir::Value channel, producer, consumer, last;
  /// By allocation.
  llvm::DenseMap<mlir::Operation *, mlir::Value> versions;

  /// Makes the versions, the channel and its cursors at the entry of a kernel.
  /// The types of the versions exist.
  void create(mlir::RewriterBase &rewriter, mlir::Block &entry,
              Cursors &cursors);
  /// The cursor of the last transaction that was consumed.
  mlir::Value getLast(mlir::RewriterBase &rewriter, Cursors &cursors);
};

/// How `op`, which writes to shared memory, fills a slot.
ProducerKind getProducerKind(mlir::Operation *op);

/// Groups the piped buffers of all plans into channels, each with the slots
/// that its most demanding loop needs.
llvm::SmallVector<ChannelBuffers, 0>
groupBuffers(llvm::ArrayRef<PipelinePlan> plans);

/// The operations at the depth of the buffer's guards that hold its first and
/// its last reader.
std::pair<mlir::Operation *, mlir::Operation *>
getReads(const LoopStatements &statements, const PipedBuffer &buffer);

/// Writes a planned loop anew: in each turn first what producers do, then what
/// consumers do, each with a copy of the guards and scalars it needs. Both
/// sides meet in `channels` only.
void splitTurns(mlir::RewriterBase &rewriter, const PipelinePlan &plan,
                llvm::MutableArrayRef<ChannelBuffers> channels);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_CHANNELBUFFERS_H
