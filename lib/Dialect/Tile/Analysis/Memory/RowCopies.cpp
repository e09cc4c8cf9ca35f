//===- RowCopies.cpp - Loops that copy one part at a time -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the destination has to move with the loop by exactly its size, so
// that all iterations together fill a region. Each offset of the source either
// grows evenly with the loop, or is computed from what the loop reads. A
// backward slice shows that the offsets need neither carried values nor
// effects, and the accesses of the loop that nothing in it depends on the order
// of the copies. Cheap conditions come first: most copies fail one of them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/RowCopies.h"

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/IterationRegions.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Collects the operations in `loop` that `value` is computed from. Returns
/// false if one of them has an effect or a region, or if a value is carried by
/// a loop.
static bool getSlice(Value value, scf::ForOp loop,
                     llvm::SetVector<Operation *> &slice) {
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(next) || next == loop.getInductionVar())
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || op->getNumRegions() > 0 || !onlyReads(op))
      return false;
    if (slice.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  return true;
}

/// Returns whether one copy before or after the other operations of the loop
/// has the effect of all copies: no other operation accesses the buffer, and
/// none writes what the copy and the operations of `slice` read.
static bool isIndependent(CopyOp copy, scf::ForOp loop,
                          const llvm::SetVector<Operation *> &slice) {
  MemoryAccesses memory(copy->getParentOfType<gpu::GPUFuncOp>());
  SmallVector<MemoryAccess, 0> reads, others;
  MemoryAccess filled = {};
  for (const MemoryAccess &access : memory.get(loop)) {
    if (access.op != copy)
      others.push_back(access);
    else if (access.writes())
      filled = access;
    if ((access.op == copy || slice.contains(access.op)) && access.reads())
      reads.push_back(access);
  }
  return filled.op && llvm::none_of(others, [&](const MemoryAccess &other) {
           return filled.mayAlias(other) ||
                  (other.writes() &&
                   llvm::any_of(reads, [&](const MemoryAccess &read) {
                     return read.mayAlias(other);
                   }));
         });
}

std::optional<RowCopy> tile::findRowCopy(CopyOp copy,
                                         Divisibility &divisibility) {
  auto loop = dyn_cast<scf::ForOp>(copy->getParentOp());
  if (!loop || !copy->getParentOfType<gpu::GPUFuncOp>() || copy.getRows() ||
      copy.getLimit() || !isShared(copy.getDest()) ||
      isShared(copy.getSource()))
    return std::nullopt;
  TileRegion source = copy.getSourceRegion(), dest = copy.getDestRegion();
  RowCopy result = {copy, loop, /*elements=*/1, /*busyThreads=*/0, {}};
  for (int64_t size : source.sizes)
    result.elements *= size;
  result.busyThreads =
      result.elements / getCopyVectorElements(copy, divisibility);
  if (result.busyThreads >= getNumThreads(copy))
    return std::nullopt;
  std::optional<IterationRegion> moving = getIterationRegion(dest, copy);
  if (!moving || moving->loop != loop ||
      moving->growth != dest.sizes[moving->dim])
    return std::nullopt;
  llvm::SetVector<Operation *> slice;
  for (auto [dim, offset] : llvm::enumerate(source.offsets)) {
    auto value = dyn_cast<Value>(offset);
    if (!value || getGrowth(value, loop))
      continue;
    if (source.sizes[dim] != 1 || !getSlice(value, loop, slice))
      return std::nullopt;
    result.indexedDims.push_back(dim);
  }
  if (!isIndependent(copy, loop, slice))
    return std::nullopt;
  return result;
}
