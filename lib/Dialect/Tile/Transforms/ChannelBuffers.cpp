//===- ChannelBuffers.cpp - Buffers that share a channel ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two buffers can share a channel if their slots become ready and become free
// at the same operations. Their readers decide that: a wait stands before the
// first reader and a release after the last one. So the key of a buffer is the
// pair (first reader, last reader) in each planned loop, and buffers with equal
// keys share a channel:
//
//   gemm %As, %Bs     ; key (gemm, gemm) for both: one channel, one barrier
//   gemm %As, %Bs
//   use %Bs           ; keys (gemm, gemm) and (gemm, use): two channels
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-multi-version"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the operations that are, or contain, the first and the last reader
/// of `buffer`, at the depth of the guards around its writers.
static std::pair<Operation *, Operation *>
getReads(const LoopStatements &statements, const PipedBuffer &buffer) {
  unsigned depth = buffer.guards.size();
  return {statements.getAtDepth(buffer.readers.front(), depth),
          statements.getAtDepth(buffer.readers.back(), depth)};
}

ProducerKind tile::getProducerKind(Operation *op) {
  if (isa<CopyOp>(op) && hasInst(op, InstKind::CpAsync))
    return ProducerKind::CpAsync;
  return isa<CopyOp>(op) && isTma(op) ? ProducerKind::Tma : ProducerKind::Simt;
}

/// Adds the kinds of all writes to shared memory in `writer` to `kinds`.
static void addKind(Operation *writer, SmallVectorImpl<ProducerKind> &kinds) {
  writer->walk([&](Operation *op) {
    ProducerKind kind = getProducerKind(op);
    bool writes = llvm::any_of(getSharedAccesses(op),
                               [](auto &access) { return access.writes(); });
    if (writes && !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  });
}

/// Returns the slots that the buffers of `group` need in a channel of their
/// own; nullopt if they cannot share one in the loop of `plan`. Either none or
/// all of them are piped there, under the same guards, and all writers run
/// before all readers of an iteration.
static std::optional<int64_t> countSlots(const PipelinePlan &plan,
                                         ArrayRef<AllocSharedOp> group) {
  SmallVector<const PipedBuffer *> buffers;
  for (AllocSharedOp alloc : group)
    buffers.push_back(plan.find(alloc));
  if (llvm::all_of(buffers, [](const PipedBuffer *b) { return !b; }))
    return 1;
  int64_t slots = 1;
  for (const PipedBuffer *from : buffers)
    for (const PipedBuffer *to : buffers) {
      if (!from || !to || from->guards != to->guards)
        return std::nullopt;
      for (Operation *w : from->writers)
        for (Operation *r : to->readers) {
          const Statement &writer = *plan.getStatements().find(w);
          const Statement &reader = *plan.getStatements().find(r);
          if (std::pair(writer.stage, writer.order) >=
              std::pair(reader.stage, reader.order))
            return std::nullopt;
          slots = std::max(slots, reader.stage - writer.stage +
                                      (writer.order < reader.order));
        }
    }
  return slots;
}

/// Lets channels share their slots, the first ones first, where all loops allow
/// it.
static void mergeChannels(ArrayRef<PipelinePlan> plans,
                          SmallVectorImpl<ChannelBuffers> &channels) {
  SmallVector<ChannelBuffers, 0> merged;
  for (ChannelBuffers &channel : channels) {
    bool isMerged = false;
    for (ChannelBuffers &into : merged) {
      SmallVector<AllocSharedOp> group = into.allocs;
      llvm::append_range(group, channel.allocs);
      int64_t depth = 1;
      isMerged = llvm::all_of(plans, [&](const PipelinePlan &plan) {
        std::optional<int64_t> slots = countSlots(plan, group);
        depth = std::max(depth, slots.value_or(1));
        return slots.has_value();
      });
      if (!isMerged)
        continue;
      LDBG() << group.size() << " buffers share a channel of " << depth
             << " slots";
      into.allocs = std::move(group);
      into.depth = depth;
      into.addKinds(channel.kinds);
      break;
    }
    if (!isMerged)
      merged.push_back(std::move(channel));
  }
  channels = std::move(merged);
}

SmallVector<ChannelBuffers, 0> tile::groupBuffers(ArrayRef<PipelinePlan> plans,
                                                  bool isFew,
                                                  bool separatesDepths) {
  // Describe each buffer as if it had a channel of its own, then merge equal
  // ones.
  llvm::MapVector<Operation *, ChannelBuffers> single;
  for (auto [i, plan] : llvm::enumerate(plans))
    for (const PipedBuffer &buffer : plan.getBuffers()) {
      ChannelBuffers &channel = single[buffer.alloc];
      channel.reads.resize(2 * plans.size());
      std::tie(channel.reads[2 * i], channel.reads[2 * i + 1]) =
          getReads(plan.getStatements(), buffer);
      channel.depth = std::max(channel.depth, buffer.versions);
      for (Operation *writer : buffer.writers)
        addKind(writer, channel.kinds);
    }
  SmallVector<ChannelBuffers, 0> channels;
  for (auto &[alloc, own] : single) {
    auto *it = llvm::find_if(channels, [&, &own = own](const auto &channel) {
      return channel.reads == own.reads &&
             (!separatesDepths || channel.depth == own.depth);
    });
    if (it == channels.end()) {
      channels.push_back(own);
      it = &channels.back();
    }
    LDBG() << "buffer at " << alloc->getLoc() << " with " << own.depth
           << " versions: channel " << (it - channels.begin());
    it->allocs.push_back(cast<AllocSharedOp>(alloc));
    it->depth = std::max(it->depth, own.depth);
    it->addKinds(own.kinds);
  }
  if (isFew)
    mergeChannels(plans, channels);
  return channels;
}

void ChannelBuffers::addKinds(ArrayRef<ProducerKind> more) {
  for (ProducerKind kind : more)
    if (!llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
}

void ChannelBuffers::create(RewriterBase &rewriter, Block &entry,
                            Cursors &cursors) {
  MLIRContext *context = rewriter.getContext();
  SmallVector<Value> buffers;
  rewriter.setInsertionPointToStart(&entry);
  for (AllocSharedOp alloc : allocs) {
    FailureOr<MemRefType> type =
        getVersionedType(alloc.getBuffer().getType(), depth,
                         [&] { return alloc.emitOpError(); });
    Value buffer = AllocSharedOp::create(rewriter, alloc.getLoc(), *type,
                                         alloc.getAlignmentAttr());
    buffers.push_back(buffer);
    versions[alloc] = buffer;
  }
  Location loc = allocs.front().getLoc();
  ProducerKind kind = kinds.size() == 1 ? kinds.front() : ProducerKind::Mixed;
  channel = ChannelOp::create(rewriter, loc, ChannelType::get(context, depth),
                              buffers, ProducerKindAttr::get(context, kind));
  auto cursor = CursorType::get(context, depth);
  for (Value *value : {&producer, &consumer}) {
    *value = CursorOp::create(rewriter, loc, cursor);
    cursors.add(*value);
  }
}

Value ChannelBuffers::getLast(RewriterBase &rewriter, Cursors &cursors) {
  if (!last) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(consumer);
    last = CursorOp::create(rewriter, channel.getLoc(), consumer.getType());
    cursors.addLast(last, consumer);
  }
  return last;
}
