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
    if (found || !access.region)
      return std::nullopt;
    Value memory = access.operand->get();
    WrittenRegion written{
        {}, {}, cast<MemRefType>(memory.getType()), *access.region, {}};
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
  if (a.stored && a.stored == b.stored && numbersOfA == numbersOfB)
    return false;
  for (auto [x, sizeOfX, y, sizeOfY] :
       llvm::zip_equal(numbersOfA.drop_front(), a.region.sizes,
                       numbersOfB.drop_front(), b.region.sizes))
    if (x + sizeOfX <= y || y + sizeOfY <= x)
      return false;
  return true;
}

bool verifier::mayEndWrites(Operation *op) {
  return isa<MBarrierWaitOp, CopyGroupWaitOp, BarrierOp, gpu::BarrierOp,
             MBarrierReadyOp, ClusterBarrierOp, WaitOp, AcquireOp>(op);
}
