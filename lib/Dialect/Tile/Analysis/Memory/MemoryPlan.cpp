//===- MemoryPlan.cpp - Offsets and lifetimes in shared memory ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists what needs shared memory, and checks a plan: sorted by offset, each use
// is compared with those that start before it ends. A buffer is aligned to 16
// bytes, to 128 if TMA accesses it, and to the atom of its swizzle (at most
// 1024), because the hardware's swizzles permute address bits. Barriers live as
// long as the kernel, scratch memory as long as its operation.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The alignment of both ends that TMA needs in shared memory.
static constexpr int64_t kTmaAlignment = 128;

/// Returns whether TMA copies to or from the buffer or a view of it.
static bool isCopiedByTma(Value buffer) {
  SmallVector<Value> buffers = {buffer};
  for (size_t i = 0; i < buffers.size(); ++i)
    for (Operation *user : buffers[i].getUsers()) {
      if (hasInst(user, InstKind::Tma))
        return true;
      if (isa<ViewLikeOpInterface>(user))
        buffers.push_back(user->getResult(0));
    }
  return false;
}

static int64_t getAlignment(AllocSharedOp alloc) {
  // The hardware's swizzles permute addresses, within atoms of at most 1024
  // bytes. Other swizzles permute offsets into the buffer.
  int64_t swizzle = std::min(
      getSharedLayout(alloc.getBuffer().getType()).getSwizzle().getAtomBytes(),
      kArenaAlignment);
  int64_t tma = isCopiedByTma(alloc.getBuffer()) ? kTmaAlignment : 1;
  return std::max(
      {kMinAlignment, tma, swizzle, int64_t(alloc.getAlignment().value_or(1))});
}

StringRef MemoryUse::getKind() const {
  if (isa<AllocSharedOp>(op))
    return "buffer";
  return isa<ChannelOp, MBarrierOp>(op) ? "barriers" : "scratch memory";
}

SmallVector<MemoryUse> tile::getMemoryUses(gpu::GPUFuncOp kernel,
                                           const TargetInfo &target) {
  SharedBuffers buffers(kernel);
  SharedLiveness liveness(kernel, buffers);
  SmallVector<MemoryUse> uses;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocSharedOp>(op)) {
      uses.push_back({op,
                      {getBufferBytes(alloc.getBuffer().getType()),
                       getAlignment(alloc), liveness.getInterval(alloc)}});
    } else if (auto channel = dyn_cast<ChannelOp>(op)) {
      // The barriers are in use as long as the block runs.
      if (int64_t bytes = getBarrierBytes(channel))
        uses.push_back({op, {bytes, kBarrierBytes, kAlways}});
    } else if (auto barrier = dyn_cast<MBarrierOp>(op)) {
      int64_t bytes = kBarrierBytes * barrier.getBarrier().getType().getDepth();
      uses.push_back({op, {bytes, kBarrierBytes, kAlways}});
    } else if (int64_t bytes = getScratchBytes(op, target)) {
      uses.push_back({op, {bytes, kMinAlignment, liveness.getInterval(op)}});
    }
  });
  return uses;
}

void tile::printMemoryUses(ArrayRef<MemoryUse> uses, raw_ostream &os) {
  for (const MemoryUse &use : uses) {
    const PackedItem &item = use.item;
    os << use.getKind() << " of " << item.bytes << " bytes at " << item.offset
       << ", aligned to " << item.alignment << ", live ";
    if (item.live.end == kAlways.end)
      os << "always";
    else
      item.live.print(os);
    BriefPrinter(use.op, os) << ": " << use.op << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Checking a plan
//===----------------------------------------------------------------------===//

static std::string describe(const MemoryUse &use) {
  return llvm::formatv("{0} of {1} bytes at offset {2}", use.getKind(),
                       use.item.bytes, use.item.offset);
}

/// Returns what is wrong with the place of `item` alone.
static std::optional<std::string> check(const PackedItem &item, int64_t total) {
  if (item.offset % item.alignment != 0)
    return llvm::formatv("is no multiple of {0} bytes", item.alignment).str();
  if (item.offset < 0 || item.offset + item.bytes > total)
    return llvm::formatv("is not within the {0} bytes of the kernel", total)
        .str();
  return std::nullopt;
}

std::optional<PlanFault> tile::findPlanFault(gpu::GPUFuncOp kernel,
                                             const TargetInfo &target) {
  auto total = kernel->getAttrOfType<IntegerAttr>(TileDialect::kSharedBytes);
  if (!total)
    return std::nullopt;
  SmallVector<MemoryUse> uses = getMemoryUses(kernel, target);
  for (MemoryUse &use : uses) {
    auto offset = use.op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return PlanFault{use.op, (use.getKind() + " without a place").str()};
    use.item.offset = offset.getInt();
    if (auto fault = check(use.item, total.getInt()))
      return PlanFault{use.op, describe(use) + " " + *fault};
  }
  llvm::stable_sort(uses, [](const MemoryUse &a, const MemoryUse &b) {
    return a.item.offset < b.item.offset;
  });
  for (auto [i, use] : llvm::enumerate(uses))
    for (const MemoryUse &next : ArrayRef(uses).drop_front(i + 1)) {
      if (next.item.offset >= use.item.offset + use.item.bytes)
        break;
      if (use.item.live.overlaps(next.item.live))
        return PlanFault{next.op,
                         describe(next) + " shares bytes with " +
                             describe(use) + ", which is in use meanwhile",
                         use.op};
    }
  return std::nullopt;
}
