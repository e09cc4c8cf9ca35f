//===- MemoryRules.cpp - The plan of shared memory in a model -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Once memory is planned, each buffer, barrier and scratch memory has a place
// in the bytes of the kernel. The places are constants, so a model checks them
// once, before its threads run:
//
//   /* 12: %a = tile.alloc_shared {tile.offset = 8 : i64} : !buffer */
//   check_end(8, 256, 1024);
//   check_alignment(8, 16);
//
// Barriers are in use as long as the kernel runs, so they share no byte with
// anything. Buffers may share bytes at different times, which the accesses of
// a run show.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// The widest access of a thread, the unit of TMA in shared memory, and the
/// largest block in which a swizzle of the hardware permutes addresses.
static constexpr int64_t kWidestAccess = 16, kTmaUnit = 128,
                         kSwizzleBlock = 1024;

static bool isUsedByTma(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return hasInst(user, InstKind::Tma) ||
           (isa<ViewLikeOpInterface>(user) && isUsedByTma(user->getResult(0)));
  });
}

static int64_t getBufferAlignment(AllocSharedOp alloc) {
  MemRefType type = alloc.getBuffer().getType();
  int64_t atom = getSharedLayout(type).getSwizzle().getAtomBytes();
  return std::max({kWidestAccess,
                   isUsedByTma(alloc.getBuffer()) ? kTmaUnit : int64_t(1),
                   std::min(atom, kSwizzleBlock),
                   int64_t(alloc.getAlignment().value_or(1))});
}

namespace {
/// What needs shared memory, how much, and where it is; -1 without a place.
/// Barriers are always in use.
struct MemoryNeed {
  Operation *op;
  int64_t bytes, alignment;
  bool isBarrier = false;
  int64_t offset = -1;
};
} // namespace

static SmallVector<MemoryNeed> findNeeds(gpu::GPUFuncOp kernel,
                                         const TargetInfo &target) {
  SmallVector<MemoryNeed> needs;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto barrier = dyn_cast<MBarrierOp>(op);
    auto channel = dyn_cast<ChannelOp>(op);
    if (auto alloc = dyn_cast<AllocSharedOp>(op))
      needs.push_back({op, getBufferBytes(alloc.getBuffer().getType()),
                       getBufferAlignment(alloc)});
    else if (barrier || channel)
      needs.push_back(
          {op,
           barrier ? kBarrierBytes * barrier.getBarrier().getType().getDepth()
                   : getBarrierBytes(channel),
           kBarrierBytes, /*isBarrier=*/true});
    else
      needs.push_back({op, getScratchBytes(op, target), kWidestAccess});
  });
  llvm::erase_if(needs, [](const MemoryNeed &need) { return need.bytes == 0; });
  for (MemoryNeed &need : needs)
    if (auto offset = need.op->getAttrOfType<IntegerAttr>(TileDialect::kOffset))
      need.offset = offset.getInt();
  return needs;
}

static constexpr llvm::StringLiteral kMacros = R"(
/* The plan of shared memory. */
hidden byte is_aligned, is_inside, is_apart;
#define check_alignment(offset, unit) \
  is_aligned = (offset) % (unit) == 0; \
  check(is_aligned)
#define check_end(offset, size, end) \
  is_inside = (offset) >= 0 && (offset) + (size) <= (end); \
  check(is_inside)
#define check_apart(offset, size, other, other_size) \
  is_apart = (offset) + (size) <= (other) || (other) + (other_size) <= (offset); \
  check(is_apart)
)";

static FailureOr<TargetInfo> findTarget(gpu::GPUFuncOp kernel) {
  if (!kernel->hasAttr(TileDialect::kSharedBytes))
    return failure();
  return TargetInfo::get(kernel.getOperation());
}

StringRef promela::getMemoryPrelude(const KernelReader &reader) {
  return succeeded(findTarget(reader.getKernel())) ? StringRef(kMacros)
                                                   : StringRef();
}

void promela::checkMemory(const KernelReader &reader, ModelText &out) {
  gpu::GPUFuncOp kernel = reader.getKernel();
  FailureOr<TargetInfo> target = findTarget(kernel);
  if (failed(target))
    return;
  int64_t total =
      kernel->getAttrOfType<IntegerAttr>(TileDialect::kSharedBytes).getInt();
  SmallVector<MemoryNeed> needs = findNeeds(kernel, *target);
  auto getRange = [](const MemoryNeed &need) {
    return std::to_string(need.offset) + ", " + std::to_string(need.bytes);
  };
  for (auto [i, need] : llvm::enumerate(needs)) {
    out.comment(reader.getSource().getComment(need.op));
    out.line("check_end(" + getRange(need) + ", " + Twine(total) + ");");
    out.line("check_alignment(" + Twine(need.offset) + ", " +
             Twine(need.alignment) + ");");
    for (auto [j, other] : llvm::enumerate(needs))
      if (need.isBarrier && (other.isBarrier ? i < j : other.offset >= 0))
        out.line("check_apart(" + getRange(need) + ", " + getRange(other) +
                 ");");
  }
}
