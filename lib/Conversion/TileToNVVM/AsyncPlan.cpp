//===- AsyncPlan.cpp - Asynchronous operations of a kernel ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over the kernel collects all TMA copies, gives each distinct tensor
// map one number (copies of the same buffer with the same box share a map), and
// sets the flags that say which kinds of asynchronous operations occur. A copy
// that TMA cannot do although `tile.inst` asks for it is an error here, before
// anything is rewritten.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile-to-nvvm"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the number of `map` in `tensorMaps`, to which it is added if it is
/// new.
static unsigned addTensorMap(const TensorMap &map,
                             SmallVector<TensorMap> &tensorMaps) {
  auto known = llvm::find(tensorMaps, map);
  unsigned number = known - tensorMaps.begin();
  if (known == tensorMaps.end())
    tensorMaps.push_back(map);
  return number;
}

static LogicalResult addCopy(CopyOp copy, AsyncPlan &plan,
                             SmallVector<TensorMap> &tensorMaps) {
  llvm::Expected<TmaCopy> found = getTmaCopy(copy);
  if (!found)
    return copy.emitOpError("cannot be done by TMA: ")
           << llvm::toString(found.takeError());
  if (!found->isStore && !copy.getSignal())
    return copy.emitOpError("by TMA signals no barrier; run "
                            "--tile-lower-channels first");
  if (found->isStore) {
    plan.storesByTma = true;
    plan.readsStored |= hasReaders(copy.getDest());
  }
  PlannedCopy planned;
  planned.map = addTensorMap(found->map, tensorMaps);
  if (found->map.window) {
    TensorMap outside = found->map;
    outside.isOutside = true;
    planned.outsideMap = addTensorMap(outside, tensorMaps);
  }
  LDBG_OS([&](raw_ostream &os) {
    os << "copy at " << copy.getLoc() << " by tensor map " << planned.map
       << ": ";
    found->print(os);
  });
  planned.copy = std::move(*found);
  plan.copies[copy] = std::move(planned);
  return success();
}

FailureOr<std::shared_ptr<const AsyncPlan>>
tilews::planAsync(gpu::GPUFuncOp kernel, LoweringContext &lowering) {
  auto plan = std::make_shared<AsyncPlan>();
  WalkResult result = kernel.walk([&](Operation *op) {
    plan->copiesByCpAsync |= hasInst(op, InstKind::CpAsync);
    if (auto gemm = dyn_cast<MatmulOpInterface>(op))
      plan->hasAsyncMatmuls |= gemm.getAsync() && hasInst(op, InstKind::Wgmma);
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !isTma(copy))
      return WalkResult::advance();
    return WalkResult(addCopy(copy, *plan, lowering.tensorMaps));
  });
  if (result.wasInterrupted())
    return failure();
  return std::shared_ptr<const AsyncPlan>(std::move(plan));
}
