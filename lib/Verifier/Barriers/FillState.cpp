//===- FillState.cpp - Writes of a fill that may be under way -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A word for each place has the open writes. A write leaves the word when the
// task's clock contains it, its threads have synchronized, and a fence has made
// it visible. So does an atomic update by any task. A write that is fresh in a
// loop overlaps with itself only if the loop begins again, so the word also has
// the writes of earlier runs of their loops.
//
// A buffer whose writes all overlap needs no word: a write that is not ordered
// before the next one conflicts with it.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/FillState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

FillState::FillState(const BarrierModel &model, const TaskKnowledge &knowledge,
                     const AccessHistory &history, const ProxyFences &proxy,
                     StateLayout &layout)
    : model(model), knowledge(knowledge), history(history), proxy(proxy) {
  for (auto [buffer, fill] :
       llvm::zip_equal(model.places.getBuffers(), model.fills))
    first.push_back(fill.isMixed()
                        ? std::optional(layout.reserve(buffer.getNumPlaces()))
                        : std::nullopt);
}

template <typename FnT>
void FillState::forEach(FnT fn) const {
  for (auto [i, buffer] : llvm::enumerate(model.places.getBuffers()))
    if (first[i])
      for (unsigned place = 0; place < buffer.getNumPlaces(); ++place)
        fn(PlaceSet(1) << (buffer.first + place), model.fills[i],
           *first[i] + place);
}

FillState::Conflicts FillState::getConflicts(const State &state, unsigned task,
                                             const PlaceAccess &access,
                                             PlaceSet places,
                                             bool isCertain) const {
  const FillParts &fill = model.fills[access.buffer];
  Conflicts conflicts = {};
  auto mayBeApart = [&](unsigned write) {
    return isCertain && !fill.overlapAlways(access.write, write);
  };
  if (!first[access.buffer]) {
    if (llvm::any_of(llvm::seq(fill.size()), mayBeApart))
      return conflicts;
    return {places, places, places, 0};
  }
  const auto &buffer = model.places.getBuffers()[access.buffer];
  for (unsigned i = 0; i < buffer.getNumPlaces(); ++i) {
    PlaceSet place = PlaceSet(1) << (buffer.first + i);
    if (!(places & place))
      continue;
    uint64_t word = state[*first[access.buffer] + i];
    for (unsigned write = 0; write < fill.size(); ++write) {
      bool isEarlier = word >> (write + kFills) & 1;
      bool isOpen = (word >> write & 1) || isEarlier;
      bool isPart =
          !fill.overlap(access.write, write) ||
          (write == access.write && fill.getFreshLoop(write) && !isEarlier);
      if (!isOpen || isPart || mayBeApart(write))
        continue;
      if (fill.isBy(write, FillParts::CpAsync))
        conflicts.copies |= place;
      if (fill.isBy(write, FillParts::Tma))
        conflicts.loads |= place;
      if (fill.isBy(write, FillParts::Threads | FillParts::CpAsync))
        conflicts.generic |= place;
      // Atomic updates by other threads are checked wherever they are.
      if (!fill.isUpdate(write) && fill.clash(access.write, write))
        conflicts.threads |= place;
    }
  }
  return conflicts;
}

void FillState::addWrite(State &state, const PlaceAccess &access,
                         PlaceSet places) const {
  if (!first[access.buffer])
    return;
  const auto &buffer = model.places.getBuffers()[access.buffer];
  for (unsigned i = 0; i < buffer.getNumPlaces(); ++i)
    if (places >> (buffer.first + i) & 1)
      state[*first[access.buffer] + i] |= int64_t(1) << access.write;
}

void FillState::enterLoop(State &state, Operation *loop) const {
  forEach([&](PlaceSet place, const FillParts &fill, unsigned word) {
    uint64_t open = state[word] & fill.getFresh(loop);
    state[word] |= open << kFills;
  });
}

void FillState::settle(State &state) const {
  forEach([&](PlaceSet place, const FillParts &fill, unsigned word) {
    if (!state[word])
      return;
    for (unsigned task = 0; task < model.getNumTasks(); ++task) {
      if (!(history.getOwned(state, task) & place) ||
          (history.getWrites(state, task) & place))
        continue;
      VectorClockRef clock = knowledge.getTask(state, task);
      unsigned open = 0;
      if (proxy.getUnfenced(state, task, place))
        open |= FillParts::Threads | FillParts::CpAsync;
      if (!clock.contains(ClockRows::OfCopies, place))
        open |= FillParts::CpAsync;
      if (!clock.contains(ClockRows::OfLoads, place))
        open |= FillParts::Tma;
      for (unsigned write = 0; write < fill.size(); ++write)
        if ((fill.isByTask(write, task) || fill.isUpdate(write)) &&
            !fill.isBy(write, open))
          state[word] &=
              ~(int64_t(1) << write | int64_t(1) << (write + kFills));
    }
  });
}

void FillState::rotate(State &state, ArrayRef<unsigned> buffers,
                       int64_t base) const {
  for (unsigned buffer : buffers)
    if (first[buffer]) {
      auto words = state.begin() + *first[buffer];
      std::rotate(words, words + base,
                  words + model.places.getBuffers()[buffer].versions);
    }
}

void FillState::print(raw_ostream &os, const State &state) const {
  forEach([&](PlaceSet place, const FillParts &fill, unsigned word) {
    os << "open writes of place ";
    VectorClockRef::printPlaces(os, place);
    os << ": ";
    VectorClockRef::printPlaces(os, uint32_t(state[word]));
    os << ", of earlier runs of their loops ";
    VectorClockRef::printPlaces(os, uint64_t(state[word]) >> kFills);
    os << "\n";
  });
}
