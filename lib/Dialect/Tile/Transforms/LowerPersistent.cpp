//===- LowerPersistent.cpp - Persistent loops to scf.for ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of the launch visit the tiles of a persistent loop in a fixed
// stride: block b of n takes the tiles b, b + n, b + 2 n, ... The number of a
// tile is then split into coordinates, in rasterized order for x and y:
//
//   tile.persistent (%x, %y) in (%X, %Y) { .. }
//     -> scf.for %t = %block to %X * %Y step %blocks {
//          %x, %y = rasterize %t
//          .. }
//
// Before this pass the order of tiles is open, which `--tile-split-k` and
// `--tile-stream-k` use.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Rasterize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_LOWERPERSISTENTPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-lower-persistent"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Persistent loops lowered");

/// Multiplies all `values`, of which there is at least one.
static Value multiply(OpBuilder &builder, Location loc, ValueRange values) {
  Value product = values.front();
  for (Value value : values.drop_front())
    product = builder.createOrFold<arith::MulIOp>(loc, product, value);
  return product;
}

/// Returns the number of this block in the launch, where x varies fastest, and
/// the number of blocks.
static std::pair<Value, Value> getLinearBlock(OpBuilder &builder,
                                              Location loc) {
  Value id, count;
  for (auto dim : {gpu::Dimension::z, gpu::Dimension::y, gpu::Dimension::x}) {
    Value own = gpu::BlockIdOp::create(builder, loc, dim);
    Value extent = gpu::GridDimOp::create(builder, loc, dim);
    if (!id) {
      id = own;
      count = extent;
      continue;
    }
    id = builder.createOrFold<arith::AddIOp>(
        loc, builder.createOrFold<arith::MulIOp>(loc, id, extent), own);
    count = builder.createOrFold<arith::MulIOp>(loc, count, extent);
  }
  return {id, count};
}

/// Returns the coordinates of tile `number`, x first.
static SmallVector<Value> getTileCoords(OpBuilder &builder, Location loc,
                                        PersistentOp op, Value number) {
  ValueRange extents = op.getExtents();
  if (extents.size() == 1)
    return {number};
  SmallVector<Value> coords(2);
  Value z;
  if (extents.size() == 3) {
    Value plane = multiply(builder, loc, extents.take_front(2));
    z = builder.createOrFold<arith::DivUIOp>(loc, number, plane);
    number = builder.createOrFold<arith::RemUIOp>(loc, number, plane);
  }
  std::tie(coords[0], coords[1]) = rasterize(
      builder, loc, op.getRasterizeAttr(), number, extents[0], extents[1]);
  if (z)
    coords.push_back(z);
  return coords;
}

scf::ForOp tile::lowerPersistent(RewriterBase &rewriter, PersistentOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  LDBG() << "loop at " << loc << " over " << op.getExtents().size()
         << " extents" << (op.getRasterizeAttr() ? ", rasterized" : "");
  auto [block, blocks] = getLinearBlock(rewriter, loc);
  Value tiles = multiply(rewriter, loc, op.getExtents());
  auto loop =
      scf::ForOp::create(rewriter, loc, block, tiles, blocks, op.getInitArgs());
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (op.getInitArgs().empty())
    rewriter.eraseOp(loop.getBody()->getTerminator());

  rewriter.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> arguments =
      getTileCoords(rewriter, loc, op, loop.getInductionVar());
  llvm::append_range(arguments, loop.getRegionIterArgs());
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
  rewriter.mergeBlocks(&op.getBody().front(), loop.getBody(), arguments);
  rewriter.replaceOp(op, loop.getResults());
  return loop;
}

namespace {
struct LowerPersistentPass
    : tile::impl::LowerPersistentPassBase<LowerPersistentPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<PersistentOp> loops;
    getOperation()->walk([&](PersistentOp op) { loops.push_back(op); });
    for (PersistentOp op : loops)
      (void)lowerPersistent(rewriter, op);
    numLoops += loops.size();
  }
};
} // namespace
