//===- CopyState.cpp - Copies and matmuls under way -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy takes effect for its readers when its completion is ordered before
// them, not when it was started. A started copy clears its bit in all clocks.
// The bit returns to the waiting task's clock when its group was waited for, or
// to the slot's clock when an arrival or its bytes complete it. Reads under way
// are sets of places per task, against which the task's own writes are checked.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/CopyState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

CopyState::CopyState(const BarrierModel &model, const TaskKnowledge &knowledge,
                     const AccessHistory &history, StateLayout &layout)
    : model(model), knowledge(knowledge), history(history),
      firstTask(layout.reserve(model.getNumTasks() * NumTaskRows)),
      firstSlot(layout.reserve(model.getNumSlots() * NumSlotRows)),
      firstAge(layout.reserve(model.places.size())) {}

void CopyState::initialize(State &state) const {
  llvm::fill(getAges(state), kLanded);
}

//===----------------------------------------------------------------------===//
// Reads under way
//===----------------------------------------------------------------------===//

PlaceSet CopyState::getRunningReads(const State &state, unsigned task) const {
  return state[getWord(task, StoreReads)] |
         AsyncMatmuls::getReads(&state[getWord(task, Matmuls)]);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

void CopyState::startCopy(State &state, unsigned task, PlaceSet places) const {
  state[getWord(task, Copies)] |= places;
  if (model.hasRoles()) // Roles wait for copies by barriers only.
    return;
  for (auto [place, age] : llvm::enumerate(getAges(state)))
    if (places >> place & 1)
      age = kOpenGroup;
}

void CopyState::overwrite(State &state, PlaceSet places,
                          std::optional<unsigned> task) const {
  for (unsigned other = 0; other < model.getNumTasks(); ++other)
    if (other != task)
      state[getWord(other, Copies)] &= ~places;
}

PlaceSet CopyState::releaseCopies(State &state, unsigned task) const {
  return std::exchange(state[getWord(task, Copies)], 0);
}

void CopyState::closeGroup(State &state) const {
  for (int64_t &age : getAges(state)) {
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min<int64_t>(age + 1, kOpenGroup - 1);
  }
}

void CopyState::landGroups(State &state, int64_t pending, bool openToo) const {
  PlaceSet landed = 0;
  for (auto [place, age] : llvm::enumerate(getAges(state)))
    if (age == kOpenGroup ? openToo : age >= pending && age != kLanded) {
      age = kLanded;
      landed |= PlaceSet(1) << place;
    }
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    PlaceSet own = landed & state[getWord(task, Copies)];
    state[getWord(task, Copies)] &= ~own;
    knowledge.getTask(state, task).learn(ClockRows::OfCopies, own);
    // A thread has waited for the copies that it started itself.
    history.addWrites(state, task, own);
  }
}

void CopyState::drain(State &state, unsigned task) const {
  getMatmuls(state, task).end(0);
  state[getWord(task, StoreReads)] = 0;
  landGroups(state, 0, /*openToo=*/true);
  // The copies stay unreleased: an arrival by `copies` still stands for
  // them.
  knowledge.getTask(state, task)
      .learn(ClockRows::OfCopies, state[getWord(task, Copies)]);
}

//===----------------------------------------------------------------------===//
// TMA loads
//===----------------------------------------------------------------------===//

void CopyState::startLoad(State &state, BarrierSlot slot, PlaceSet places,
                          int64_t bytes) const {
  state[getWord(slot, InFlight)] |= places;
  state[getWord(slot, Landing)] += bytes;
}

int64_t CopyState::landLoads(State &state, BarrierSlot slot) const {
  PlaceSet landed = std::exchange(state[getWord(slot, InFlight)], 0);
  // Another barrier's loads may write to the same places, and be under way.
  model.forEachSlot(
      [&](BarrierSlot other) { landed &= ~state[getWord(other, InFlight)]; });
  knowledge.getArriving(state, slot).learn(ClockRows::OfCopies, landed);
  return std::exchange(state[getWord(slot, Landing)], 0);
}

bool CopyState::finish(const State &state, BarrierSlot slot,
                       Finding &finding) const {
  if (!state[getWord(slot, InFlight)] && !state[getWord(slot, Landing)])
    return true;
  finding = {MBarrierOp(model.getBarrier(slot).op),
             "the kernel may end before copies have landed that report to this "
             "barrier: no task waits for them"};
  return false;
}

void CopyState::print(raw_ostream &os, const State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "task " << task << ": still read ";
    VectorClockRef::printPlaces(os, getRunningReads(state, task));
    os << ", copied to and not released ";
    VectorClockRef::printPlaces(os, state[getWord(task, Copies)]);
    os << "\n";
  }
  model.forEachSlot([&](BarrierSlot slot) {
    os << "barrier " << slot.barrier << " slot " << slot.number << ": "
       << state[getWord(slot, Landing)] << " bytes under way to ";
    VectorClockRef::printPlaces(os, state[getWord(slot, InFlight)]);
    os << "\n";
  });
}
