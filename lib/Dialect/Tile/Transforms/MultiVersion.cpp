//===- MultiVersion.cpp - Versions of buffers, and their channels ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multi-buffering: each iteration in flight has its own version of a buffer.
// For registers this is modulo variable expansion (Lam, "Software Pipelining:
// An Effective Scheduling Technique for VLIW Machines", 1988). Here the
// versions are slots of a channel.
//
// The pass makes channels of the plans of `--tile-plan-pipeline`. It checks the
// plans of all loops of a kernel, and groups their buffers into channels
// (ChannelBuffers.cpp). It then rewrites each loop into a producing and a
// consuming half (SplitProducers.cpp), and lets code after the loops read the
// last version. Several loops may share a buffer. They then share its channel:
// the cursors are values that are carried from loop to loop, through all
// regions between them, so slots and phases count the transactions of the whole
// kernel.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"
#include "tilews/Support/TargetInfo.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_MULTIVERSIONPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-multi-version"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numChannels, "Channels created");

/// Operations that use an allocation, with that allocation.
using Uses = SmallVector<std::pair<Operation *, AllocSharedOp>>;

/// Returns the uses of each channel's buffers, in the order of the kernel.
static SmallVector<Uses> findUses(gpu::GPUFuncOp kernel,
                                  ArrayRef<ChannelBuffers> channels) {
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [number, channel] : llvm::enumerate(channels))
    for (AllocSharedOp alloc : channel.allocs)
      numbers[alloc] = number;
  SmallVector<Uses> uses(channels.size());
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      AllocSharedOp alloc = getViewedAlloc(access.operand->get());
      if (auto it = numbers.find(alloc); alloc && it != numbers.end())
        uses[it->second].push_back({op, alloc});
    }
  });
  return uses;
}

/// Lets operations that still use a buffer of a channel read the version that
/// was consumed last, and erases the buffers. These operations are the reads
/// after the loops.
static void useLastVersions(RewriterBase &rewriter, gpu::GPUFuncOp kernel,
                            MutableArrayRef<ChannelBuffers> channels,
                            Cursors &cursors) {
  SmallVector<Uses> uses = findUses(kernel, channels);
  for (auto [channel, own] : llvm::zip_equal(channels, uses)) {
    for (auto [op, alloc] : own)
      useVersion(rewriter, op, alloc, channel.versions.at(alloc),
                 channel.getLast(rewriter, cursors));
    for (AllocSharedOp alloc : channel.allocs)
      eraseWithViews(rewriter, alloc);
  }
}

/// Gives each channel `depth` slots, or as many as its loops need. Fails with
/// an error if `depth` is too small, or if the layout of a buffer cannot have
/// that many versions.
static LogicalResult setDepths(MutableArrayRef<ChannelBuffers> channels,
                               std::optional<int64_t> depth) {
  for (ChannelBuffers &channel : channels) {
    AllocSharedOp first = channel.allocs.front();
    if (depth && *depth < channel.depth)
      return first.emitError("buffer needs ")
             << channel.depth << " versions in its loops, found a depth of "
             << *depth;
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

namespace {
/// The channels and the plans of the loops of a kernel.
struct PlannedChannels {
  SmallVector<ChannelBuffers, 0> channels;
  /// Those of inner loops come first.
  SmallVector<PipelinePlan, 0> plans;
};
} // namespace

/// Reads the plans of `loops` from the attributes of their operations. Fails
/// with an error if one is wrong or is refused.
static FailureOr<PlannedChannels> readPlans(gpu::GPUFuncOp kernel,
                                            ArrayRef<scf::ForOp> loops) {
  KernelPipelines pipelines(kernel, loops);
  if (failed(pipelines.emitErrors()))
    return failure();
  if (!pipelines.getRefusals().empty()) {
    const Refusal &first = pipelines.getRefusals().front();
    return first.op->emitError(isa<scf::ForOp>(first.op) ? "loop" : "operation")
           << " has no pipeline: " << first.reason;
  }
  PlannedChannels planned;
  // On AMD GPUs waits count loads, so that one more channel costs nothing. On
  // NVIDIA GPUs it has barriers of its own.
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  bool isAMD = false;
  if (module && module.getTargetsAttr()) {
    FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
    if (failed(target))
      return failure();
    isAMD = target->isAMD();
  }
  planned.channels = groupBuffers(
      pipelines.getPlans(), isLimitedTo(kernel, ScheduleLimit::FewChannels),
      /*separatesDepths=*/isAMD);
  planned.plans = pipelines.takePlans();
  return planned;
}

FailureOr<SmallVector<ChannelOp>>
tile::multiVersion(ArrayRef<scf::ForOp> loops, std::optional<int64_t> depth) {
  SmallVector<ChannelOp> made;
  if (loops.empty())
    return made;
  auto kernel = loops.front()->getParentOfType<gpu::GPUFuncOp>();
  FailureOr<PlannedChannels> planned = readPlans(kernel, loops);
  if (failed(planned))
    return failure();
  SmallVector<ChannelBuffers, 0> &channels = planned->channels;
  if (failed(setDepths(channels, depth)))
    return failure();
  IRRewriter rewriter(kernel.getContext());
  Cursors cursors(rewriter);
  for (ChannelBuffers &channel : channels) {
    channel.create(rewriter, kernel.getBody().front(), cursors);
    made.push_back(channel.channel.getDefiningOp<ChannelOp>());
    LDBG() << "channel at " << channel.channel.getLoc() << ": "
           << channel.allocs.size() << " buffers, " << channel.depth
           << " slots";
  }
  // For an outer loop an inner one is a statement, so the inner one is
  // rewritten first. This invalidates the plan of the outer loop, which is
  // therefore read anew from the attributes.
  llvm::SmallPtrSet<Operation *, 4> stale;
  for (PipelinePlan &plan : planned->plans) {
    scf::ForOp loop = plan.getLoop();
    if (stale.contains(loop)) {
      MemoryAccesses memory(kernel);
      plan = PipelinePlan::read(loop, memory, ForbiddenBuffers(),
                                [](const Refusal &) {});
    }
    for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
         outer = outer->getParentOfType<scf::ForOp>())
      stale.insert(outer);
    splitProducers(rewriter, plan, channels);
  }
  useLastVersions(rewriter, kernel, channels, cursors);
  cursors.carry(kernel.getBody());
  numChannels += made.size();
  return made;
}

/// Returns the loops to pipeline whose operations have stages and orders.
static SmallVector<scf::ForOp> getPlannedLoops(gpu::GPUFuncOp kernel) {
  return llvm::filter_to_vector(getLoopsToPipeline(kernel),
                                PipelinePlan::isAnnotated);
}

LogicalResult tile::multiVersion(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  // A plan by hand has not been checked yet. This drops it, with a remark, if
  // nothing would run ahead.
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
