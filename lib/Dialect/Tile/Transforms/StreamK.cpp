//===- StreamK.cpp - Split the iterations of all tiles among blocks -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decomposition of Osama et al., "Stream-K: Work-centric parallel
// decomposition for dense matrix-matrix multiplication on the GPU" (PPoPP
// 2023); blocks that share a tile add their sums atomically. The iterations of
// all tiles are numbered tile by tile, and each block runs an equal range of
// these numbers. With 3 tiles of 4 iterations and 2 blocks:
//
//   block 0: iterations 0 to 5    = tile 0 (0 to 3), tile 1 (0 and 1)
//   block 1: iterations 6 to 11   = tile 1 (2 and 3), tile 2 (0 to 3)
//
// The loop over tiles then visits the tiles of the range, and the inner loop is
// clipped to the range.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/SplitSums.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_STREAMKPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-stream-k"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops whose iterations blocks share");

namespace {
/// Index arithmetic at the insertion point of a rewriter.
struct Arithmetic {
  RewriterBase &rewriter;
  Location loc;

  Value constant(int64_t value) const {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  template <typename Op>
  Value make(Value a, Value b) const {
    return rewriter.createOrFold<Op>(loc, a, b);
  }
};

/// The iterations of this block: the numbers [first, end), where the iterations
/// of all tiles are numbered tile by tile.
struct Stream {
  Value first, end;
  /// The number of iterations of one tile, the same for all.
  Value perTile;
};
} // namespace

/// Divides the iterations of `loop` in all `tiles` among the blocks: equal
/// parts, with one more iteration for the first blocks. Creates the arithmetic
/// in front of `tiles`, whose bounds are those that `lowerPersistent` makes.
static Stream divideIterations(RewriterBase &rewriter, scf::ForOp tiles,
                               scf::ForOp loop) {
  rewriter.setInsertionPoint(tiles);
  Arithmetic index{rewriter, loop.getLoc()};
  Value block = tiles.getLowerBound(), blocks = tiles.getStep();
  Value perTile = createTripCount(rewriter, loop);
  if (!perTile.getType().isIndex())
    perTile = arith::IndexCastOp::create(rewriter, index.loc,
                                         rewriter.getIndexType(), perTile);
  Value all = index.make<arith::MulIOp>(tiles.getUpperBound(), perTile);
  Value each = index.make<arith::DivUIOp>(all, blocks);
  Value more = index.make<arith::RemUIOp>(all, blocks);
  auto begin = [&](Value number) {
    return index.make<arith::AddIOp>(index.make<arith::MulIOp>(number, each),
                                     index.make<arith::MinUIOp>(number, more));
  };
  Value next = index.make<arith::AddIOp>(block, index.constant(1));
  return {begin(block), begin(next), perTile};
}

/// Lets `tiles` visit the tiles of the iterations of `stream`.
static void visitTiles(RewriterBase &rewriter, scf::ForOp tiles,
                       const Stream &stream) {
  Arithmetic index{rewriter, tiles.getLoc()};
  Value one = index.constant(1);
  // Without iterations `first` and `end` are zero, and so is the number of
  // tiles. The division must only not be by zero.
  Value divisor = index.make<arith::MaxUIOp>(stream.perTile, one);
  Value first = index.make<arith::DivUIOp>(stream.first, divisor);
  Value end = index.make<arith::CeilDivUIOp>(stream.end, divisor);
  rewriter.modifyOpInPlace(tiles, [&] {
    tiles.setLowerBound(first);
    tiles.setUpperBound(end);
    tiles.setStep(one);
  });
}

/// Restricts `loop` to the iterations of a tile that are in `stream`.
static void clipToStream(RewriterBase &rewriter, scf::ForOp tiles,
                         scf::ForOp loop, const Stream &stream) {
  rewriter.setInsertionPoint(loop);
  Arithmetic index{rewriter, loop.getLoc()};
  Value begin =
      index.make<arith::MulIOp>(tiles.getInductionVar(), stream.perTile);
  Value first = index.make<arith::MaxSIOp>(
      index.make<arith::SubIOp>(stream.first, begin), index.constant(0));
  Value last = index.make<arith::MinSIOp>(
      index.make<arith::SubIOp>(stream.end, begin), stream.perTile);
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex()) {
    first = arith::IndexCastOp::create(rewriter, index.loc, type, first);
    last = arith::IndexCastOp::create(rewriter, index.loc, type, last);
  }
  restrictIterations(rewriter, loop, first, last);
}

