//===- WrittenRegions.cpp - Regions that a run writes to ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules take two writes for overlapping unless their offsets, as linear
// forms, say that they are apart. A run knows the offsets themselves, so it
// compares boxes: two overlap if they have the same slot, under the same type,
// and their intervals overlap in each dimension.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Counterexamples/WrittenRegions.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

SmallVector<OpFoldResult> WrittenRegion::getNumbers() const {
  SmallVector<OpFoldResult> numbers;
  if (slot)
    numbers.push_back(slot);
  else
    numbers.push_back(
        IntegerAttr::get(IndexType::get(buffer->getContext()), 0));
  llvm::append_range(numbers, region.offsets);
  return numbers;
}

std::optional<WrittenRegion> verifier::findWrittenRegion(Operation *op) {
  std::optional<WrittenRegion> found;
  for (const SharedAccess &access : getSharedAccesses(op)) {
    if (!access.writes())
      continue;
    std::optional<ViewedRegion> region = getViewedRegion(access);
    if (found || !region || region->mayBeCut)
      return std::nullopt;
    Value memory = region->memory;
    WrittenRegion written{
        {}, {}, cast<MemRefType>(memory.getType()), std::move(*region), {}};
    while (auto view = memory.getDefiningOp<ViewOp>())
      memory = view.getSource();
    if (auto slot = memory.getDefiningOp<SlotOp>()) {
      written.slot = slot.getCursor();
      memory = slot.getViewSource();
    }
    written.buffer = memory.getDefiningOp<AllocSharedOp>();
    if (!written.buffer)
      return std::nullopt;
    if (auto store = dyn_cast<StoreOp>(op))
      written.stored = store.getValue().getType();
    found = written;
  }
  return found;
}

bool verifier::overlap(const WrittenRegion &a, ArrayRef<int64_t> numbersOfA,
                       const WrittenRegion &b, ArrayRef<int64_t> numbersOfB) {
  if (a.buffer != b.buffer || bool(a.slot) != bool(b.slot) ||
      numbersOfA.size() != numbersOfB.size() ||
      numbersOfA.front() != numbersOfB.front() || a.memory != b.memory)
    return false;
  if (a.stored && a.stored == b.stored && numbersOfA == numbersOfB &&
      a.region.starts == b.region.starts)
    return false;
  for (size_t dim = 0; dim < a.region.sizes.size(); ++dim) {
    int64_t x = numbersOfA[dim + 1] + a.region.starts[dim];
    int64_t y = numbersOfB[dim + 1] + b.region.starts[dim];
    if (x + a.region.sizes[dim] <= y || y + b.region.sizes[dim] <= x)
      return false;
  }
  return true;
}

bool verifier::mayEndWrites(Operation *op) {
  return isa<MBarrierWaitOp, CopyGroupWaitOp, BarrierOp, gpu::BarrierOp,
             MBarrierReadyOp, ClusterBarrierOp, WaitOp, AcquireOp>(op);
}
