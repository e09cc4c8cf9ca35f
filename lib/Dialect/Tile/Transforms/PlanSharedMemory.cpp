//===- PlanSharedMemory.cpp - Place shared memory in one arena ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All shared memory of a kernel is one arena. Each use of it, a buffer, the
// barriers of a channel, or the scratch memory of an operation, has a size, an
// alignment and the interval in which it is live. `pack` gives each an offset,
// so that uses that are live at the same time do not overlap:
//
//   %a live in [0, 4], 8 KiB   -> tile.offset = 0
//   %b live in [2, 9], 8 KiB   -> tile.offset = 8192
//   %c live in [5, 9], 8 KiB   -> tile.offset = 0, the bytes of %a
//
// Bytes that are used again cost a barrier between the two uses. Scratch memory
// of reductions is small, so each gets bytes of its own while that is cheap.
//
// If the arena is too large, slots of pipelines are too many. With `retry`, the
// kernel is planned again from its saved copy (SavedKernels.cpp), with as many
// slots as should fit, then with one less each time, last without pipelines:
//
//   128 KiB in 2 versions, 65 KiB of scratch memory, limit 160 KiB -> 1 slot
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/SavedKernels.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-plan-shared-memory"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numBytes, "Bytes of shared memory, all kernels");

/// How many more bytes a kernel may use to save barriers.
static constexpr int64_t kSpareBytes = 4096;