/// Returns the reason why blocks cannot share the iterations of `loop` in all
/// tiles together; none if they can.
static MaybeRefusal checkStream(scf::ForOp loop, const SplitChecker &checker) {
  auto persistent = dyn_cast<PersistentOp>(loop->getParentOp());
  if (!persistent)
    return Refusal{loop, 1, "the loop is not in a 'tile.persistent'"};
  if (MaybeRefusal refusal = checkSplitTiles(persistent))
    return refusal;
  return checker.check(loop);
}

/// Moves what does not depend on the tile out of the loop over tiles, except
/// for loops: one with the same sum for each tile must stay with its tile.
static void hoistOperations(scf::ForOp tiles) {
  moveLoopInvariantCode(
      tiles.getLoopRegions(),
      [&](Value value, Region *) {
        return tiles.isDefinedOutsideOfLoop(value);
      },
      [](Operation *op, Region *) {
        return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
               isSpeculatable(op);
      },
      [&](Operation *op, Region *) { tiles.moveOutOfLoop(op); });
}

/// Shares the iterations of `loop` unless there is a refusal.
static LogicalResult streamLoop(RewriterBase &rewriter, scf::ForOp loop,
                                const MaybeRefusal &refusal) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (refusal) {
    LDBG() << "loop at " << loop.getLoc() << " stays: " << refusal->reason;
    return remarkUnsplit(loop, *refusal);
  }
  // Another loop of the same tiles may have been shared since the check.
  auto persistent = dyn_cast<PersistentOp>(loop->getParentOp());
  if (!persistent)
    return remarkUnsplit(
        loop, {loop, 1, "blocks share another loop of the same tiles"});
  // The number of iterations must be known before the loop over tiles: hoist
  // the bounds if they do not depend on the tile.
  scf::ForOp tiles = lowerPersistent(rewriter, persistent);
  hoistOperations(tiles);
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (!tiles.isDefinedOutsideOfLoop(bound))
      return remarkUnsplit(
          loop, {bound.getDefiningOp() ? bound.getDefiningOp() : tiles, 1,
                 "not all tiles have the same iterations"});
  LDBG() << "loop at " << loop.getLoc() << ": blocks share its iterations";
  Stream stream = divideIterations(rewriter, tiles, loop);
  visitTiles(rewriter, tiles, stream);
  clipToStream(rewriter, tiles, loop, stream);
  return success();
}

LogicalResult tile::streamK(RewriterBase &rewriter, scf::ForOp loop) {
  SplitChecker checker(loop->getParentOfType<gpu::GPUFuncOp>());
  return streamLoop(rewriter, loop, checkStream(loop, checker));
}

/// Shares the loops of `kernel` with `tile.stream_k`. Returns how many.
static int64_t streamLoops(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->removeAttr(TileDialect::kStreamK))
      loops.push_back(loop);
  });
  if (loops.empty())
    return 0;
  // All checks come first: lowering a persistent loop moves operations.
  SplitChecker checker(kernel);
  SmallVector<MaybeRefusal> refusals = llvm::map_to_vector(
      loops, [&](scf::ForOp loop) { return checkStream(loop, checker); });
  IRRewriter rewriter(kernel.getContext());
  int64_t count = 0;
  for (auto [loop, refusal] : llvm::zip_equal(loops, refusals))
    count += succeeded(streamLoop(rewriter, loop, refusal));
  return count;
}

namespace {
struct StreamKPass : tile::impl::StreamKPassBase<StreamKPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { numLoops += streamLoops(kernel); });
  }
};
} // namespace
