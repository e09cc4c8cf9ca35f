//===- BlockPlaces.cpp - Which block prints and fails ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A print and an assertion name the block that they run in. Without operands
// for it, they mean the ids of the launch. When a pass gives the blocks other
// places, such as those of a rasterized grid, the user still means the place
// that the kernel sees. So the ids become operands, which the pass replaces
// with all other uses of block ids:
//
//   tile.print "x" %x : f32
//     -> %bx = gpu.block_id x, %by = ..., %bz = ...
//        tile.print "x" %x, %bx, %by, %bz : f32, index, index, index
//          {tile.block}
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/BlockPlaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Whether an operation names a block, and has no coordinates for it.
static bool meansBlockIds(Operation *op) {
  if (auto print = dyn_cast<PrintOp>(op))
    return print.getBlock().empty();
  auto assertion = dyn_cast<AssertOp>(op);
  return assertion && assertion.getBlock().empty();
}

static void addBlock(Operation *op, ValueRange block) {
  if (auto print = dyn_cast<PrintOp>(op)) {
    print.getValuesMutable().append(block);
    print->setAttr(TileDialect::kBlock, UnitAttr::get(op->getContext()));
    return;
  }
  cast<AssertOp>(op).getBlockMutable().assign(block);
}

void tile::nameBlocks(RewriterBase &rewriter, gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (meansBlockIds(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  SmallVector<Value> ids;
  for (auto dim : {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z})
    ids.push_back(gpu::BlockIdOp::create(rewriter, kernel.getLoc(), dim));
  for (Operation *op : ops)
    rewriter.modifyOpInPlace(op, [&] { addBlock(op, ids); });
}
