//===- WaitOrder.cpp - The order of waits for alternating channels --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clocks follow the happens-before relation of transactions: a commit
// releases the task's clock into the slot, and a wait acquires it; a release
// and the next acquire do the same in the other direction. Several consumers
// release one after the other, so their clocks are joined. A wait for an
// alternating channel clears the channel's bit in all clocks but its own
// task's.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/WaitOrder.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

WaitOrder::WaitOrder(const ChannelModel &model, StateLayout &layout)
    : model(model),
      first(layout.reserve(
          (model.getNumTasks() + model.numSlots * NumSlotClocks) * kNumRows)) {}

void WaitOrder::initialize(State &state) const {
  for (auto [i, channel] : llvm::enumerate(model.channels))
    for (unsigned task = 0; task < model.getNumTasks(); ++task)
      if (channel.alternating)
        getTask(state, task).learn(kWaits, uint64_t(1) << i);
}

void WaitOrder::commit(State &state, unsigned task, ChannelCursor slot) const {
  VectorClock committed = getSlot(state, slot, Committed);
  committed.clear();
  committed.join(getTask(state, task));
}

void WaitOrder::wait(State &state, unsigned task, ChannelCursor slot) const {
  getTask(state, task).join(getSlot(state, slot, Committed));
}

void WaitOrder::release(State &state, unsigned task, ChannelCursor slot) const {
  getSlot(state, slot, Released).join(getTask(state, task));
}

void WaitOrder::acquire(State &state, unsigned task, ChannelCursor slot) const {
  VectorClock released = getSlot(state, slot, Released);
  getTask(state, task).join(released);
  released.clear();
}

bool WaitOrder::areWaitsOrdered(const State &state, unsigned task,
                                unsigned channel) const {
  return VectorClockRef(&state[first + task * kNumRows], kNumRows)
      .contains(kWaits, uint64_t(1) << channel);
}

void WaitOrder::addWait(State &state, unsigned task, unsigned channel) const {
  uint64_t bit = uint64_t(1) << channel;
  for (unsigned other = 0; other < model.getNumTasks(); ++other)
    getTask(state, other).forget(kWaits, bit);
  model.forEachSlot([&](ChannelCursor slot) {
    getSlot(state, slot, Committed).forget(kWaits, bit);
    getSlot(state, slot, Released).forget(kWaits, bit);
  });
  getTask(state, task).learn(kWaits, bit);
}

void WaitOrder::rotate(State &state, unsigned channel,
                       int64_t firstSlot) const {
  constexpr unsigned kWords = NumSlotClocks * kNumRows;
  auto slots = state.begin() + getSlotWord({channel, 0}, Committed);
  std::rotate(slots, slots + firstSlot * kWords,
              slots + model.channels[channel].depth * kWords);
}

void WaitOrder::print(raw_ostream &os, const State &state) const {
  if (llvm::none_of(model.channels,
                    [](const auto &c) { return c.alternating; }))
    return;
  auto printClock = [&](unsigned word) {
    VectorClockRef(&state[word], kNumRows).print(os);
  };
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "waits ordered before task " << task << ": ";
    printClock(first + task * kNumRows);
    os << "\n";
  }
  model.forEachSlot([&](ChannelCursor slot) {
    os << "channel " << slot.channel << " slot " << slot.value
       << " passes on waits: by commits ";
    printClock(getSlotWord(slot, Committed));
    os << ", by releases ";
    printClock(getSlotWord(slot, Released));
    os << "\n";
  });
}