/// Fails with an error unless all shared memory comes from `tile.alloc_shared`
/// and is not passed out of the region of its allocation.
static LogicalResult checkOrigins(gpu::GPUFuncOp kernel,
                                  const SharedBuffers &buffers) {
  for (BlockArgument argument : kernel.getArguments())
    if (isShared(argument))
      return kernel.emitError("argument ")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", expected shared memory to come from tile.alloc_shared";
  WalkResult result = kernel.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (isShared(value) && buffers.getRoots(value).empty()) {
        op->emitOpError("makes shared memory that is not planned; use "
                        "tile.alloc_shared");
        return WalkResult::interrupt();
      }
    if (!op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    for (Value value : op->getOperands())
      for (AllocSharedOp root : buffers.getRoots(value))
        if (!root->getParentRegion()->isProperAncestor(op->getParentRegion())) {
          InFlightDiagnostic diag =
              op->emitOpError("passes a shared buffer out of the region that "
                              "it is allocated for");
          diag.attachNote(root.getLoc())
              << "allocated here; move the allocation out of the region";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Fails with an error if a use needs a larger alignment than the arena has.
static LogicalResult checkAlignment(ArrayRef<MemoryUse> uses) {
  for (const MemoryUse &use : uses)
    if (use.item.alignment > kArenaAlignment)
      return use.op->emitOpError("needs an alignment of ")
             << use.item.alignment << " bytes, but shared memory is aligned to "
             << kArenaAlignment;
  return success();
}

/// Gives each use an offset. Returns the bytes of the arena. Reductions get
/// bytes of their own, as if their scratch memory were always live, if that
/// needs at most `kSpareBytes` more and stays within `limit`.
static int64_t place(MutableArrayRef<MemoryUse> uses, int64_t limit) {
  SmallVector<PackedItem> together, apart;
  for (const MemoryUse &use : uses) {
    together.push_back(use.item);
    apart.push_back(use.item);
    if (isa<ReduceOp>(use.op))
      apart.back().live = kAlways;
  }
  int64_t total = pack(together), totalApart = pack(apart);
  bool keepApart = totalApart <= std::min(limit, total + kSpareBytes);
  LDBG() << total << " bytes; " << totalApart
         << " with separate scratch memory, which is "
         << (keepApart ? "chosen" : "declined");
  for (auto [use, item] : llvm::zip_equal(uses, keepApart ? apart : together))
    use.item.offset = item.offset;
  return keepApart ? totalApart : total;
}

/// Returns the number of slots if `op` allocates the buffer of a channel, else
/// 1.
static int64_t countVersions(Operation *op) {
  if (auto alloc = dyn_cast<AllocSharedOp>(op))
    if (ChannelOp channel = getChannelOf(alloc.getBuffer()))
      return channel.getChannel().getType().getDepth();
  return 1;
}

namespace {
/// What needs shared memory in a kernel, with offsets.
struct Arena {
  SmallVector<MemoryUse> uses;
  int64_t bytes;

  /// Plans the arena of `kernel`. Fails with an error if that is not possible.
  static FailureOr<Arena> plan(gpu::GPUFuncOp kernel, const TargetInfo &target);

  bool fits(const TargetInfo &target) const {
    return bytes <= target.maxSharedBytes;
  }
  /// Returns the slots of the buffer that has the most.
  int64_t countSlots() const;
  /// Returns about how many bytes there are with fewer slots.
  int64_t estimateBytes(int64_t slots) const;
  /// Emits an error, and a note for each use: the arena does not fit.
  void emitTooLarge(gpu::GPUFuncOp kernel, const TargetInfo &target) const;
};
} // namespace

FailureOr<Arena> Arena::plan(gpu::GPUFuncOp kernel, const TargetInfo &target) {
  if (failed(checkOrigins(kernel, SharedBuffers(kernel))))
    return failure();
  Arena arena{getMemoryUses(kernel, target), 0};
  if (failed(checkAlignment(arena.uses)))
    return failure();
  arena.bytes =
      llvm::alignTo(place(arena.uses, target.maxSharedBytes), kMinAlignment);
  return arena;
}

int64_t Arena::countSlots() const {
  int64_t slots = 1;
  for (const MemoryUse &use : uses)
    slots = std::max(slots, countVersions(use.op));
  return slots;
}

int64_t Arena::estimateBytes(int64_t slots) const {
  int64_t left = bytes;
  for (const MemoryUse &use : uses)
    if (int64_t versions = countVersions(use.op); versions > slots)
      left -= use.item.bytes / versions * (versions - slots);
  return left;
}

void Arena::emitTooLarge(gpu::GPUFuncOp kernel,
                         const TargetInfo &target) const {
  InFlightDiagnostic diag = kernel.emitError("kernel '")
                            << kernel.getName() << "' needs " << bytes
                            << " bytes of shared memory, but " << target.chip
                            << " has " << target.maxSharedBytes
                            << " for a block; use smaller tiles";
  if (countSlots() > 1)
    diag << " or fewer stages";
  for (const MemoryUse &use : uses) {
    Diagnostic &note = diag.attachNote(use.op->getLoc());
    note << use.getKind() << " of " << use.item.bytes << " bytes at offset "
         << use.item.offset;
    if (int64_t versions = countVersions(use.op); versions > 1)
      note << ", in " << versions << " versions";
  }
}

//===----------------------------------------------------------------------===//
// Fewer slots
//===----------------------------------------------------------------------===//

/// Says why the loops of `saved`, which ask for `stages`, have at most `slots`
/// slots, or no pipeline if that is 0. With more, `refused` does not fit.
static void explainSlots(ArrayRef<std::pair<scf::ForOp, int64_t>> stages,
                         int64_t slots, const Arena &refused,
                         const TargetInfo &target) {
  int64_t before = refused.countSlots();
  std::string reason =
      llvm::formatv("with {0} {1}, the kernel needs {2} bytes of shared "
                    "memory, scratch memory included, and {3} has {4} for a "
                    "block",
                    before, before == 1 ? "slot" : "slots", refused.bytes,
                    target.chip, target.maxSharedBytes);
  for (auto [loop, asked] : stages) {
    if (slots == 0)
      emitPipelineRemark({loop, 18, reason});
    else if (asked > slots)
      remarkAt(loop, "tile-pipe-0018: the buffers of the loop get ")
          << slots << (slots == 1 ? " slot" : " slots") << " instead of "
          << std::min(asked, before) << ": " << reason;
  }
}

/// Plans `kernel`, whose arena `refused` does not fit, again from `saved` with
/// fewer slots. Returns an arena that fits. If there is none, restores the
/// kernel and fails.
static FailureOr<Arena> planFewerSlots(gpu::GPUFuncOp kernel,
                                       gpu::GPUFuncOp saved,
                                       const Arena &refused,
                                       const TargetInfo &target,
                                       function_ref<LogicalResult()> lower) {
  SmallVector<std::pair<scf::ForOp, int64_t>> stages;
  for (scf::ForOp loop : getLoopsToPipeline(saved))
    stages.push_back({loop, getNumStages(loop)});
  if (stages.empty() || isLimitedTo(kernel, ScheduleLimit::NoPipeline))
    return failure();
  DictionaryAttr attributes = kernel->getAttrDictionary();
  mlir::Region body;
  body.takeBody(kernel.getBody());
  int64_t slots = refused.countSlots() - 1;
  while (slots > 1 && refused.estimateBytes(slots) > target.maxSharedBytes)
    --slots;
  for (; slots >= 0; --slots) {
    if (failed(planWithSlots(kernel, saved, slots, lower)))
      continue;
    FailureOr<Arena> arena = Arena::plan(kernel, target);
    if (failed(arena) || !arena->fits(target))
      continue;
    explainSlots(stages, slots, refused, target);
    return arena;
  }
  kernel->setAttrs(attributes);
  kernel.getBody().takeBody(body);
  return failure();
}

/// Writes the offsets of all uses and the size of the arena into the kernel's
/// attributes.
static void annotate(gpu::GPUFuncOp kernel, const Arena &arena) {
  Builder builder(kernel.getContext());
  // Remove the offsets of an earlier plan: an operation that has one may need
  // no memory any more.
  kernel.walk([](Operation *op) { op->removeAttr(TileDialect::kOffset); });
  for (const MemoryUse &use : arena.uses) {
    LDBG() << use.getKind() << " at " << use.op->getLoc() << ": "
           << use.item.bytes << " bytes at offset " << use.item.offset;
    use.op->setAttr(TileDialect::kOffset,
                    builder.getI64IntegerAttr(use.item.offset));
  }
  kernel->setAttr(TileDialect::kSharedBytes,
                  builder.getI64IntegerAttr(arena.bytes));
  numBytes += arena.bytes;
}

namespace {
struct PlanSharedMemoryPass
    : tile::impl::PlanSharedMemoryPassBase<PlanSharedMemoryPass> {
  using PlanSharedMemoryPassBase::PlanSharedMemoryPassBase;

  void runOnOperation() override {
    // A kernel that is planned again gets other operations.
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation()->walk(
        [&](gpu::GPUFuncOp kernel) { kernels.push_back(kernel); });
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(plan(kernel)))
        return signalPassFailure();
  }

private:
  LogicalResult plan(gpu::GPUFuncOp kernel) {
    FailureOr<TargetInfo> target = TargetInfo::get(kernel);
    if (failed(target))
      return failure();
    FailureOr<Arena> arena = Arena::plan(kernel, *target);
    if (failed(arena))
      return failure();
    if (!arena->fits(*target)) {
      FailureOr<Arena> smaller = planAgainIfSaved(kernel, *arena, *target);
      if (failed(smaller)) {
        arena->emitTooLarge(kernel, *target);
        return failure();
      }
      arena = std::move(smaller);
    }
    annotate(kernel, *arena);
    return success();
  }

  FailureOr<Arena> planAgainIfSaved(gpu::GPUFuncOp kernel, const Arena &refused,
                                    const TargetInfo &target) {
    auto copies = getCachedAnalysis<SavedKernels>();
    gpu::GPUFuncOp saved =
        copies ? copies->get().get(kernel) : gpu::GPUFuncOp();
    OpPassManager passes(kernel->getName());
    if (!saved || retry.empty() || failed(parsePassPipeline(retry, passes)))
      return failure();
    return planFewerSlots(kernel, saved, refused, target,
                          [&] { return runPipeline(passes, kernel); });
  }
};
} // namespace
