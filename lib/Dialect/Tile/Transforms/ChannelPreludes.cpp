//===- ChannelPreludes.cpp - Channels for copies outside of pipelines -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prelude is a TMA copy outside of pipelined loops, such as the load of the
// queries of an attention kernel. It gets a channel of one slot, so that the
// load role can start it:
//
//   copy Q -> qs; for { gemm qs .. }
//     -> acquire; copy Q -> slot; commit; wait; for { gemm slot .. }; release
//
// A channel for a buffer is useful only if the kernel can still be split into
// roles with it. That is tried by `RoleAssignment`: first with all buffers,
// then greedily, one buffer after the other.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_CHANNELPRELUDESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-channel-preludes"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numChannels, "Channels created");

static bool isTmaLoad(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && isShared(copy.getDest()) && hasInst(op, InstKind::Tma);
}

namespace {
/// A buffer that TMA copies fill, and that operations after them in the same
/// block read.
struct Prelude {
  AllocSharedOp alloc;
  /// The copies, and the operations of their block that read or contain a read.
  /// Both are in program order.
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

/// Returns the prelude that fills `alloc`. None if `alloc` is used in another
/// way, or if two copies may write the same elements: they are parts of one
/// transaction, and nothing orders the parts.
static std::optional<Prelude> getPrelude(AllocSharedOp alloc,
                                         gpu::GPUFuncOp kernel,
                                         ArrayRef<MemoryAccess> accesses) {
  Prelude prelude{alloc, {}, {}};
  SmallVector<const MemoryAccess *> writes;
  Block *block = nullptr;
  for (const MemoryAccess &access : accesses) {
    if (!access.shared || !access.roots.contains(alloc))
      continue;
    if (getViewedAlloc(access.access.operand->get()) != alloc)
      return std::nullopt;
    if (access.writes()) {
      // A copy with a stage belongs to a pipeline.
      if (!isTmaLoad(access.op) || access.op->hasAttr(TileDialect::kStage) ||
          (block && access.op->getBlock() != block) ||
          llvm::any_of(writes, [&](const MemoryAccess *earlier) {
            return mayOverlap(alloc, *earlier, access);
          }))
        return std::nullopt;
      block = access.op->getBlock();
      writes.push_back(&access);
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

/// Gives the buffer of `prelude` a channel of one slot. Fails with an error if
/// its layout cannot have versions.
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

/// Returns the buffers whose copies the load role can start. That role runs
/// ahead of the other one: it must not depend on the data it copies, and the
/// copies must not depend on a result of the other role. Returns no buffer if
/// the kernel cannot have roles, because then a channel costs time only.
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
    if (canHaveRoles(chosen))
      continue;
    LDBG() << "buffer at " << alloc.getLoc()
           << " gets no channel: the load role cannot start its copies";
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
  if (!hasChannels || hasRoles ||
      isLimitedTo(kernel, ScheduleLimit::FewChannels))
    return success();
  FailureOr<SmallVector<AllocSharedOp>> allocs = chooseBuffers(kernel);
  if (failed(allocs))
    return failure();
  IRRewriter rewriter(kernel.getContext());
  for (AllocSharedOp alloc : *allocs) {
    // The cursors of the channel before have replaced the loops around it, so
    // the analysis is computed anew.
    MemoryAccesses memory(kernel);
    std::optional<Prelude> prelude =
        getPrelude(alloc, kernel, memory.get(kernel));
    if (!prelude)
      continue;
    LDBG() << "buffer at " << alloc.getLoc()
           << " gets a channel: " << prelude->writers.size() << " copies, "
           << prelude->readers.size() << " readers";
    if (failed(addChannel(rewriter, *prelude, kernel)))
      return failure();
    ++numChannels;
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
