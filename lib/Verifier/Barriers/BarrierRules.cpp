//===- BarrierRules.cpp - Rules of barriers in memory ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the parts together: the model of the kernel, the selection of events,
// the parts of the state, and the steps on them. Each operation is dispatched
// to the part that it is a step of; an operation that is none of these accesses
// places.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

BarrierRules::BarrierRules(gpu::GPUFuncOp kernel)
    : model(BarrierModel::build(kernel)), selection(model),
      parts(model, selection), steps(model, selection, parts),
      accesses(model, parts), knowledge(parts.findKnowledge()) {
  if (isEmpty() || model.obstacle)
    return;
  if (model.hasPeers())
    model.obstacle = findClusterDivergence(model, selection);
  LDBG() << "model of @" << kernel.getName() << ":";
  LLVM_DEBUG(model.print(llvm::dbgs()));
}

SmallVector<unsigned> BarrierRules::getInputLinks(Operation *op) const {
  return SmallVector<unsigned>(getInputs(op).size(), 0);
}

SmallVector<unsigned> BarrierRules::getLinks(Operation *op) const {
  if (BarrierModel::isStep(op))
    return {model.getBarrierOf(op)};
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Outcome BarrierRules::perform(State &state, unsigned task, Operation *op,
                              ArrayRef<int64_t> inputs,
                              Finding &finding) const {
  if (auto arrive = dyn_cast<MBarrierArriveOp>(op))
    return steps.arrive(state, task, arrive, inputs[0], finding);
  if (auto expect = dyn_cast<MBarrierExpectOp>(op))
    return steps.expect(state, task, expect, inputs[0], finding);
  if (auto wait = dyn_cast<MBarrierWaitOp>(op))
    return steps.wait(state, task, wait, inputs[0], inputs[1], finding);
  const BarrierEvent &event = selection.at(op);
  if (auto wait = dyn_cast<GemmWaitOp>(op))
    return parts.copies.getMatmuls(state, task)
        .wait(wait, event.matmuls, model.eventOps, finding);
  if (auto make = dyn_cast<MBarrierOp>(op))
    parts.phases.make(state, model.barrierNumbers.lookup(make.getBarrier()));
  else if (auto ready = dyn_cast<MBarrierReadyOp>(op))
    steps.makeReady(state, task, ready.getCluster());
  else if (isa<ClusterBarrierOp>(op))
    steps.synchronizeCluster(state, task);
  else if (isa<ProxyFenceOp>(op))
    parts.proxy.fence(state, task);
  else if (isa<CommitGroupOp>(op))
    steps.closeGroup(state, task);
  else if (auto wait = dyn_cast<CopyGroupWaitOp>(op))
    parts.copies.landGroups(state, task, wait.getPending(),
                            /*openToo=*/false);
  else if (isa<BarrierOp, gpu::BarrierOp>(op))
    steps.synchronize(state, task, op);
  else if (event.synchronizes)
    return useScratch(state, task, event, inputs, finding);
  else
    return accesses.access(state, task, event, inputs, finding);
  return Outcome::Done;
}

/// An operation that passes values through scratch memory: its threads write,
/// synchronize, and read.
Outcome BarrierRules::useScratch(State &state, unsigned task,
                                 const BarrierEvent &event,
                                 ArrayRef<int64_t> inputs,
                                 Finding &finding) const {
  Outcome outcome = accesses.access(state, task, event, inputs, finding);
  if (outcome != Outcome::Done)
    return outcome;
  steps.synchronize(state, task, model.eventOps[event.number]);
  PlaceSet scratch = event.neighbour.place | event.scratch;
  parts.addReads(state, task, scratch, /*isAsyncProxy=*/false);
  return Outcome::Done;
}

bool BarrierRules::finish(const State &state, Finding &finding) const {
  if (!parts.peers.finish(state, finding))
    return false;
  for (unsigned i = 0; i < model.barriers.size(); ++i)
    for (int64_t number = 0; number < model.barriers[i].depth; ++number) {
      BarrierSlot slot{i, number};
      if (!parts.copies.finish(state, slot, finding) ||
          !parts.phases.finish(state, slot, finding))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

std::string BarrierRules::describe(Operation *op,
                                   ArrayRef<int64_t> inputs) const {
  std::string text = op->getName().getStringRef().str();
  if (BarrierModel::isStep(op))
    text += " slot " + std::to_string(inputs[0]);
  if (isa<MBarrierWaitOp>(op))
    return text + " parity " + std::to_string(inputs[1]);
  unsigned next = 0;
  SmallVector<std::string> accesses;
  for (const PlaceAccess &access : selection.at(op).accesses)
    accesses.push_back(describeAccess(
        access.writes,
        access.slot ? "slot " + std::to_string(inputs[next++]) : "a buffer"));
  return accesses.empty() ? text : text + " " + joinAccesses(accesses);
}

void BarrierRules::print(raw_ostream &os, const State &state) const {
  model.print(os);
  parts.print(os, state);
}
