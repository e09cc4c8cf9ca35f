//===- Scratch.cpp - Shared memory that an operation needs ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Scratch.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

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

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

bool tile::reducesAcrossWarps(ReduceOp op, unsigned warpSize) {
  RankedTensorType source = getTensor(op.getSource());
  if (!hasFragmentLayout(source))
    return getNumThreads(op) > warpSize;
  int64_t weight = 1;
  for (const Mode &mode : getFragmentLayout(source).getThreadModes()) {
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

//===----------------------------------------------------------------------===//
// Changes of shape
//===----------------------------------------------------------------------===//

/// The row-major number of the element at `coords`, none if it lies outside.
static std::optional<int64_t> linearize(ArrayRef<int64_t> coords,
                                        ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [coord, extent] : llvm::zip_equal(coords, shape)) {
    if (coord >= extent)
      return std::nullopt;
    linear = linear * extent + coord;
  }
  return linear;
}

/// The row-major number of the source element that becomes the result's
/// element at `coords`.
static std::optional<int64_t> getSourceElement(Operation *op,
                                               ArrayRef<int64_t> coords) {
  ArrayRef<int64_t> source = getTensor(op->getOperand(0)).getShape();
  ArrayRef<int64_t> result = getTensor(op->getResult(0)).getShape();
  std::optional<int64_t> linear = linearize(coords, result);
  if (!linear)
    return std::nullopt;
  SmallVector<int64_t> from(coords);
  if (isa<BroadcastOp>(op)) {
    for (auto [coord, extent] : llvm::zip_equal(from, source))
      coord = extent == 1 ? 0 : coord;
    return linearize(from, source);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [dim, sourceDim] : llvm::enumerate(transpose.getPermutation()))
      from[sourceDim] = coords[dim];
    return linearize(from, source);
  }
  // Reshapes, and new dimensions of extent one, keep the order.
  return linear;
}

/// Compares what each thread holds before and after.
static bool anyThreadLacksAnElement(Operation *op, const FragmentLayout &before,
                                    const FragmentLayout &after) {
  RankedTensorType source = getTensor(op->getOperand(0));
  int64_t rank = getTensor(op->getResult(0)).getRank();
  for (int64_t thread = 0; thread < after.getNumThreads(); ++thread) {
    llvm::DenseSet<int64_t> held;
    for (int64_t value = 0; value < before.getNumValues(); ++value)
      if (auto element =
              linearize(before.getCoords(thread, value, source.getRank()),
                        source.getShape()))
        held.insert(*element);
    for (int64_t value = 0; value < after.getNumValues(); ++value)
      if (auto element =
              getSourceElement(op, after.getCoords(thread, value, rank));
          element && !held.contains(*element))
        return true;
  }
  return false;
}

bool tile::movesBetweenThreads(Operation *op) {
  if (!isa<ReshapeOp, BroadcastOp, TransposeOp, ExpandDimsOp>(op))
    return false;
  Type source = op->getOperand(0).getType(),
       result = op->getResult(0).getType();
  if (!hasFragmentLayout(source) || !hasFragmentLayout(result))
    return isa<ReshapeOp>(op);
  FragmentLayout before = getFragmentLayout(source);
  FragmentLayout after = getFragmentLayout(result);
  return before.getNumThreads() != after.getNumThreads() ||
         anyThreadLacksAnElement(op, before, after);
}

int64_t tile::getScratchBytes(Operation *op, unsigned warpSize) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return getReduceBytes(reduce, warpSize);
  if (isa<ConvertLayoutOp, ScanOp>(op) || movesBetweenThreads(op))
    return getFragmentBytes(getTensor(op->getOperand(0)));
  return 0;
}
