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
      peers(model, selection, knowledge, phases, layout), model(model),
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

void BarrierState::releasePhases(State &state, unsigned task, BarrierSlot slot,
                                 bool byOneThread) const {
  const ClockRows &rows = knowledge.getRows();
  VectorClock clock = knowledge.getTask(state, task);
  VectorClock arriving = knowledge.getArriving(state, slot);
  // The copy is no arrival after an expectation: those rows come last.
  for (unsigned row = 0; row < rows.getExpected(0); ++row) {
    uint64_t known = clock[row];
    if (byOneThread)
      known &= ~getUnsynchronized(state, task, row);
    arriving.learn(row,
                   rows.isOfSlots(row) ? known : known & model.phasePlaces);
  }
}

void BarrierState::addReads(State &state, unsigned task, PlaceSet places,
                            bool isAsyncProxy) const {
  knowledge.forget(state, knowledge.getRows().getReads(task), places, task);
  history.addReads(state, task, places);
  if (!isAsyncProxy)
    proxy.addRead(state, task, places);
}

uint64_t BarrierState::getUnsynchronized(const State &state, unsigned task,
                                         unsigned row) const {
  const ClockRows &rows = knowledge.getRows();
  if (row == rows.getReads(task) ||
      (rows.getKinds().fencedReads && row == rows.getFencedReads(task)))
    return history.getReads(state, task);
  if (row == ClockRows::OfThreads || row == ClockRows::OfCopies)
    return history.getWrites(state, task);
  if (rows.getKinds().atomics && row == rows.getAtomics(task))
    return history.getAtomics(state, task);
  if (row == rows.getAwaited())
    return history.getWaits(state, task);
  return 0;
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
        return getUnsynchronized(state, task, row);
      });
}

void BarrierState::rotateSlots(State &state, ArrayRef<unsigned> buffers,
                               int64_t base) const {
  SmallVector<unsigned> sets;
  knowledge.appendPlaceSets(sets);
  history.appendPlaceSets(sets);
  copies.appendPlaceSets(sets);
  for (unsigned word : sets)
    state[word] = model.places.rotate(state[word], buffers, base);
  fills.rotate(state, buffers, base);
  copies.rotateAges(state, buffers, base);
}

SmallVector<unsigned> BarrierState::findKnowledge() const {
  SmallVector<unsigned> words;
  knowledge.appendWords(words);
  history.appendWords(words);
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
