//===- ChannelBuffers.cpp - Buffers that share a channel ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

std::pair<Operation *, Operation *>
tile::getReads(const LoopStatements &statements, const PipedBuffer &buffer) {
  unsigned depth = buffer.guards.size();
  return {statements.getAtDepth(buffer.readers.front(), depth),
          statements.getAtDepth(buffer.readers.back(), depth)};
}

ProducerKind tile::getProducerKind(Operation *op) {
  if (isa<CopyOp>(op) && hasInst(op, InstKind::CpAsync))
    return ProducerKind::CpAsync;
  return isa<CopyOp>(op) && isTma(op) ? ProducerKind::Tma : ProducerKind::Simt;
}

static void addKind(Operation *writer, SmallVectorImpl<ProducerKind> &kinds) {
  writer->walk([&](Operation *op) {
    ProducerKind kind = getProducerKind(op);
    bool writes = llvm::any_of(getSharedAccesses(op),
                               [](auto &access) { return access.writes(); });
    if (writes && !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  });
}

SmallVector<ChannelBuffers, 0>
tile::groupBuffers(ArrayRef<PipelinePlan> plans) {
  // What each buffer is like by itself, then those that are alike together.
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
      return channel.reads == own.reads;
    });
    if (it == channels.end()) {
      channels.push_back(own);
      it = &channels.back();
    }
    it->allocs.push_back(cast<AllocSharedOp>(alloc));
    it->depth = std::max(it->depth, own.depth);
    for (ProducerKind kind : own.kinds)
      if (!llvm::is_contained(it->kinds, kind))
        it->kinds.push_back(kind);
  }
  return channels;
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
