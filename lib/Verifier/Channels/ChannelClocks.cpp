//===- ChannelClocks.cpp - Happens-before of transactions -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clocks follow the happens-before relation of transactions: a commit
// releases the task's clock into the slot, and a wait acquires it; a release
// and the next acquire do the same in the other direction. Several consumers
// release one after the other, so their clocks are joined.
//
// A wait for an alternating channel, or an access to a contested region, clears
// its bit in all clocks but its own task's. A matmul or a copy to global memory
// reads on while its task goes on, so a task passes on such reads only after
// they have ended. The body of the kernel runs before and after all roles: its
// accesses are ordered, and have no bits.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelClocks.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ChannelClocks::ChannelClocks(const ChannelModel &model, StateLayout &layout)
    : model(model), numRows(1 + model.regions.size() * getNumRegionRows()),
      first(layout.reserve(
          (model.getNumTasks() + model.numSlots * NumSlotClocks) * numRows)) {}

void ChannelClocks::initialize(State &state) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    VectorClock clock = getTask(state, task);
    for (auto [i, channel] : llvm::enumerate(model.channels))
      if (channel.alternating)
        clock.learn(kWaits, uint64_t(1) << i);
    for (auto [i, region] : llvm::enumerate(model.regions))
      for (unsigned row = 0; row < getNumRegionRows(); ++row)
        clock.learn(getRow(i, Writes) + row, model.getSlotBits(region.channel));
  }
}

//===----------------------------------------------------------------------===//
// Steps of transactions
//===----------------------------------------------------------------------===//

void ChannelClocks::passOn(State &state, unsigned task, VectorClock to,
                           uint64_t running) const {
  SmallVector<int64_t> words(numRows);
  VectorClock passed(words.data(), numRows);
  passed.join(getTask(state, task));
  for (auto [i, region] : llvm::enumerate(model.regions))
    if (region.asyncReaders >> task & 1)
      passed.forget(getRow(i, Reads, task), running);
  to.join(passed);
}

void ChannelClocks::commit(State &state, unsigned task, ChannelCursor slot,
                           uint64_t running) const {
  VectorClock committed = getSlot(state, slot, Committed);
  committed.clear();
  passOn(state, task, committed, running);
}

void ChannelClocks::release(State &state, unsigned task, ChannelCursor slot,
                            uint64_t running) const {
  passOn(state, task, getSlot(state, slot, Released), running);
}

void ChannelClocks::wait(State &state, unsigned task,
                         ChannelCursor slot) const {
  getTask(state, task).join(getSlot(state, slot, Committed));
}

void ChannelClocks::acquire(State &state, unsigned task,
                            ChannelCursor slot) const {
  VectorClock released = getSlot(state, slot, Released);
  getTask(state, task).join(released);
  released.clear();
}

//===----------------------------------------------------------------------===//
// Waits and accesses
//===----------------------------------------------------------------------===//

void ChannelClocks::forget(State &state, unsigned row, uint64_t bits,
                           unsigned except) const {
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    if (task != except)
      getTask(state, task).forget(row, bits);
  model.forEachSlot([&](ChannelCursor slot) {
    getSlot(state, slot, Committed).forget(row, bits);
    getSlot(state, slot, Released).forget(row, bits);
  });
}

bool ChannelClocks::areWaitsOrdered(const State &state, unsigned task,
                                    unsigned channel) const {
  return getTask(state, task).contains(kWaits, uint64_t(1) << channel);
}

void ChannelClocks::addWait(State &state, unsigned task,
                            unsigned channel) const {
  forget(state, kWaits, uint64_t(1) << channel, task);
  getTask(state, task).learn(kWaits, uint64_t(1) << channel);
}

bool ChannelClocks::isAccessOrdered(const State &state, unsigned task,
                                    const SlotAccess &access, unsigned region,
                                    ChannelCursor slot) const {
  uint64_t bit = model.getSlotBit(slot);
  VectorClockRef clock = getTask(state, task);
  if (!clock.contains(getRow(region, Writes), bit))
    return false;
  for (unsigned other = 0; other < model.getNumTasks(); ++other) {
    if (access.writes && !clock.contains(getRow(region, Reads, other), bit))
      return false;
    if (!access.isAtomic &&
        !clock.contains(getRow(region, Updates, other), bit))
      return false;
  }
  return true;
}

void ChannelClocks::addAccess(State &state, unsigned task,
                              const SlotAccess &access, unsigned region,
                              ChannelCursor slot) const {
  RegionRow row = access.isAtomic ? Updates : access.writes ? Writes : Reads;
  forget(state, getRow(region, row, task), model.getSlotBit(slot), task);
}

//===----------------------------------------------------------------------===//
// Symmetry
//===----------------------------------------------------------------------===//

void ChannelClocks::rotate(State &state, unsigned channel,
                           int64_t firstSlot) const {
  unsigned words = NumSlotClocks * numRows;
  auto slots = state.begin() + getSlotWord({channel, 0}, Committed);
  std::rotate(slots, slots + firstSlot * words,
              slots + model.channels[channel].depth * words);
  unsigned numClocks = model.getNumTasks() + model.numSlots * NumSlotClocks;
  for (auto [i, region] : llvm::enumerate(model.regions)) {
    if (region.channel != channel)
      continue;
    for (unsigned clock = 0; clock < numClocks; ++clock)
      for (unsigned row = 0; row < getNumRegionRows(); ++row) {
        int64_t &bits =
            state[first + clock * numRows + getRow(i, Writes) + row];
        bits = model.rotateSlots(bits, channel, firstSlot);
      }
  }
}

void ChannelClocks::print(raw_ostream &os, const State &state) const {
  if (model.regions.empty() && llvm::none_of(model.channels, [](const auto &c) {
        return c.alternating;
      }))
    return;
  auto printClock = [&](unsigned word) {
    VectorClockRef(&state[word], numRows).print(os);
  };
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    os << "ordered before task " << task << ": ";
    printClock(first + task * numRows);
    os << "\n";
  }
  model.forEachSlot([&](ChannelCursor slot) {
    os << "channel " << slot.channel << " slot " << slot.value
       << " passes on: by commits ";
    printClock(getSlotWord(slot, Committed));
    os << ", by releases ";
    printClock(getSlotWord(slot, Released));
    os << "\n";
  });
}
