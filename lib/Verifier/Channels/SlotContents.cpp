//===- SlotContents.cpp - Contents of the slots of channels ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With roles, channels wait for copies and order accesses, so only the buffers
// that a transaction has filled matter. Without roles all threads of the block
// execute both sides of a channel: copies by cp.async land when their group is
// waited for, and a slot that was read may be filled again after a barrier.
//
// Ages saturate below that of copies in an open group. A wait permits fewer
// pending groups than that, so all greater ages land in the same waits.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/SlotContents.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

SlotContents::SlotContents(const ChannelModel &model, StateLayout &layout)
    : model(model), first(layout.reserve(model.numSlots * NumSlotRows)) {}

void SlotContents::initialize(State &state) const {
  model.forEachSlot(
      [&](ChannelCursor slot) { state[getWord(slot, Age)] = kLanded; });
}

void SlotContents::begin(State &state, ChannelCursor slot) const {
  clear(state, slot);
  state[getWord(slot, Age)] = kLanded;
}

void SlotContents::clear(State &state, ChannelCursor slot) const {
  state[getWord(slot, Filled)] = 0;
  state[getWord(slot, Unfenced)] = 0;
  endFill(state, slot);
}

void SlotContents::fill(State &state, const SlotAccess &access,
                        ChannelCursor slot) const {
  state[getWord(slot, Filled)] |= int64_t(1) << access.buffer;
  state[getWord(slot, Writes)] |= int64_t(1) << access.write;
  overwrite(state, access, slot);
}

bool SlotContents::overlapsCopy(const State &state, const SlotAccess &access,
                                ChannelCursor slot, bool isCertain) const {
  const ChannelModel::Channel &channel = model.getChannel(slot);
  const FillParts &fill = channel.fills[access.buffer];
  unsigned own = channel.writes[access.write].second;
  for (auto [bit, write] : llvm::enumerate(channel.writes)) {
    auto [buffer, number] = write;
    bool isMade = state[getWord(slot, Writes)] >> bit & 1;
    bool isPart = number == own && fill.getFreshLoop(own) &&
                  !(state[getWord(slot, Repeated)] >> bit & 1);
    if (isMade && buffer == access.buffer && !isPart &&
        (!isCertain || fill.overlapAlways(own, number)) &&
        (access.isCopy || fill.isCopy(number)) && fill.overlap(own, number))
      return true;
  }
  return false;
}

void SlotContents::enterLoop(State &state, Operation *loop) const {
  model.forEachSlot([&](ChannelCursor slot) {
    const ChannelModel::Channel &channel = model.getChannel(slot);
    int64_t made = state[getWord(slot, Writes)];
    for (auto [bit, write] : llvm::enumerate(channel.writes))
      if ((made >> bit & 1) &&
          channel.fills[write.first].getFreshLoop(write.second) == loop)
        state[getWord(slot, Repeated)] |= int64_t(1) << bit;
  });
}

std::optional<unsigned> SlotContents::getLooseRead(const State &state,
                                                   ChannelCursor slot) const {
  int64_t read = state[getWord(slot, LooseRead)];
  if (read == 0)
    return std::nullopt;
  return read - 1;
}

void SlotContents::readLoosely(State &state, ChannelCursor slot,
                               unsigned event) const {
  int64_t &read = state[getWord(slot, LooseRead)];
  if (!read)
    read = event + 1;
}

//===----------------------------------------------------------------------===//
// Groups and barriers, without roles
//===----------------------------------------------------------------------===//

void SlotContents::closeGroup(State &state) const {
  model.forEachSlot([&](ChannelCursor slot) {
    int64_t &age = state[getWord(slot, Age)];
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min<int64_t>(age + 1, kOpenGroup - 1);
  });
}

void SlotContents::land(State &state, int64_t pending, bool openToo) const {
  model.forEachSlot([&](ChannelCursor slot) {
    int64_t &age = state[getWord(slot, Age)];
    if (age == kOpenGroup ? openToo : age >= pending)
      age = kLanded;
  });
}

void SlotContents::synchronize(State &state, bool fences) const {
  model.forEachSlot([&](ChannelCursor slot) {
    state[getWord(slot, Unsynchronized)] = 0;
    if (!hasLanded(state, slot))
      return;
    endFill(state, slot);
    if (fences)
      state[getWord(slot, Unfenced)] = 0;
  });
}

void SlotContents::rotate(State &state, unsigned channel,
                          int64_t firstSlot) const {
  auto slots = state.begin() + getWord({channel, 0}, LooseRead);
  std::rotate(slots, slots + firstSlot * NumSlotRows,
              slots + model.channels[channel].depth * NumSlotRows);
}

void SlotContents::print(raw_ostream &os, const State &state) const {
  model.forEachSlot([&](ChannelCursor slot) {
    os << "channel " << slot.channel << " slot " << slot.value << " holds ";
    VectorClockRef::printPlaces(os, state[getWord(slot, Filled)]);
    int64_t age = state[getWord(slot, Age)];
    if (age == kOpenGroup)
      os << ", a copy in an open group";
    else if (age != kLanded)
      os << ", a copy of age " << age;
    if (isUnfenced(state, slot))
      os << ", unfenced";
    if (isUnsynchronized(state, slot))
      os << ", read since the last barrier";
    if (std::optional<unsigned> event = getLooseRead(state, slot))
      os << ", read outside of a transaction by event " << *event;
    os << "\n";
  });
}
