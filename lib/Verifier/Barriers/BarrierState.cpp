//===- BarrierState.cpp - The parts of a state with barriers --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each part reserves its words in the order of the members. What concerns all
// parts is here: the initial state, synchronization of all threads, and the
// reduction of a state to what later steps depend on, by which the search finds
// more states to be equal.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

BarrierState::BarrierState(const BarrierModel &model,
                           const BarrierSelection &selection,
                           StateLayout layout)
    : knowledge(model, layout), phases(model, selection, knowledge, layout),
      history(model, layout), proxy(model, knowledge),
      fills(model, knowledge, history, proxy, layout),
      copies(model, knowledge, history, layout),
      peers(model, selection, knowledge, phases, layout),
      numWords(layout.getNumWords()) {
  gpu::GPUFuncOp kernel = model.kernel;
  Block &body = kernel.getBody().front();
  for (SpecializeOp roles : body.getOps<SpecializeOp>())
    continuesAfterRoles = llvm::any_of(model.eventOps, [&](Operation *op) {
      return roles->isBeforeInBlock(body.findAncestorOpInBlock(*op));
    });
}

State BarrierState::getInitial() const {
  State state(numWords, 0);
  knowledge.initialize(state);
  history.initialize(state);
  copies.initialize(state);
  return state;
}

void BarrierState::synchronize(State &state, unsigned task) const {
  history.synchronize(state, task);
  if (task == 0)
    knowledge.synchronize(state);
}

void BarrierState::reduce(State &state, bool inRoles) const {
  // No later step reads the clock of the kernel's body.
  if (inRoles && !continuesAfterRoles)
    knowledge.getTask(state, 0).clear();
  history.reduce(state);
  fills.settle(state);
}

void BarrierState::dropKnown(State &state) const {
  knowledge.dropKnown(
      state,
      [&](unsigned task, BarrierSlot slot) {
        return phases.countUnseen(state, task, slot) > 0;
      },
      [&](unsigned task, unsigned row) {
        const ClockRows &rows = knowledge.getRows();
        if (row == rows.getReads(task))
          return history.getReads(state, task);
        if (row == ClockRows::OfThreads || row == ClockRows::OfCopies)
          return history.getWrites(state, task);
        if (rows.getKinds().atomics && row == rows.getAtomics(task))
          return history.getAtomics(state, task);
        return PlaceSet(0);
      });
}

SmallVector<unsigned> BarrierState::findKnowledge() const {
  SmallVector<unsigned> words;
  knowledge.appendWords(words);
  peers.appendWords(words);
  copies.appendWords(words);
  return words;
}

void BarrierState::print(raw_ostream &os, const State &state) const {
  phases.print(os, state);
  knowledge.print(os, state);
  history.print(os, state);
  fills.print(os, state);
  copies.print(os, state);
  peers.print(os, state);
}
