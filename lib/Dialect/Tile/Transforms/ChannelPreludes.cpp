//===- ChannelPreludes.cpp - Channels for copies outside of pipelines -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

namespace tilews::tile {
#define GEN_PASS_DEF_CHANNELPRELUDESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static bool isTmaLoad(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && isShared(copy.getDest()) && hasInst(op, InstKind::Tma);
}

namespace {
/// A buffer that TMA copies of one block fill before that block reads it.
struct Prelude {
  AllocSharedOp alloc;
  /// The copies; then the operations of their block that read, or hold what
  /// reads, in program order.
  SmallVector<Operation *> writers, readers;
};
} // namespace

/// Whether cursors can be carried from the kernel's entry to `block`.
static bool isCarried(Block *block, gpu::GPUFuncOp kernel) {
  Operation *parent = block->getParentOp();
  while (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(parent))
    parent = parent->getParentOp();
  return parent == kernel;
}

/// The prelude that fills `alloc`; none if it is used in another way.
static std::optional<Prelude> getPrelude(AllocSharedOp alloc,
                                         gpu::GPUFuncOp kernel,
                                         ArrayRef<MemoryAccess> accesses) {
  Prelude prelude{alloc, {}, {}};
  Block *block = nullptr;
  for (const MemoryAccess &access : accesses) {
    if (!access.shared || !access.roots.contains(alloc))
      continue;
    if (getViewedAlloc(access.access.operand->get()) != alloc)
      return std::nullopt;
    if (access.writes()) {
      // What a pipeline has scheduled keeps its place there.
      if (!isTmaLoad(access.op) || access.op->hasAttr(TileDialect::kStage) ||
          (block && access.op->getBlock() != block))
        return std::nullopt;
      block = access.op->getBlock();
      prelude.writers.push_back(access.op);
    } else {
      prelude.readers.push_back(access.op);
    }
  }
  if (!block || prelude.readers.empty() || !isCarried(block, kernel))
    return std::nullopt;
  for (Operation *&reader : prelude.readers) {
    reader = block->findAncestorOpInBlock(*reader);
    if (!reader || !prelude.writers.back()->isBeforeInBlock(reader))
      return std::nullopt;
  }
  return prelude;
}

static LogicalResult addChannel(RewriterBase &rewriter, const Prelude &prelude,
                                gpu::GPUFuncOp kernel) {
  AllocSharedOp alloc = prelude.alloc;
  Location loc = alloc.getLoc();
  MLIRContext *context = rewriter.getContext();
  FailureOr<MemRefType> type =
      getVersionedType(alloc.getBuffer().getType(), /*versions=*/1,
                       [&] { return alloc.emitOpError(); });
  if (failed(type))
    return failure();
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  Value versions =
      AllocSharedOp::create(rewriter, loc, *type, alloc.getAlignmentAttr());
  Value channel =
      ChannelOp::create(rewriter, loc, ChannelType::get(context, 1), versions,
                        ProducerKindAttr::get(context, ProducerKind::Tma));
  Cursors cursors(rewriter);
  Value producer = CursorOp::create(rewriter, loc, CursorType::get(context, 1));
  Value consumer = CursorOp::create(rewriter, loc, CursorType::get(context, 1));
  cursors.add(producer);
  cursors.add(consumer);

  rewriter.setInsertionPoint(prelude.writers.front());
  AcquireOp::create(rewriter, loc, channel, producer);
  for (Operation *writer : prelude.writers)
    useVersion(rewriter, writer, alloc, versions, producer);
  rewriter.setInsertionPointAfter(prelude.writers.back());
  CommitOp::create(rewriter, loc, channel, producer);
  AdvanceOp::create(rewriter, loc, producer);
  rewriter.setInsertionPoint(prelude.readers.front());
  WaitOp::create(rewriter, loc, channel, consumer, /*pending=*/IntegerAttr());
  for (Operation *reader : llvm::SetVector<Operation *>(prelude.readers.begin(),
                                                        prelude.readers.end()))
    useVersion(rewriter, reader, alloc, versions, consumer);
  rewriter.setInsertionPointAfter(prelude.readers.back());
  ReleaseOp::create(rewriter, loc, channel, consumer);
  AdvanceOp::create(rewriter, loc, consumer);
  cursors.carry(kernel.getBody());
  eraseWithViews(rewriter, alloc);
  return success();
}

/// Of the buffers that could have a channel those whose copies the load role
/// can start: it runs ahead, so the data of none of them may decide what it
/// does, nor may what it does for them follow from what the other role
/// computes. None if there will be no roles; copies are then better off without
/// a channel.
static FailureOr<SmallVector<AllocSharedOp>>
chooseBuffers(gpu::GPUFuncOp kernel) {
  SmallVector<AllocSharedOp> buffers, chosen;
  MemoryAccesses memory(kernel);
  auto accesses = memory.get(kernel);
  kernel.walk([&](AllocSharedOp alloc) {
    if (llvm::none_of(alloc->getUsers(), llvm::IsaPred<ChannelOp>) &&
        getPrelude(alloc, kernel, accesses))
      buffers.push_back(alloc);
  });
  if (buffers.empty())
    return chosen;
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  auto canHaveRoles = [&](ArrayRef<AllocSharedOp> more) {
    return !RoleAssignment(kernel, more).run(*target);
  };
  if (canHaveRoles(buffers))
    return buffers;
  for (AllocSharedOp alloc : buffers) {
    chosen.push_back(alloc);
    if (!canHaveRoles(chosen))
      chosen.pop_back();
  }
  return chosen;
}

LogicalResult tile::channelPreludes(gpu::GPUFuncOp kernel) {
  bool hasChannels = false, hasRoles = false;
  kernel.walk([&](Operation *op) {
    hasChannels |= isa<ChannelOp>(op);
    hasRoles |= isa<SpecializeOp>(op);
  });
  if (!hasChannels || hasRoles)
    return success();
  FailureOr<SmallVector<AllocSharedOp>> allocs = chooseBuffers(kernel);
  if (failed(allocs))
    return failure();
  IRRewriter rewriter(kernel.getContext());
  for (AllocSharedOp alloc : *allocs) {
    // Each channel changes the loops around it.
    MemoryAccesses memory(kernel);
    std::optional<Prelude> prelude =
        getPrelude(alloc, kernel, memory.get(kernel));
    if (prelude && failed(addChannel(rewriter, *prelude, kernel)))
      return failure();
  }
  return success();
}

namespace {
struct ChannelPreludesPass
    : tile::impl::ChannelPreludesPassBase<ChannelPreludesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return failed(channelPreludes(kernel)) ? WalkResult::interrupt()
                                             : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
