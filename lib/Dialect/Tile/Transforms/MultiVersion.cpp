//===- MultiVersion.cpp - Versions of buffers, and their channels ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers that the loops share have one channel for all of them; its cursors go
// from loop to loop, wherever they are.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

namespace tilews::tile {
#define GEN_PASS_DEF_MULTIVERSIONPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Lets what uses a buffer outside of its loop read the last version.
static void useLastVersions(RewriterBase &rewriter, gpu::GPUFuncOp kernel,
                            ChannelBuffers &channel, Cursors &cursors) {
  SmallVector<std::pair<Operation *, AllocSharedOp>> uses;
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      AllocSharedOp alloc = getViewedAlloc(access.operand->get());
      if (llvm::is_contained(channel.allocs, alloc))
        uses.push_back({op, alloc});
    }
  });
  for (auto [op, alloc] : uses)
    useVersion(rewriter, op, alloc, channel.versions.at(alloc),
               channel.getLast(rewriter, cursors));
}

/// Gives all channels `depth` slots. Fails with an error if one needs more, or
/// if a layout cannot have as many versions as its channel has slots.
static LogicalResult setDepths(MutableArrayRef<ChannelBuffers> channels,
                               std::optional<int64_t> depth) {
  for (ChannelBuffers &channel : channels) {
    AllocSharedOp first = channel.allocs.front();
    if (depth && *depth < channel.depth)
      return first.emitError("its loops need ")
             << channel.depth << " versions of it, found a depth of " << *depth;
    channel.depth = depth.value_or(channel.depth);
    if (!ChannelType::getChecked([&] { return first.emitError(); },
                                 first.getContext(), channel.depth))
      return failure();
    for (AllocSharedOp alloc : channel.allocs)
      if (failed(getVersionedType(alloc.getBuffer().getType(), channel.depth,
                                  [&] { return alloc.emitOpError(); })))
        return failure();
  }
  return success();
}

FailureOr<SmallVector<ChannelOp>>
tile::multiVersion(ArrayRef<scf::ForOp> loops, std::optional<int64_t> depth) {
  SmallVector<ChannelOp> made;
  if (loops.empty())
    return made;
  auto kernel = loops.front()->getParentOfType<gpu::GPUFuncOp>();
  SmallVector<ChannelBuffers, 0> channels;
  SmallVector<scf::ForOp> planned;
  {
    KernelPipelines pipelines(kernel, loops);
    if (failed(pipelines.emitErrors()))
      return failure();
    for (const Refusal &refusal : pipelines.getRefusals())
      return refusal.op->emitError("it has no pipeline: ") << refusal.reason;
    channels = groupBuffers(pipelines.getPlans());
    for (const PipelinePlan &plan : pipelines.getPlans())
      planned.push_back(plan.getLoop());
  }
  if (failed(setDepths(channels, depth)))
    return failure();
  IRRewriter rewriter(kernel.getContext());
  Cursors cursors(rewriter);
  for (ChannelBuffers &channel : channels) {
    channel.create(rewriter, kernel.getBody().front(), cursors);
    made.push_back(channel.channel.getDefiningOp<ChannelOp>());
  }
  // Inner loops come first: for an outer one they are statements.
  for (scf::ForOp loop : planned) {
    MemoryAccesses memory(kernel);
    PipelinePlan plan = PipelinePlan::read(loop, memory, ForbiddenBuffers(),
                                           [](const Refusal &) {});
    splitTurns(rewriter, plan, channels);
  }
  for (ChannelBuffers &channel : channels) {
    useLastVersions(rewriter, kernel, channel, cursors);
    for (AllocSharedOp alloc : channel.allocs)
      eraseWithViews(rewriter, alloc);
  }
  cursors.carry(kernel.getBody());
  return made;
}

static SmallVector<scf::ForOp> getPlannedLoops(gpu::GPUFuncOp kernel) {
  return llvm::filter_to_vector(getLoopsToPipeline(kernel),
                                PipelinePlan::isAnnotated);
}

LogicalResult tile::multiVersion(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  // Declines the plans of loops that nothing has looked at so far.
  if (failed(planPipelines(getPlannedLoops(kernel))))
    return failure();
  return multiVersion(getPlannedLoops(kernel), /*depth=*/std::nullopt);
}

namespace {
struct MultiVersionPass : tile::impl::MultiVersionPassBase<MultiVersionPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { return WalkResult(multiVersion(kernel)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
