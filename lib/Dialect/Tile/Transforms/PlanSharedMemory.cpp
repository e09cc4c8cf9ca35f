//===- PlanSharedMemory.cpp - Place shared memory in one arena ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Packing.h"
#include "tilews/Dialect/Tile/Analysis/Scratch.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <limits>

namespace tilews::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The lowering aligns the arena to this.
static constexpr int64_t kArenaAlignment = 1024;
/// How much more memory a kernel may take to save barriers.
static constexpr int64_t kSpareBytes = 4096;
/// The widest access, which every buffer and scratch memory allows.
static constexpr int64_t kMinAlignment = 16;

/// From the begin of a kernel to its end.
static constexpr LiveInterval kAlways = {0,
                                         std::numeric_limits<int64_t>::max()};

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

/// What TMA needs at both ends of a copy to or from shared memory.
static constexpr int64_t kTmaAlignment = 128;

/// Whether TMA copies to or from the buffer or a view of it.
static bool isCopiedByTma(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    if (hasInst(user, InstKind::Tma))
      return true;
    return isa<ViewLikeOpInterface>(user) && isCopiedByTma(user->getResult(0));
  });
}

static FailureOr<int64_t> getAlignment(AllocSharedOp alloc) {
  // Only the hardware's own swizzles look at addresses, and theirs are no
  // longer than that; others permute offsets into the buffer.
  int64_t swizzle = std::min(
      getSharedLayout(alloc.getBuffer().getType()).getSwizzle().getAtomBytes(),
      kArenaAlignment);
  int64_t tma = isCopiedByTma(alloc.getBuffer()) ? kTmaAlignment : 1;
  int64_t alignment = std::max(
      {kMinAlignment, tma, swizzle, int64_t(alloc.getAlignment().value_or(1))});
  if (alignment > kArenaAlignment)
    return alloc.emitOpError("needs an alignment of ")
           << alignment << " bytes, but shared memory is aligned to "
           << kArenaAlignment;
  return alignment;
}

/// Everything in `kernel` that needs shared memory: the operations, and beside
/// them what they need.
static LogicalResult collect(gpu::GPUFuncOp kernel, const TargetInfo &target,
                             SmallVectorImpl<Operation *> &ops,
                             SmallVectorImpl<PackedItem> &items) {
  SharedBuffers buffers(kernel);
  if (failed(checkOrigins(kernel, buffers)))
    return failure();
  SharedLiveness liveness(kernel, buffers);
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocSharedOp>(op)) {
      FailureOr<int64_t> alignment = getAlignment(alloc);
      if (failed(alignment))
        return WalkResult::interrupt();
      ops.push_back(op);
      items.push_back({getBufferBytes(alloc.getBuffer().getType()), *alignment,
                       liveness.getInterval(alloc)});
    } else if (auto channel = dyn_cast<ChannelOp>(op)) {
      // Its barriers are in use as long as the block runs.
      if (int64_t bytes = getBarrierBytes(channel)) {
        ops.push_back(op);
        items.push_back({bytes, kMinAlignment, kAlways});
      }
    } else if (auto barrier = dyn_cast<MBarrierOp>(op)) {
      ops.push_back(op);
      items.push_back(
          {kBarrierBytes * barrier.getBarrier().getType().getDepth(),
           kMinAlignment, kAlways});
    } else if (int64_t bytes = getScratchBytes(op, target)) {
      ops.push_back(op);
      items.push_back({bytes, kMinAlignment, liveness.getInterval(op)});
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Places `items`. Where one reduction's scratch memory follows another's in
/// the same bytes, a barrier has to keep them apart; as they are small, each
/// gets bytes of its own if that costs little.
static int64_t place(ArrayRef<Operation *> ops,
                     MutableArrayRef<PackedItem> items, int64_t limit) {
  int64_t total = pack(items);
  SmallVector<PackedItem> apart(items);
  for (auto [op, item] : llvm::zip_equal(ops, apart))
    if (isa<ReduceOp>(op))
      item.live = kAlways;
  int64_t totalApart = pack(apart);
  if (totalApart > std::min(limit, total + kSpareBytes))
    return total;
  llvm::copy(apart, items.begin());
  return totalApart;
}

static LogicalResult checkLimit(gpu::GPUFuncOp kernel, const TargetInfo &target,
                                int64_t total, ArrayRef<Operation *> ops,
                                ArrayRef<PackedItem> items) {
  if (total <= target.maxSharedBytes)
    return success();
  InFlightDiagnostic diag = kernel.emitError("kernel '")
                            << kernel.getName() << "' needs " << total
                            << " bytes of shared memory, but " << target.chip
                            << " has " << target.maxSharedBytes
                            << " for a block; use smaller tiles";
  for (auto [op, item] : llvm::zip_equal(ops, items))
    diag.attachNote(op->getLoc())
        << (isa<AllocSharedOp>(op)           ? "buffer"
            : isa<ChannelOp, MBarrierOp>(op) ? "barriers"
                                             : "scratch memory")
        << " of " << item.bytes << " bytes at offset " << item.offset;
  return diag;
}

static LogicalResult planSharedMemory(gpu::GPUFuncOp kernel,
                                      const TargetInfo &target) {
  SmallVector<Operation *> ops;
  SmallVector<PackedItem> items;
  if (failed(collect(kernel, target, ops, items)))
    return failure();
  int64_t total =
      llvm::alignTo(place(ops, items, target.maxSharedBytes), kMinAlignment);
  if (failed(checkLimit(kernel, target, total, ops, items)))
    return failure();

  Builder builder(kernel.getContext());
  // An earlier plan may have placed what needs no memory any more.
  kernel.walk([](Operation *op) { op->removeAttr(TileDialect::kOffset); });
  for (auto [op, item] : llvm::zip_equal(ops, items))
    op->setAttr(TileDialect::kOffset, builder.getI64IntegerAttr(item.offset));
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
