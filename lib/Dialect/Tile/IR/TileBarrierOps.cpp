//===- TileBarrierOps.cpp - Barriers in shared memory ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the operations on barriers, and the number of arrivals of
// `tile.mbarrier_arrive`, which passes add up to the count of a
// `tile.mbarrier`.
//
// Example: in a role of 4 warps, `by = warps` makes 4 arrivals and `by =
// threads` makes 128. A barrier that such a role releases by warps, and nothing
// else, has `count = 4`.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static LogicalResult verifyOutsideOfRoles(Operation *op) {
  if (auto role = op->getParentOfType<RoleOp>())
    return op->emitOpError("is in role @")
           << role.getName() << ", but synchronizes all threads of the block";
  return success();
}

LogicalResult MBarrierReadyOp::verify() { return verifyOutsideOfRoles(*this); }
LogicalResult ClusterBarrierOp::verify() { return verifyOutsideOfRoles(*this); }

SmallVector<ClusterDims> MBarrierArriveOp::getPeerDims() {
  SmallVector<ClusterDims> dims;
  if (std::optional<ArrayAttr> peers = getPeers())
    for (auto attr : peers->getAsRange<ClusterDimsAttr>())
      dims.push_back(attr.getValue());
  return dims;
}

int64_t MBarrierArriveOp::getNumArrivals() {
  switch (getBy()) {
  case Agents::Thread:
    return 1;
  case Agents::Warps:
    return tile::getNumThreads(*this) / TargetInfo::getWarpSize(*this);
  case Agents::Threads:
  case Agents::Copies:
    return tile::getNumThreads(*this);
  }
  llvm_unreachable("covered switch");
}

LogicalResult MBarrierArriveOp::verify() {
  if (getBytes() && getBy() != Agents::Thread)
    return emitOpError("has 'bytes' and arrives by '")
           << stringifyAgents(getBy())
           << "', but only one thread can expect bytes: expected "
              "by = #tile.agents<thread>";
  if (getPeers() && (getBytes() || getBy() == Agents::Copies))
    return emitOpError("arrives in other blocks ")
           << (getBytes()
                   ? "and has 'bytes', but a block expects only its own"
                   : "by 'copies', which arrive only in their own block");
  if (getConverged() && getBy() != Agents::Warps)
    return emitOpError("is 'converged' and arrives by '")
           << stringifyAgents(getBy())
           << "', expected by = #tile.agents<warps>";
  return success();
}
