//===- AccessHistory.cpp - Accesses within tasks, and who wrote -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets of places for each task, to which accesses add and synchronization
// points subtract. To keep the number of states small, a set is restricted to
// the places that a later step checks. Unsynchronized reads matter only where
// the task writes, and unsynchronized writes only where it reads. Both matter
// everywhere if a single thread of the task may arrive for all of them.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/AccessHistory.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

AccessHistory::AccessHistory(const BarrierModel &model, StateLayout &layout)
    : model(model), first(layout.reserve(model.getNumTasks() * NumTaskRows)),
      written(layout.reserve(1)), begun(layout.reserve(1)),
      checkedReads(model.getNumTasks(), 0),
      checkedWrites(model.getNumTasks(), 0),
      neverShared(model.getNumTasks(), ~PlaceSet(0)) {
  findUses();
}

void AccessHistory::findUses() {
  for (const auto &[op, event] : model.events) {
    unsigned task = getTask(op);
    auto arrive = dyn_cast<MBarrierArriveOp>(op);
    bool isByThread = arrive && arrive.getBy() == Agents::Thread;
    if (isByThread)
      checkedReads[task] = checkedWrites[task] = ~PlaceSet(0);
    if ((isByThread || event.barrierSlot) && model.hasWarps(task)) {
      checkedWaits |= uint64_t(1) << task;
      checkedReads[task] |= model.phasePlaces;
    }
    if (event.neighbour.isWritten) {
      checkedReads[task] |= event.neighbour.sharing;
      checkedWrites[task] |= event.neighbour.sharing;
    }
    for (const PlaceAccess &access : event.accesses) {
      PlaceSet places = model.places.getAll(access.buffer);
      // Reads, atomic updates and copies follow writes, and so do clashing
      // stores.
      if (access.reads || model.fills[access.buffer].isMixed())
        checkedWrites[task] |= places;
      if (!access.writes)
        continue;
      checkedReads[task] |= places | access.sharing;
      checkedWrites[task] |= access.sharing;
      if (event.executor != BarrierEvent::Executor::Threads)
        checkedWrites[task] |= places;
      for (unsigned other = 0; other < model.getNumTasks(); ++other)
        if (other != task)
          neverShared[other] &= ~places;
    }
  }
}

void AccessHistory::initialize(State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    synchronize(state, task);
    state[getWord(task, Owned)] = neverShared[task];
  }
}

void AccessHistory::addWait(State &state, unsigned task, uint64_t phaseBit,
                            PlaceSet place) const {
  if (!(checkedWaits >> task & 1))
    return;
  state[getWord(task, SynchronizedWaits)] &= ~phaseBit;
  addReads(state, task, place);
}

void AccessHistory::synchronize(State &state, unsigned task) const {
  state[getWord(task, SynchronizedReads)] = ~PlaceSet(0);
  state[getWord(task, SynchronizedWrites)] = ~PlaceSet(0);
  state[getWord(task, SynchronizedAtomics)] = ~PlaceSet(0);
  state[getWord(task, SynchronizedWaits)] = ~uint64_t(0);
}

void AccessHistory::takeOver(State &state, unsigned task,
                             PlaceSet places) const {
  for (unsigned other = 0; other < model.getNumTasks(); ++other)
    state[getWord(other, Owned)] &= ~places;
  state[getWord(task, Owned)] |= places;
  noteWritten(state, places);
}

void AccessHistory::noteWritten(State &state, PlaceSet places) const {
  state[written] |= places;
  for (unsigned i = 0; i < model.places.getBuffers().size(); ++i)
    if (PlaceSet all = model.places.getAll(i); all & places)
      state[begun] |= all;
}

PlaceSet AccessHistory::getUnwritten(const State &state,
                                     PlaceSet places) const {
  PlaceSet unwritten = places & ~(state[written] & ~model.neverWritten);
  for (auto [i, buffer] : llvm::enumerate(model.places.getBuffers()))
    if (buffer.versions == 1 || !(model.places.getAll(i) & state[begun]))
      unwritten &= ~model.places.getAll(i) | model.neverWritten;
  return unwritten;
}

void AccessHistory::reduce(State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    synchronizeReads(state, task, ~checkedReads[task]);
    synchronizeWrites(state, task, ~checkedWrites[task]);
  }
}

void AccessHistory::appendWords(SmallVectorImpl<unsigned> &words) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    for (TaskRow row : {SynchronizedReads, SynchronizedWrites,
                        SynchronizedAtomics, SynchronizedWaits})
      words.push_back(getWord(task, row));
  words.push_back(written);
}

void AccessHistory::appendPlaceSets(SmallVectorImpl<unsigned> &words) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    for (TaskRow row :
         {SynchronizedReads, SynchronizedWrites, SynchronizedAtomics, Owned})
      words.push_back(getWord(task, row));
  words.append({written, begun});
}

void AccessHistory::print(raw_ostream &os, const State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "task " << task << ": unsynchronized reads ";
    VectorClockRef::printPlaces(os, getReads(state, task));
    os << ", unsynchronized writes ";
    VectorClockRef::printPlaces(os, getWrites(state, task));
    os << ", unsynchronized waits ";
    VectorClockRef::printPlaces(os, getWaits(state, task));
    os << ", wrote last ";
    VectorClockRef::printPlaces(os, getOwned(state, task));
    os << "\n";
  }
}
