//===- TaskKnowledge.cpp - The vector clocks of tasks and slots -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clocks follow the happens-before relation of releases and acquires. An
// arrival joins a part of its task's clock into that of the slot
// (BarrierSteps). The completion of a phase moves the slot's clock on, and a
// wait joins it into its task's. A new access clears its bits in all other
// clocks.
//
// Clearing further bits is sound at any time: it can only make more accesses
// look unordered or unfenced. It never changes control flow, because a wait
// proceeds whether or not the end of the phase was ordered before it. So the
// search may join paths that differ in these words only.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/TaskKnowledge.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

TaskKnowledge::TaskKnowledge(const BarrierModel &model, StateLayout &layout)
    : model(model), rows(model.getNumTasks(), model.getRowKinds()),
      first(layout.reserve(getNumClocks() * rows.size())) {}

template <typename FnT>
void TaskKnowledge::forEachClock(State &state, FnT fn) const {
  int64_t *words = &state[first];
  for (unsigned i = 0, e = getNumClocks(); i < e; ++i, words += rows.size())
    fn(VectorClock(words, rows.size()));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The places with accesses of one of the kinds from `begin` to `end`.
PlaceSet TaskKnowledge::getOpen(const State &state, unsigned task,
                                PlaceSet places, bool ofPeers, unsigned begin,
                                unsigned end) const {
  VectorClockRef clock = getTask(state, task);
  PlaceSet open = 0;
  for (unsigned row = begin; row < end; ++row)
    open |= clock.getMissing(ofPeers ? rows.getPeer(row) : row, places);
  return open;
}

PlaceSet TaskKnowledge::getOpenWrites(const State &state, unsigned task,
                                      PlaceSet places, bool ofPeers) const {
  return getOpen(state, task, places, ofPeers, ClockRows::OfThreads,
                 ClockRows::OfLoads + 1);
}

PlaceSet TaskKnowledge::getOpenUpdates(const State &state, unsigned task,
                                       PlaceSet places, bool ofPeers) const {
  if (!rows.getKinds().atomics)
    return 0;
  return getOpen(state, task, places, ofPeers, rows.getAtomics(0),
                 rows.getAtomics(model.getNumTasks()));
}

PlaceSet TaskKnowledge::getOpenReads(const State &state, unsigned task,
                                     PlaceSet places, bool ofPeers) const {
  return getOpen(state, task, places, ofPeers, rows.getReads(0),
                 rows.getReads(model.getNumTasks()));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TaskKnowledge::initialize(State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    getTask(state, task).fill();
}

void TaskKnowledge::forget(State &state, unsigned row, PlaceSet places,
                           std::optional<unsigned> self) const {
  uint64_t kept = self ? getTask(state, *self)[row] : 0;
  forEachClock(state, [&](VectorClock clock) {
    clock.forget(row, places);
    if (model.hasPeers())
      clock.forget(rows.getPeer(row), places);
  });
  if (self)
    getTask(state, *self).learn(row, kept & places);
}

void TaskKnowledge::completePhase(State &state, BarrierSlot slot,
                                  uint64_t phaseBit) const {
  forget(state, rows.getCompleted(), phaseBit);
  forget(state, rows.getAwaited(), phaseBit);
  // Nothing is expected of the next phase yet.
  if (model.hasExpectations)
    forEachClock(state, [&](VectorClock clock) {
      for (unsigned task = 0; task < model.getNumTasks(); ++task)
        clock.learn(rows.getExpected(task), phaseBit);
    });
  // Several tasks wait: the phase that was the last is now the one before it.
  if (PlaceSet place = model.getPhasePlace(slot))
    forEachClock(state, [&](VectorClock clock) {
      for (unsigned half = 0; half < rows.size(); half += rows.getNumOwn()) {
        uint64_t wasKnown = clock[half + ClockRows::OfThreads] & place;
        clock.forget(half + ClockRows::OfCopies, place);
        clock.learn(half + ClockRows::OfCopies, wasKnown);
        clock.forget(half + ClockRows::OfThreads, place);
      }
    });
  VectorClock arriving = getArriving(state, slot);
  VectorClock complete = getComplete(state, slot);
  complete.clear();
  complete.join(arriving);
  arriving.clear();
}

void TaskKnowledge::synchronize(State &state) const {
  VectorClock all = getTask(state, 0);
  for (unsigned task = 1; task < model.getNumTasks(); ++task)
    all.join(getTask(state, task));
  for (unsigned task = 1; task < model.getNumTasks(); ++task)
    getTask(state, task).join(all);
}

void TaskKnowledge::dropKnown(
    State &state, llvm::function_ref<bool(unsigned, BarrierSlot)> isWaiting,
    llvm::function_ref<PlaceSet(unsigned, unsigned)> getUnsynchronized) const {
  model.forEachSlot([&](BarrierSlot slot) {
    SmallVector<unsigned> waiting;
    for (unsigned task = 0; task < model.getNumTasks(); ++task)
      if (model.getBarrier(slot).isAwaitedBy(task) && isWaiting(task, slot))
        waiting.push_back(task);
    VectorClock complete = getComplete(state, slot);
    for (unsigned row = 0; row < rows.size(); ++row) {
      uint64_t known = ~uint64_t(0);
      for (unsigned task : waiting) {
        known &= getTask(state, task)[row];
        // The wait also orders accesses of the task's other threads.
        known &= ~getUnsynchronized(task, row);
      }
      complete.forget(row, known);
    }
  });
}

void TaskKnowledge::appendWords(SmallVectorImpl<unsigned> &words) const {
  for (unsigned word = 0; word < getNumClocks() * rows.size(); ++word)
    words.push_back(first + word);
}

void TaskKnowledge::appendPlaceSets(SmallVectorImpl<unsigned> &words) const {
  for (unsigned word = 0; word < getNumClocks() * rows.size(); ++word)
    if (!rows.isOfSlots(word % rows.size()))
      words.push_back(first + word);
}

void TaskKnowledge::print(raw_ostream &os, const State &state) const {
  os << "rows: writes of threads, of cp.async, of TMA loads, "
     << (rows.getKinds().visible ? "both if visible to the other proxy, " : "")
     << "reads of each task, "
     << (rows.getKinds().fencedReads ? "fenced reads of each task, " : "")
     << (rows.getKinds().atomics ? "atomic updates of each task, " : "")
     << "complete phases, awaited phases"
     << (rows.getKinds().expected ? ", expectations of each task" : "") << "\n";
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "clock of task " << task << ": ";
    getTask(state, task).print(os);
    os << "\n";
  }
  model.forEachSlot([&](BarrierSlot slot) {
    os << "barrier " << slot.barrier << " slot " << slot.number << " arriving ";
    getArriving(state, slot).print(os);
    os << ", complete ";
    getComplete(state, slot).print(os);
    os << "\n";
  });
}
