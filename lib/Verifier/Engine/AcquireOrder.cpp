//===- AcquireOrder.cpp - What may come after an acquire ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read of another role comes after an acquire only if that role has waited
// for something that the acquiring role did later. So an acquire after which a
// role synchronizes with no other one, and which it does not repeat, comes
// before no read of the others. In one role, it comes before the reads that
// follow it in the program or in the next iteration of a loop.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Whether `op` may make another role wait for it, or let one go on.
static bool synchronizesRoles(Operation *op) {
  return isa<ClusterBarrierOp, gpu::BarrierOp>(op) ||
         llvm::any_of(op->getOperandTypes(), [](Type type) {
           return isa<ChannelType, MBarrierType>(type);
         });
}

/// Whether a role ends with `op`, as far as other roles can tell: the role does
/// not repeat it, and synchronizes with none of them after it. Roles run once:
/// kernels that start them in a loop are not verified.
static bool isLastOfRole(Operation *op) {
  for (; !isa<RoleOp>(op); op = op->getParentOp()) {
    if (isa<LoopLikeOpInterface>(op))
      return false;
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (next->walk([](Operation *inner) {
                return synchronizesRoles(inner) ? WalkResult::interrupt()
                                                : WalkResult::advance();
              })
              .wasInterrupted())
        return false;
  }
  return true;
}

/// Whether `op` comes before `other` in the program, and no loop repeats both.
static bool isAlwaysBefore(Operation *op, Operation *other) {
  Block *block = other->getBlock();
  Operation *before = block->findAncestorOpInBlock(*op);
  while (!before) {
    block = block->getParentOp()->getBlock();
    before = block->findAncestorOpInBlock(*op);
  }
  if (!before->isBeforeInBlock(block->findAncestorOpInBlock(*other)))
    return false;
  Operation *parent = block->getParentOp();
  return !isa<LoopLikeOpInterface>(parent) &&
         !parent->getParentOfType<LoopLikeOpInterface>();
}

bool tilews::verifier::mayFollowAcquire(Operation *read, Operation *acquire) {
  unsigned reader = getTask(read), task = getTask(acquire);
  bool areRoles = reader != task && reader != 0 && task != 0;
  return !(areRoles ? isLastOfRole(acquire) : isAlwaysBefore(read, acquire));
}
