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
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

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

/// Fails with an error, and a note for each use, if the arena is larger than
/// the shared memory of a block.
static LogicalResult checkLimit(gpu::GPUFuncOp kernel, const TargetInfo &target,
                                int64_t total, ArrayRef<MemoryUse> uses) {
  if (total <= target.maxSharedBytes)
    return success();
  InFlightDiagnostic diag = kernel.emitError("kernel '")
                            << kernel.getName() << "' needs " << total
                            << " bytes of shared memory, but " << target.chip
                            << " has " << target.maxSharedBytes
                            << " for a block; use smaller tiles";
  if (llvm::any_of(
          uses, [](const MemoryUse &use) { return countVersions(use.op) > 1; }))
    diag << " or fewer stages";
  for (const MemoryUse &use : uses) {
    Diagnostic &note = diag.attachNote(use.op->getLoc());
    note << use.getKind() << " of " << use.item.bytes << " bytes at offset "
         << use.item.offset;
    if (int64_t versions = countVersions(use.op); versions > 1)
      note << ", in " << versions << " versions";
  }
  return diag;
}

/// Writes the offsets of all uses and the size of the arena into the kernel's
/// attributes.
static LogicalResult planSharedMemory(gpu::GPUFuncOp kernel,
                                      const TargetInfo &target) {
  if (failed(checkOrigins(kernel, SharedBuffers(kernel))))
    return failure();
  SmallVector<MemoryUse> uses = getMemoryUses(kernel, target);
  if (failed(checkAlignment(uses)))
    return failure();
  int64_t total =
      llvm::alignTo(place(uses, target.maxSharedBytes), kMinAlignment);
  if (failed(checkLimit(kernel, target, total, uses)))
    return failure();

  Builder builder(kernel.getContext());
  // Remove the offsets of an earlier plan: an operation that has one may need
  // no memory any more.
  kernel.walk([](Operation *op) { op->removeAttr(TileDialect::kOffset); });
  for (const MemoryUse &use : uses) {
    LDBG() << use.getKind() << " at " << use.op->getLoc() << ": "
           << use.item.bytes << " bytes at offset " << use.item.offset;
    use.op->setAttr(TileDialect::kOffset,
                    builder.getI64IntegerAttr(use.item.offset));
  }
  kernel->setAttr(TileDialect::kSharedBytes, builder.getI64IntegerAttr(total));
  numBytes += total;
  return success();
}

namespace {
struct PlanSharedMemoryPass
    : tile::impl::PlanSharedMemoryPassBase<PlanSharedMemoryPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      FailureOr<TargetInfo> target = TargetInfo::get(kernel);
      return WalkResult(
          failure(failed(target) || failed(planSharedMemory(kernel, *target))));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
