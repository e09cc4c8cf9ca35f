//===- PlanSharedMemory.cpp - Place shared memory in one arena ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// How much more memory a kernel may take to save barriers.
static constexpr int64_t kSpareBytes = 4096;

/// Checks that all shared memory comes from `tile.alloc_shared` and stays in
/// the region it is allocated for.
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

/// No address is a multiple of more than the arena's is.
static LogicalResult checkAlignment(ArrayRef<MemoryUse> uses) {
  for (const MemoryUse &use : uses)
    if (use.item.alignment > kArenaAlignment)
      return use.op->emitOpError("needs an alignment of ")
             << use.item.alignment << " bytes, but shared memory is aligned to "
             << kArenaAlignment;
  return success();
}

/// Places all uses. Where one reduction's scratch memory follows another's in
/// the same bytes, a barrier has to keep them apart; as they are small, each
/// gets bytes of its own if that costs little.
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
  for (auto [use, item] : llvm::zip_equal(uses, keepApart ? apart : together))
    use.item.offset = item.offset;
  return keepApart ? totalApart : total;
}

/// The versions that a buffer has for the slots of a channel.
static int64_t countVersions(Operation *op) {
  if (auto alloc = dyn_cast<AllocSharedOp>(op))
    if (ChannelOp channel = getChannelOf(alloc.getBuffer()))
      return channel.getChannel().getType().getDepth();
  return 1;
}

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
  // An earlier plan may have placed what needs no memory any more.
  kernel.walk([](Operation *op) { op->removeAttr(TileDialect::kOffset); });
  for (const MemoryUse &use : uses)
    use.op->setAttr(TileDialect::kOffset,
                    builder.getI64IntegerAttr(use.item.offset));
  kernel->setAttr(TileDialect::kSharedBytes, builder.getI64IntegerAttr(total));
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
