//===- StageStores.cpp - Stores of fragments by TMA -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All blocks store their tiles at about the same time, and threads wait until
// the memory has accepted the stores. A TMA copy from shared memory does not
// block the threads: it runs while the role starts the next tile. So a store of
// a fragment at the end of a tile goes through a shared buffer:
//
//   tile.store %c to %C[%m, %n]
//     -> tile.store %c to %s            // shared memory
//        tile.copy %s to %C[%m, %n]     // TMA
//
// The buffer must not reduce the number of blocks that fit on a multiprocessor.
// If the whole tile has no room, the fragment is stored in parts, one after the
// other, through a smaller buffer.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_STAGESTORESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-stage-stores"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numStores, "Stores made by TMA copies");

/// Whether `store` runs only in alternate iterations of a loop, decided by a
/// carried value. `--tile-ping-pong` makes such code: another role stores in
/// the other iterations.
static bool isAlternate(StoreOp store) {
  auto branch = dyn_cast<scf::IfOp>(store->getParentOp());
  auto mine =
      branch ? dyn_cast<BlockArgument>(branch.getCondition()) : BlockArgument();
  return mine && mine.getOwner() == branch->getBlock();
}

/// Whether `store` is directly in a loop of a role that waits for tiles. That
/// is the loop over tiles of the output, whose next iteration overlaps with the
/// TMA copy.
static bool isBeforeMore(StoreOp store) {
  Operation *parent = store->getParentOp();
  auto loop =
      dyn_cast<scf::ForOp>(isAlternate(store) ? parent->getParentOp() : parent);
  return loop && store->getParentOfType<RoleOp>() &&
         loop.getBody()
             ->walk([](WaitOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

/// Returns in how many parts to store, so that `stores` buffers of this size do
/// not reduce the number of blocks that fit on a multiprocessor; more than four
/// blocks do not count. Returns 0 if there is no room for a part with rows of
/// 64 bytes.
static int64_t chooseParts(StoreOp store, int64_t stores, gpu::GPUFuncOp kernel,
                           const TargetInfo &target) {
  // In bytes: what the system reserves in each block, and the shortest row of a
  // part for which TMA is efficient. Then the number of blocks that suffices.
  constexpr int64_t reserved = 1024, least = 64, enough = 4;
  int64_t total = target.maxSharedBytes + reserved;
  int64_t used = countSharedBytes(kernel) + reserved;
  int64_t blocks = std::clamp<int64_t>(total / used, 1, enough);
  auto type = cast<RankedTensorType>(store.getValue().getType());
  int64_t width = type.getShape().back();
  int64_t bits = getStorageBits(type.getElementType());
  int64_t bytes = type.getNumElements() * bits / 8;
  for (int64_t parts = 1; width % parts == 0; parts *= 2) {
    if (width / parts * bits / 8 < least)
      return 0;
    if ((used + stores * bytes / parts) * blocks <= total)
      return parts;
  }
  return 0;
}

/// Creates a TMA copy from the buffer `shared` to part `index` of the region
/// that `store` writes. Parts divide the last dimension.
static CopyOp createCopy(OpBuilder &b, StoreOp store, Value shared,
                         int64_t index) {
  TileRegion region = store.getRegion();
  int64_t width = cast<MemRefType>(shared.getType()).getShape().back();
  region.sizes.back() = width;
  if (index > 0) {
    Value first = getValueOrCreateConstantIndexOp(b, store.getLoc(),
                                                  region.offsets.back());
    Value step =
        arith::ConstantIndexOp::create(b, store.getLoc(), width * index);
    region.offsets.back() =
        arith::AddIOp::create(b, store.getLoc(), first, step).getResult();
  }
  SmallVector<Value> offsets;
  SmallVector<int64_t> constants;
  dispatchIndexOpFoldResults(region.offsets, offsets, constants);
  auto copy = CopyOp::create(b, store.getLoc(), shared, ValueRange(),
                             store.getDest(), offsets, /*signal=*/Value(),
                             /*signal_slot=*/Value(), /*limit=*/Value(),
                             /*rows=*/Value(), ArrayRef<int64_t>(),
                             ArrayRef<int64_t>(), constants, region.sizes,
                             /*multicast=*/ClusterDimsAttr(),
                             /*limit_dim=*/IntegerAttr(),
                             /*row_dim=*/IntegerAttr());
  copy->setAttr(TileDialect::kInst,
                InstKindAttr::get(b.getContext(), InstKind::Tma));
  return copy;
}

/// Replaces `store` by stores to a shared buffer and TMA copies, in `parts`
/// parts. Declines with a remark, and returns false, if TMA cannot do a copy.
static bool stage(RewriterBase &rewriter, StoreOp store, int64_t parts) {
  Location loc = store.getLoc();
  auto type = cast<RankedTensorType>(store.getValue().getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t axis = type.getRank() - 1;
  shape[axis] /= parts;
  auto part = RankedTensorType::get(shape, type.getElementType());
  auto kernel = store->getParentOfType<gpu::GPUFuncOp>();
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(rewriter.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto alloc = AllocSharedOp::create(
      rewriter, loc,
      MemRefType::get(shape, type.getElementType(), AffineMap(), space),
      /*alignment=*/IntegerAttr());

  rewriter.setInsertionPoint(store);
  SmallVector<Operation *> created;
  for (int64_t i = 0; i < parts; ++i) {
    Value value = store.getValue();
    if (parts > 1) {
      value = SliceOp::create(rewriter, loc, part, value, axis, i);
      created.push_back(value.getDefiningOp());
    }
    auto write = StoreOp::create(rewriter, loc, value, alloc, ValueRange(),
                                 ArrayRef<int64_t>(), ArrayRef<int64_t>());
    CopyOp copy = createCopy(rewriter, store, alloc, i);
    created.append({write, copy});
    Divisibility divisibility;
    if (llvm::Error obstacle = checkTma(copy, divisibility)) {
      remarkAt(store, "tile-inst-0003: store uses threads, not TMA: ")
          << llvm::toString(std::move(obstacle));
      for (Operation *op : llvm::reverse(created))
        rewriter.eraseOp(op);
      rewriter.eraseOp(alloc);
      return false;
    }
  }
  rewriter.eraseOp(store);
  return true;
}

/// Returns whether an operation reads memory of `argument`.
static bool isRead(BlockArgument argument) {
  return llvm::any_of(argument.getOwner()->getArguments(), [&](auto other) {
    return mayAlias(argument, other) && hasReaders(other);
  });
}

LogicalResult tile::stageStores(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  if (!target->hasTma() || isLimitedTo(kernel, ScheduleLimit::NoPipeline))
    return success();
  SmallVector<StoreOp> stores;
  kernel.walk([&](StoreOp store) {
    auto dest = dyn_cast<BlockArgument>(store.getDest());
    if (dest && isBeforeMore(store) &&
        store.getValue().getType().getRank() >= 2 && !isRead(dest))
      stores.push_back(store);
  });
  IRRewriter rewriter(kernel.getContext());
  int64_t alternate = llvm::count_if(stores, isAlternate);
  for (StoreOp store : stores) {
    // Roles that alternate are to have the same number of parts, so there must
    // be room for the buffers of all that are still to come.
    int64_t alike = isAlternate(store) ? alternate-- : 1;
    int64_t parts = chooseParts(store, alike, kernel, *target);
    LDBG() << "store at " << store.getLoc() << ": " << parts
           << " parts through shared memory";
    if (parts > 0 && stage(rewriter, store, parts))
      ++numStores;
  }
  return success();
}

namespace {
struct StageStoresPass : tile::impl::StageStoresPassBase<StageStoresPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return failed(stageStores(kernel)) ? WalkResult::interrupt()
                                         : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
