//===- Scratch.cpp - Shared memory that an operation needs ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/ConversionPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

int64_t tile::getScratchElementBytes(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(getElementBits(elementType), 8);
}

static int64_t getFragmentBytes(RankedTensorType type) {
  return type.getNumElements() * getScratchElementBytes(type.getElementType());
}

bool tile::reducesAcrossWarps(ReduceOp op, unsigned warpSize) {
  RankedTensorType source = getTensor(op.getSource());
  if (!hasFragmentLayout(source))
    return getNumThreads(op) > warpSize;
  FragmentLayout layout = getFragmentLayout(source);
  int64_t weight = 1;
  for (const Mode &mode : layout.getThreadModes()) {
    weight *= mode.extent;
    // A digit stays within a warp if warps hold whole runs of it.
    if (mode.stride != 0 && mode.extent > 1 &&
        mode.dim == int64_t(op.getAxis()) && warpSize % weight != 0)
      return true;
  }
  return false;
}

static int64_t getReduceBytes(ReduceOp op, unsigned warpSize) {
  if (!reducesAcrossWarps(op, warpSize))
    return 0;
  RankedTensorType source = getTensor(op.getSource());
  SmallVector<int64_t> cover(source.getShape());
  if (hasFragmentLayout(source))
    cover = getFragmentLayout(source).getCover(source.getRank());
  cover.erase(cover.begin() + op.getAxis());
  int64_t bytes = llvm::divideCeil(getNumThreads(op), warpSize) *
                  getScratchElementBytes(source.getElementType());
  for (int64_t extent : cover)
    bytes *= extent;
  return bytes;
}

int64_t tile::getScratchBytes(Operation *op, const TargetInfo &target) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return getReduceBytes(reduce, target.warpSize);
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return planConversion(convert, target).scratchBytes;
  if (auto reshape = dyn_cast<ReshapeOp>(op);
      reshape && hasFragmentLayout(reshape.getSource().getType()) &&
      hasFragmentLayout(reshape.getType()))
    return planConversion(reshape, target).scratchBytes;
  if (isa<ReshapeOp, ScanOp>(op))
    return getFragmentBytes(getTensor(op->getOperand(0)));
  return 0;
}

int64_t tile::getBarrierBytes(ChannelOp channel) {
  return 2 * 8 * channel.getChannel().getType().getDepth();
}
