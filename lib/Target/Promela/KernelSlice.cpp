//===- KernelSlice.cpp - The events of a kernel, and what they need -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the operations that a model has. Events are steps of synchronization
// and accesses to the buffers of the model. Their slots, parities and cursors
// are needed, the control flow around them is kept with its bounds and
// conditions, and what is needed makes more values needed, until nothing new
// comes up.
//
//   %r = scf.for ... iter_args(%q = %q0) {   kept: %q is needed
//     tile.wait %ch[%q]                      event: %q is needed
//     %x = tile.load %slot                   event
//     %y = arith.addf %x, %x                 left out
//
//===----------------------------------------------------------------------===//

#include "KernelReader.h"

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// Whether `op` synchronizes, apart from its accesses.
bool KernelReader::isStep(Operation *op) {
  if (isa<AssertOp, cf::AssertOp>(op))
    return op->getOperand(0).getType().isInteger(1);
  auto matmul = dyn_cast<MatmulOpInterface>(op);
  if ((matmul && matmul.getAsync()) || isa<GemmWaitOp, CommitGroupOp>(op))
    return true;
  if (withChannels)
    return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, BarrierOp,
               gpu::BarrierOp>(op);
  return isa<MBarrierReadyOp, MBarrierArriveOp, MBarrierExpectOp,
             MBarrierWaitOp, CopyGroupWaitOp, BarrierOp, gpu::BarrierOp,
             ProxyFenceOp>(op);
}

LogicalResult KernelReader::findEvents() {
  WalkResult result = kernel.walk([&](Operation *op) {
    bool isEvent = isStep(op) || usesScratch(op);
    for (const SharedAccess &access : getSharedAccesses(op)) {
      Value buffer = access.operand->get();
      if (findBuffer(buffer)) {
        isEvent = true;
        continue;
      }
      while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
        buffer = view.getViewSource();
      if (!buffer.getDefiningOp<AllocSharedOp>()) {
        op->emitError("is not exported to Promela: control flow selects the "
                      "shared buffer that it accesses");
        return WalkResult::interrupt();
      }
    }
    if (!isEvent)
      return WalkResult::advance();
    for (Operation *parent = op->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, RoleOp, SpecializeOp>(
              parent)) {
        op->emitError("is not exported to Promela: it stands in '")
            << parent->getName() << "', expected scf.for, scf.if or scf.while";
        return WalkResult::interrupt();
      }
    events.insert(op);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Follows the results of asynchronous matmuls through control flow.
void KernelReader::findInFlight() {
  SmallVector<Value> todo;
  auto add = [&](Value value) {
    if (inFlight.insert(value).second)
      todo.push_back(value);
  };
  kernel.walk([&](MatmulOpInterface op) {
    if (op.getAsync())
      add(op.getAccResult());
  });
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner(), *parent = user->getParentOp();
      unsigned number = use.getOperandNumber();
      if (auto loop = dyn_cast<scf::ForOp>(user)) {
        add(loop.getTiedLoopRegionIterArg(&use));
        add(loop.getTiedLoopResult(&use));
      } else if (auto loop = dyn_cast<scf::WhileOp>(user)) {
        add(loop.getBeforeArguments()[number]);
      } else if (isa<scf::ConditionOp>(user)) {
        auto loop = cast<scf::WhileOp>(parent);
        add(loop.getAfterArguments()[number - 1]);
        add(loop.getResult(number - 1));
      } else if (isa<scf::YieldOp>(user)) {
        if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
          add(loop.getBeforeArguments()[number]);
          continue;
        }
        add(parent->getResult(number));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          add(loop.getRegionIterArg(number));
      }
    }
  }
}

/// Keeps `op` and the control flow around it, with what decides it.
void KernelReader::keep(Operation *op) {
  auto need = [&](Value value) {
    if (needed.insert(value).second)
      pending.push_back(value);
  };
  for (; op != kernel && kept.insert(op).second; op = op->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      need(loop.getLowerBound());
      need(loop.getUpperBound());
      need(loop.getStep());
      need(loop.getInductionVar());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      need(branch.getCondition());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      need(loop.getConditionOp().getCondition());
    } else if (isEvent(op)) {
      for (Value operand : op->getOperands()) {
        bool isPlace = operand.getType().isIntOrIndex() ||
                       isa<CursorType>(operand.getType());
        // The slots and barriers of a copy matter. Its offsets only do where
        // they distinguish parts of a fill.
        auto copy = dyn_cast<CopyOp>(op);
        if (copy ? operand == copy.getSignalSlot()
                 : (isPlace && !isa<AccessOpInterface>(op)) ||
                       (isa<GemmWaitOp>(op) && isInFlight(operand)))
          need(operand);
      }
      for (const ModelAccess &access : getAccesses(op)) {
        if (access.version)
          need(access.version);
        for (OpFoldResult offset : access.offsets)
          if (auto value = dyn_cast<Value>(offset))
            need(value);
      }
    }
  }
}

/// The values that flow into `value` through control flow.
static SmallVector<Value> getIncoming(Value value) {
  SmallVector<Value> values;
  auto addYield = [&](mlir::Region &region, unsigned number) {
    if (!region.empty())
      values.push_back(region.front().getTerminator()->getOperand(number));
  };
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  unsigned number = argument ? argument.getArgNumber()
                             : cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (argument && number-- == 0)
      return values;
    values.push_back(loop.getInitArgs()[number]);
    values.push_back(loop.getRegionIterArg(number));
    addYield(loop.getRegion(), number);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addYield(branch.getThenRegion(), number);
    addYield(branch.getElseRegion(), number);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    if (argument && argument.getOwner() == loop.getBeforeBody()) {
      values.push_back(loop.getInits()[number]);
      addYield(loop.getAfter(), number);
    } else {
      values.push_back(loop.getConditionOp().getArgs()[number]);
    }
  } else if (!argument && !isa<MatmulOpInterface, GemmWaitOp>(op)) {
    for (Value operand : op->getOperands())
      if (!isa<MemRefType>(operand.getType()))
        values.push_back(operand);
  }
  return values;
}

void KernelReader::slice() {
  for (Operation *op : events)
    keep(op);
  MemoryAccesses memory(kernel);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    SmallVector<Value> sources = getIncoming(value);
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op =
        argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (op != kernel)
      keep(op);
    // An element of shared memory is an element of what was copied there.
    if (CopyOp copy = argument ? CopyOp() : findCopyOf(op, kernel, memory))
      llvm::append_range(sources, copy.getSourceOffsets());
    for (Value source : sources)
      if (needed.insert(source).second)
        pending.push_back(source);
  }
}
