//===- CopyState.cpp - Copies and matmuls under way -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy takes effect for its readers when its completion is ordered before
// them, not when it was started. A started copy clears its bit in all clocks:
// in the row OfCopies if it is by cp.async, in OfLoads if it is a TMA load. The
// bit returns to the waiting task's clock when its group was waited for, or to
// the slot's clock when an arrival or its bytes complete it. Reads under way
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
      mostPending(model.getNumTasks(), -1),
      firstTask(layout.reserve(model.getNumTasks() * NumTaskRows)),
      firstSlot(layout.reserve(model.getNumSlots() * NumSlotRows)),
      firstAge(layout.reserve(model.places.size())) {
  for (const auto &[op, event] : model.events)
    if (auto wait = dyn_cast<CopyGroupWaitOp>(op)) {
      int64_t &most = mostPending[getTask(op)];
      most = std::max(most, int64_t(wait.getPending()));
    }
}

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
  // A role may wait for its copies by barriers only.
  if (model.hasRoles() && mostPending[task] < 0)
    return;
  for (auto [place, age] : llvm::enumerate(getAges(state)))
    if (places >> place & 1)
      age = kOpenGroup;
}

void CopyState::overwrite(State &state, unsigned task, PlaceSet places) const {
  for (unsigned other = 0; other < model.getNumTasks(); ++other)
    if (other != task)
      state[getWord(other, Copies)] &= ~places;
  places &= ~state[getWord(task, Copies)];
  for (auto [place, age] : llvm::enumerate(getAges(state)))
    if (places >> place & 1)
      age = kLanded;
}

void CopyState::closeGroup(State &state, unsigned task) const {
  PlaceSet own = history.getOwned(state, task);
  int64_t oldest = std::max<int64_t>(mostPending[task], 0);
  for (auto [place, age] : llvm::enumerate(getAges(state))) {
    if (!(own >> place & 1))
      continue;
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min(age + 1, oldest);
  }
}

void CopyState::landGroups(State &state, unsigned task, int64_t pending,
                           bool openToo) const {
  PlaceSet own = history.getOwned(state, task), landed = 0;
  for (auto [place, age] : llvm::enumerate(getAges(state)))
    if ((own >> place & 1) &&
        (age == kOpenGroup ? openToo : age >= pending && age != kLanded)) {
      age = kLanded;
      landed |= PlaceSet(1) << place;
    }
  landed &= state[getWord(task, Copies)];
  state[getWord(task, Copies)] &= ~landed;
  knowledge.getTask(state, task).learn(ClockRows::OfCopies, landed);
  // A thread has waited for the copies that it started itself.
  history.addWrites(state, task, landed);
}

void CopyState::drain(State &state, unsigned task) const {
  getMatmuls(state, task).end(0);
  state[getWord(task, StoreReads)] = 0;
  landGroups(state, task, 0, /*openToo=*/true);
  // An arrival by `copies` still stands for them.
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
  knowledge.getArriving(state, slot).learn(ClockRows::OfLoads, landed);
  return std::exchange(state[getWord(slot, Landing)], 0);
}

bool CopyState::finish(const State &state, BarrierSlot slot,
                       Finding &finding) const {
  if (!hasLoads(state, slot))
    return true;
  finding = {MBarrierOp(model.getBarrier(slot).op),
             "the kernel may end before copies have landed that report to this "
             "barrier: no task waits for them"};
  return false;
}

void CopyState::appendWords(SmallVectorImpl<unsigned> &words) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    words.push_back(getWord(task, Copies));
}

void CopyState::appendPlaceSets(SmallVectorImpl<unsigned> &words) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    words.append({getWord(task, Copies), getWord(task, StoreReads)});
}

void CopyState::rotateAges(State &state, ArrayRef<unsigned> buffers,
                           int64_t base) const {
  for (unsigned number : buffers) {
    const auto &buffer = model.places.getBuffers()[number];
    auto ages = getAges(state).slice(buffer.first, buffer.versions);
    std::rotate(ages.begin(), ages.begin() + base, ages.end());
  }
}

void CopyState::print(raw_ostream &os, const State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "task " << task << ": still read ";
    VectorClockRef::printPlaces(os, getRunningReads(state, task));
    os << ", copied to ";
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
