//===- CopiedReads.cpp - Reads of copied shared memory --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search goes from the read to its allocation, and from there to everything
// that may write it. The only writer has to be a copy from global memory that
// fills the buffer and comes before the read in a block around it. If the
// kernel does not write the memory that it copies from, buffer and source hold
// the same elements whenever the read runs. A load role can then read the
// source, and need not wait for the role that fills the buffer.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns whether a region of a buffer of `type` provably lies inside of it.
static bool isInside(const TileRegion &region, MemRefType type) {
  for (auto [offset, size, extent] :
       llvm::zip_equal(region.offsets, region.sizes, type.getShape())) {
    std::optional<int64_t> first = getConstantIntValue(offset);
    if (!first || *first < 0 || *first + size > extent)
      return false;
  }
  return true;
}

/// Returns the allocation that `read` reads directly, not through a view, if it
/// reads nothing beyond it.
static AllocSharedOp getReadAlloc(Operation *read) {
  // An index out of bounds is undefined behavior.
  if (auto load = dyn_cast<memref::LoadOp>(read))
    return load.getMemRef().getDefiningOp<AllocSharedOp>();
  auto load = dyn_cast<LoadOp>(read);
  if (!load ||
      !isInside(load.getRegion(), cast<MemRefType>(load.getSource().getType())))
    return {};
  return load.getSource().getDefiningOp<AllocSharedOp>();
}

/// Returns whether `copy` writes all of `alloc`.
static bool fills(CopyOp copy, AllocSharedOp alloc) {
  TileRegion region = copy.getDestRegion();
  MemRefType type = alloc.getBuffer().getType();
  return copy.getDest() == alloc.getBuffer() && isInside(region, type) &&
         ArrayRef<int64_t>(region.sizes) == type.getShape();
}

CopyOp tile::findCopyOf(Operation *read, gpu::GPUFuncOp kernel,
                        const MemoryAccesses &memory) {
  AllocSharedOp alloc = getReadAlloc(read);
  if (!alloc)
    return {};
  SmallVector<MemoryAccess, 0> accesses = memory.get(kernel);
  llvm::erase_if(accesses, [](const auto &access) { return !access.writes(); });
  llvm::SmallSetVector<Operation *, 2> writers;
  for (const MemoryAccess &write : accesses)
    if (write.shared && (write.roots.empty() || write.roots.contains(alloc)))
      writers.insert(write.op);
  auto copy =
      writers.size() == 1 ? dyn_cast<CopyOp>(writers.front()) : CopyOp();
  if (!copy || isShared(copy.getSource()) || copy.getRows() ||
      copy.getLimit() || !fills(copy, alloc))
    return {};
  Operation *reader = copy->getBlock()->findAncestorOpInBlock(*read);
  if (!reader || !copy->isBeforeInBlock(reader))
    return {};
  for (const MemoryAccess &access : memory.get(copy))
    if (!access.shared && llvm::any_of(accesses, [&](const auto &write) {
          return write.mayAlias(access);
        }))
      return {};
  return copy;
}

SmallVector<std::optional<unsigned>> tile::getDestDims(CopyOp copy) {
  SmallVector<int64_t> dest = copy.getDestRegion().sizes;
  SmallVector<std::optional<unsigned>> dims;
  unsigned next = 0;
  for (int64_t size : copy.getSourceRegion().sizes) {
    if (size == 1) {
      dims.push_back(std::nullopt);
      continue;
    }
    while (dest[next] == 1)
      ++next;
    dims.push_back(next++);
  }
  return dims;
}
