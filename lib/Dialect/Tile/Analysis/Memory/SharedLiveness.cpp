//===- SharedLiveness.cpp - Liveness of shared buffers --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are numbered in program order; an operation with regions covers
// the numbers of all operations in it. The live interval of a buffer is the
// hull of its accesses. An access in a loop that does not contain the
// allocation counts as the whole loop. Accesses of several roles extend the
// interval to all roles, because nothing orders the operations of one role and
// those of another.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SharedLiveness.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns whether `op` may run one of its regions more than once.
static bool mayRepeat(Operation *op) {
  if (isa<SpecializeOp, RoleOp>(op))
    return false;
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return !branch || branch.hasLoop();
}

SharedLiveness::SharedLiveness(Operation *kernel, const SharedBuffers &buffers)
    : kernel(kernel) {
  int64_t next = 0;
  number(kernel, next);
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op))
      for (AllocSharedOp root : buffers.getRoots(access.operand->get()))
        addAccess(root, op);
    // A transaction of a channel counts as an access to the channel's buffers.
    for (Value operand : op->getOperands())
      if (auto channel = operand.getDefiningOp<ChannelOp>())
        for (Value buffer : channel.getBuffers())
          for (AllocSharedOp root : buffers.getRoots(buffer))
            addAccess(root, op);
  });
}

void SharedLiveness::number(Operation *op, int64_t &next) {
  int64_t begin = next++;
  for (mlir::Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      number(&inner, next);
  extents[op] = {begin, next - 1, op->getParentOfType<RoleOp>()};
}

void SharedLiveness::addAccess(AllocSharedOp alloc, Operation *op) {
  LiveInterval access = extents[op];
  for (Operation *parent = op->getParentOp();
       parent && !parent->isProperAncestor(alloc);
       parent = parent->getParentOp())
    if (mayRepeat(parent))
      access = {extents[parent].begin, extents[parent].end, access.role};
  auto [it, first] = live.try_emplace(alloc, access);
  if (first)
    return;
  LiveInterval &interval = it->second;
  auto extend = [&](const LiveInterval &other) {
    interval.begin = std::min(interval.begin, other.begin);
    interval.end = std::max(interval.end, other.end);
  };
  extend(access);
  if (interval.role == access.role)
    return;
  for (Operation *role : {interval.role, access.role})
    if (role)
      extend(extents[role->getParentOp()]);
  interval.role = nullptr;
}

LiveInterval SharedLiveness::getInterval(AllocSharedOp alloc) const {
  auto it = live.find(alloc);
  return it == live.end() ? extents.lookup(alloc) : it->second;
}

LiveInterval SharedLiveness::getInterval(Operation *op) const {
  return extents.lookup(op);
}

void LiveInterval::print(raw_ostream &os) const {
  os << "[" << begin << ", " << end << "]";
  if (role)
    os << " in @" << cast<RoleOp>(role).getName();
}

void SharedLiveness::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  // The numbers of operations are dense.
  SmallVector<Operation *> points(extents.size());
  for (const auto &[op, extent] : extents)
    points[extent.begin] = op;
  for (Operation *op : points) {
    auto it = live.find(op);
    if (it == live.end())
      continue;
    const LiveInterval &interval = it->second;
    printer << cast<AllocSharedOp>(op).getBuffer() << ": ";
    interval.print(os);
    printer << " from " << points[interval.begin] << " to "
            << points[interval.end] << "\n";
  }
}
