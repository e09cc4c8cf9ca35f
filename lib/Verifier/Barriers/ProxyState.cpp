//===- ProxyState.cpp - Writes that no proxy fence has made visible -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each task has the set of places that it has written and that no fence has
// covered since. A fence removes from all tasks' sets the writes that the
// fencing task's clock contains, because these happen-before the fence. Only
// places that TMA or wgmma access anywhere in the kernel are kept in the sets.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/ProxyState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ProxyState::ProxyState(const BarrierModel &model,
                       const TaskKnowledge &knowledge, StateLayout &layout)
    : model(model), knowledge(knowledge),
      first(layout.reserve(model.getNumTasks() * NumTaskRows)) {
  for (const auto &[op, event] : model.events)
    for (const PlaceAccess &access : event.accesses)
      if (event.isAsyncProxy())
        byProxy |= model.places.getAll(access.buffer);
}

void ProxyState::addWrites(State &state, unsigned task, PlaceSet places,
                           bool byCpAsync) const {
  state[getWord(task, byCpAsync ? UnfencedCopies : UnfencedStores)] |= places;
  state[getWord(task, Unreleased)] |= places;
}

void ProxyState::fence(State &state, unsigned task) const {
  VectorClock clock = knowledge.getTask(state, task);
  for (unsigned writer = 0; writer < model.getNumTasks(); ++writer) {
    state[getWord(writer, UnfencedStores)] &= ~clock[ClockRows::OfThreads];
    state[getWord(writer, UnfencedCopies)] &= ~clock[ClockRows::OfCopies];
  }
}

void ProxyState::release(State &state, unsigned task) const {
  state[getWord(task, Unreleased)] = 0;
}

void ProxyState::releaseCopies(State &state, unsigned task,
                               PlaceSet copies) const {
  state[getWord(task, Unreleased)] &= ~copies;
}

void ProxyState::reduce(State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    state[getWord(task, UnfencedStores)] &= byProxy;
    state[getWord(task, UnfencedCopies)] &= byProxy;
    state[getWord(task, Unreleased)] &= getUnfenced(state, task);
  }
}

void ProxyState::print(raw_ostream &os, const State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "task " << task << ": unfenced writes ";
    VectorClockRef::printPlaces(os, getUnfenced(state, task));
    os << ", not released since ";
    VectorClockRef::printPlaces(os, getUnreleased(state, task));
    os << "\n";
  }
}
