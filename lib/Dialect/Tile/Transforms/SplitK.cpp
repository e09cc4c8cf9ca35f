//===- SplitK.cpp - Split the iterations of a loop among blocks -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with few tiles leaves multiprocessors idle. With `tile.split_k = n`
// the launch gets n times the blocks, or a persistent loop n times the tiles.
// Each of n blocks with the same tile runs a part of the iterations of the loop
// over k: iterations [s * e, min((s + 1) * e, N)) for block s, where
// e = ceil(N / n). The kernel must add its results to the output atomically,
// which `SplitChecker` verifies.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/SplitSums.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/BlockPlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SPLITKPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-split-k"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops split among blocks");

/// Returns a refusal unless `loop` is directly in a kernel whose `tile.grid`
/// can be enlarged, or in a `tile.persistent` whose tile count can.
static MaybeRefusal checkPlace(scf::ForOp loop) {
  Operation *parent = loop->getParentOp();
  if (auto persistent = dyn_cast<PersistentOp>(parent))
    return checkSplitTiles(persistent);
  if (!isa<gpu::GPUFuncOp>(parent))
    return Refusal{loop, 1, "the loop is inside of another loop or a branch"};
  if (!parent->hasAttr(TileDialect::kGrid))
    return Refusal{loop, 1, "the kernel has no 'tile.grid' to enlarge"};
  return std::nullopt;
}

/// Makes `n` blocks of each along z. Block ids and extents that the kernel
/// reads, prints included, keep their values. Returns the number of this block
/// among the `n`.
static Value splitGrid(RewriterBase &rewriter, gpu::GPUFuncOp kernel,
                       int64_t n) {
  Location loc = kernel.getLoc();
  AffineMap grid =
      kernel->getAttrOfType<AffineMapAttr>(TileDialect::kGrid).getValue();
  SmallVector<AffineExpr> extents(grid.getResults());
  extents.resize(3, rewriter.getAffineConstantExpr(1));
  extents[2] = extents[2] * n;
  rewriter.modifyOpInPlace(kernel, [&] {
    kernel->setAttr(TileDialect::kGrid,
                    AffineMapAttr::get(AffineMap::get(
                        0, grid.getNumSymbols(), extents, loc.getContext())));
  });
  nameBlocks(rewriter, kernel);
  SmallVector<Operation *> old;
  kernel.walk([&](Operation *op) {
    auto id = dyn_cast<gpu::BlockIdOp>(op);
    auto extent = dyn_cast<gpu::GridDimOp>(op);
    if ((id && id.getDimension() == gpu::Dimension::z) ||
        (extent && extent.getDimension() == gpu::Dimension::z))
      old.push_back(op);
  });
  Value count;
  for (Operation *op : old) {
    rewriter.setInsertionPointAfter(op);
    count = arith::ConstantIndexOp::create(rewriter, loc, n);
    auto own = arith::DivUIOp::create(rewriter, loc, op->getResult(0), count);
    rewriter.replaceAllUsesExcept(op->getResult(0), own, own);
  }
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  Value id = gpu::BlockIdOp::create(rewriter, loc, gpu::Dimension::z);
  count = arith::ConstantIndexOp::create(rewriter, loc, n);
  return arith::RemUIOp::create(rewriter, loc, id, count);
}

/// Makes `n` tiles of each along the last extent. The index that the body sees
/// keeps its value. Returns the number of this tile among the `n`.
static Value splitTiles(RewriterBase &rewriter, PersistentOp op, int64_t n) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value count = arith::ConstantIndexOp::create(rewriter, loc, n);
  OpOperand &extent = op.getExtentsMutable()[op.getExtents().size() - 1];
  Value all = arith::MulIOp::create(rewriter, loc, extent.get(), count);
  rewriter.modifyOpInPlace(op, [&] { extent.set(all); });
  BlockArgument index = op.getTileIndices().back();
  rewriter.setInsertionPointToStart(&op.getBody().front());
  auto own = arith::DivUIOp::create(rewriter, loc, index, count);
  rewriter.replaceAllUsesExcept(index, own, own);
  return arith::RemUIOp::create(rewriter, loc, index, count);
}

/// Restricts `loop` to part `share` of `n` equal parts of its iterations.
static void takeShare(RewriterBase &rewriter, scf::ForOp loop, Value share,
                      int64_t n) {
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex())
    share = arith::IndexCastOp::create(rewriter, loc, type, share);
  Value count = arith::ConstantOp::create(rewriter, loc,
                                          rewriter.getIntegerAttr(type, n));
  Value iterations = createTripCount(rewriter, loop);
  Value each =
      rewriter.createOrFold<arith::CeilDivUIOp>(loc, iterations, count);
  Value first = rewriter.createOrFold<arith::MulIOp>(loc, share, each);
  Value last = rewriter.createOrFold<arith::AddIOp>(loc, first, each);
  last = rewriter.createOrFold<arith::MinSIOp>(loc, last, iterations);
  restrictIterations(rewriter, loop, first, last);
}

static LogicalResult splitLoop(RewriterBase &rewriter, scf::ForOp loop,
                               int64_t n, const SplitChecker &checker) {
  OpBuilder::InsertionGuard guard(rewriter);
  MaybeRefusal refusal = checkPlace(loop);
  if (!refusal)
    refusal = checker.check(loop);
  if (refusal) {
    LDBG() << "loop at " << loop.getLoc() << " stays: " << refusal->reason;
    return remarkUnsplit(loop, *refusal);
  }
  auto persistent = dyn_cast<PersistentOp>(loop->getParentOp());
  LDBG() << "loop at " << loop.getLoc() << " is split among " << n
         << (persistent ? " tiles" : " blocks along z");
  Value share =
      persistent
          ? splitTiles(rewriter, persistent, n)
          : splitGrid(rewriter, loop->getParentOfType<gpu::GPUFuncOp>(), n);
  takeShare(rewriter, loop, share, n);
  return success();
}

LogicalResult tile::splitK(RewriterBase &rewriter, scf::ForOp loop, int64_t n) {
  return splitLoop(rewriter, loop, n,
                   SplitChecker(loop->getParentOfType<gpu::GPUFuncOp>()));
}

void tile::splitLoops(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(TileDialect::kSplitK))
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  // Splitting a loop adds index arithmetic and erases nothing, so what the
  // checker found stays valid.
  SplitChecker checker(kernel);
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops) {
    int64_t n = loop->getAttrOfType<IntegerAttr>(TileDialect::kSplitK).getInt();
    loop->removeAttr(TileDialect::kSplitK);
    if (n > 1 && succeeded(splitLoop(rewriter, loop, n, checker)))
      ++numLoops;
  }
}

namespace {
struct SplitKPass : tile::impl::SplitKPassBase<SplitKPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { splitLoops(kernel); });
  }
};
} // namespace
