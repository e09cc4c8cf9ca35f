//===- InsertBarriers.cpp - Order accesses to shared memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates the barriers that `BarrierPlacement` asks for, which has the
// algorithm. Sets the proxy fence of each wait that it names: a later read goes
// through the asynchronous proxy.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/BarrierPlacement.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-insert-barriers"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numBarriers, "Barriers inserted");

/// Creates the barriers of `placement`, and sets the fences of waits.
static void insert(const BarrierPlacement &placement, gpu::GPUFuncOp kernel) {
  kernel->walk([&](WaitOp wait) {
    if (!wait->getParentOfType<RoleOp>() && placement.isFence(wait))
      wait.setProxyFence(true);
  });
  for (auto [op, kind] : placement.getBarriers()) {
    OpBuilder builder(op);
    BarrierOp::create(builder, op->getLoc(), kind.drainCopies, kind.proxyFence);
  }
}

namespace {
struct InsertBarriersPass
    : tile::impl::InsertBarriersPassBase<InsertBarriersPass> {
  LogicalResult insertBarriers(gpu::GPUFuncOp kernel) {
    FailureOr<TargetInfo> target = TargetInfo::get(kernel);
    if (failed(target))
      return failure();
    FailureOr<ArenaAccesses> accesses = ArenaAccesses::get(kernel, *target);
    if (failed(accesses))
      return failure();
    BarrierPlacement placement(kernel, *accesses);
    LDBG_OS([&](raw_ostream &os) { placement.print(os); });
    insert(placement, kernel);
    numBarriers += placement.getBarriers().size();
    return success();
  }

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      return WalkResult(insertBarriers(kernel));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
