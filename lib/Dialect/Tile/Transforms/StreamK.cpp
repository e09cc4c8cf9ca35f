//===- StreamK.cpp - Share the turns of all tiles among blocks ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decomposition of Osama et al., "Stream-K: Work-centric parallel
// decomposition for dense matrix-matrix multiplication on the GPU" (PPoPP
// 2023), with sums that meet in atomic additions.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/SplitSums.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace tilews::tile {
#define GEN_PASS_DEF_STREAMKPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Index arithmetic at the builder's place.
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

/// The turns of all tiles, numbered tile by tile, that are this block's.
struct Stream {
  Value first, end;
  /// Of each tile.
  Value turns;
};
} // namespace

/// Deals the turns of `loop` in all `tiles` out to the blocks: equal parts, but
/// for one more turn in the first ones. In front of `tiles`, whose bounds are
/// those that `lowerPersistent` makes.
static Stream dealTurns(RewriterBase &rewriter, scf::ForOp tiles,
                        scf::ForOp loop) {
  rewriter.setInsertionPoint(tiles);
  Arithmetic index{rewriter, loop.getLoc()};
  Value block = tiles.getLowerBound(), blocks = tiles.getStep();
  Value turns = countTurns(rewriter, loop);
  if (!turns.getType().isIndex())
    turns = arith::IndexCastOp::create(rewriter, index.loc,
                                       rewriter.getIndexType(), turns);
  Value all = index.make<arith::MulIOp>(tiles.getUpperBound(), turns);
  Value each = index.make<arith::DivUIOp>(all, blocks);
  Value more = index.make<arith::RemUIOp>(all, blocks);
  auto begin = [&](Value number) {
    return index.make<arith::AddIOp>(index.make<arith::MulIOp>(number, each),
                                     index.make<arith::MinUIOp>(number, more));
  };
  Value next = index.make<arith::AddIOp>(block, index.constant(1));
  return {begin(block), begin(next), turns};
}

/// Lets `tiles` visit those that the turns of `stream` belong to.
static void visitTiles(RewriterBase &rewriter, scf::ForOp tiles,
                       const Stream &stream) {
  Arithmetic index{rewriter, tiles.getLoc()};
  Value one = index.constant(1);
  // No turns, no tiles, whatever is divided by.
  Value turns = index.make<arith::MaxUIOp>(stream.turns, one);
  Value first = index.make<arith::DivUIOp>(stream.first, turns);
  Value end = index.make<arith::CeilDivUIOp>(stream.end, turns);
  rewriter.modifyOpInPlace(tiles, [&] {
    tiles.setLowerBound(first);
    tiles.setUpperBound(end);
    tiles.setStep(one);
  });
}

/// Lets `loop` run those turns of a tile that are in `stream`.
static void takeTurnsOfTile(RewriterBase &rewriter, scf::ForOp tiles,
                            scf::ForOp loop, const Stream &stream) {
  rewriter.setInsertionPoint(loop);
  Arithmetic index{rewriter, loop.getLoc()};
  Value begin =
      index.make<arith::MulIOp>(tiles.getInductionVar(), stream.turns);
  Value first = index.make<arith::MaxSIOp>(
      index.make<arith::SubIOp>(stream.first, begin), index.constant(0));
  Value last = index.make<arith::MinSIOp>(
      index.make<arith::SubIOp>(stream.end, begin), stream.turns);
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex()) {
    first = arith::IndexCastOp::create(rewriter, index.loc, type, first);
    last = arith::IndexCastOp::create(rewriter, index.loc, type, last);
  }
  takeTurns(rewriter, loop, first, last);
}

LogicalResult tile::streamK(RewriterBase &rewriter, scf::ForOp loop) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto persistent = dyn_cast<PersistentOp>(loop->getParentOp());
  if (!persistent)
    return remarkUnsplit(loop, {loop, 1, "it is not in a 'tile.persistent'"});
  MaybeRefusal refusal = checkSplitTiles(persistent);
  if (!refusal)
    refusal = checkSplit(loop);
  if (refusal)
    return remarkUnsplit(loop, *refusal);
  scf::ForOp tiles = lowerPersistent(rewriter, persistent);
  moveLoopInvariantCode(cast<LoopLikeOpInterface>(*tiles));
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (!tiles.isDefinedOutsideOfLoop(bound))
      return remarkUnsplit(
          loop, {bound.getDefiningOp() ? bound.getDefiningOp() : tiles, 1,
                 "not all tiles have the same turns"});
  Stream stream = dealTurns(rewriter, tiles, loop);
  visitTiles(rewriter, tiles, stream);
  takeTurnsOfTile(rewriter, tiles, loop, stream);
  return success();
}

namespace {
struct StreamKPass : tile::impl::StreamKPassBase<StreamKPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->removeAttr(TileDialect::kStreamK))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops)
      (void)streamK(rewriter, loop);
  }
};
} // namespace
