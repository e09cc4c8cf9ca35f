//===- RasterizeBlocks.cpp - Order in which blocks take tiles -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are launched in the order of their ids, x fastest. Blocks that run at
// the same time should read the same rows and columns, so that these stay in
// the L2 cache. The attribute `tile.rasterize` asks for another order of tiles,
// such as panels of 8 rows, one after the other. This pass numbers the blocks,
// computes the tile with that number in the order (Utils/Rasterize.h), and
// replaces the block ids by its coordinates:
//
//   %x = block_id x, %y = block_id y
//     -> %n = block_id y * grid_dim x + block_id x
//        %x, %y = rasterize %n
//
// Prints and assertions name these coordinates, too.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/BlockPlaces.h"
#include "tilews/Dialect/Tile/Utils/Rasterize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_RASTERIZEBLOCKSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-rasterize-blocks"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numKernels, "Kernels with rasterized blocks");

/// Returns the operations that read the block id in `dim`.
static SmallVector<gpu::BlockIdOp> getBlockIds(gpu::GPUFuncOp kernel,
                                               gpu::Dimension dim) {
  SmallVector<gpu::BlockIdOp> ids;
  kernel.walk([&](gpu::BlockIdOp id) {
    if (id.getDimension() == dim)
      ids.push_back(id);
  });
  return ids;
}

namespace {
/// One dimension of the launch, in units of clusters: the blocks of a cluster
/// stay neighbors. Creates the arithmetic at the builder's insertion point.
struct GridDim {
  Value cluster;     // extent of a cluster
  Value clusterId;   // of this block's cluster
  Value numClusters; // in the grid
  Value idWithin;    // of this block in its cluster

  GridDim(OpBuilder &builder, Location loc, gpu::Dimension dim,
          int64_t clusterExtent) {
    Value id = gpu::BlockIdOp::create(builder, loc, dim);
    Value extent = gpu::GridDimOp::create(builder, loc, dim);
    cluster = arith::ConstantIndexOp::create(builder, loc, clusterExtent);
    clusterId = builder.createOrFold<arith::DivUIOp>(loc, id, cluster);
    numClusters = builder.createOrFold<arith::DivUIOp>(loc, extent, cluster);
    idWithin = builder.createOrFold<arith::RemUIOp>(loc, id, cluster);
  }

  /// Returns the id of this block if its cluster were number `newCluster`.
  Value getBlockId(OpBuilder &builder, Location loc, Value newCluster) const {
    Value first = builder.createOrFold<arith::MulIOp>(loc, newCluster, cluster);
    return builder.createOrFold<arith::AddIOp>(loc, first, idWithin);
  }
};
} // namespace

void tile::rasterizeBlocks(RewriterBase &rewriter, gpu::GPUFuncOp kernel) {
  auto order = kernel->getAttrOfType<RasterizeAttr>(TileDialect::kRasterize);
  if (!order)
    return;
  rewriter.modifyOpInPlace(
      kernel, [&] { kernel->removeAttr(TileDialect::kRasterize); });
  nameBlocks(rewriter, kernel);
  auto xs = getBlockIds(kernel, gpu::Dimension::x);
  auto ys = getBlockIds(kernel, gpu::Dimension::y);
  LDBG() << "kernel @" << kernel.getName() << ": " << order << " for "
         << xs.size() + ys.size() << " block ids";
  if (xs.empty() && ys.empty())
    return;

  int64_t clusterX = 1, clusterY = 1;
  if (auto cluster =
          kernel->getAttrOfType<DenseI32ArrayAttr>(TileDialect::kCluster)) {
    clusterX = cluster[0];
    clusterY = cluster[1];
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  GridDim x(rewriter, loc, gpu::Dimension::x, clusterX);
  GridDim y(rewriter, loc, gpu::Dimension::y, clusterY);
  Value id = rewriter.createOrFold<arith::AddIOp>(
      loc,
      rewriter.createOrFold<arith::MulIOp>(loc, y.clusterId, x.numClusters),
      x.clusterId);
  auto [newX, newY] =
      rasterize(rewriter, loc, order, id, x.numClusters, y.numClusters);
  Value blockX = x.getBlockId(rewriter, loc, newX);
  Value blockY = y.getBlockId(rewriter, loc, newY);
  for (gpu::BlockIdOp old : xs)
    rewriter.replaceOp(old, blockX);
  for (gpu::BlockIdOp old : ys)
    rewriter.replaceOp(old, blockY);
  ++numKernels;
}

namespace {
struct RasterizeBlocksPass
    : tile::impl::RasterizeBlocksPassBase<RasterizeBlocksPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk(
        [&](gpu::GPUFuncOp kernel) { rasterizeBlocks(rewriter, kernel); });
  }
};
} // namespace
