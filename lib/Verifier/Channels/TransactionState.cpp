//===- TransactionState.cpp - Transactions of channels --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot is empty, being filled, or full. A full slot keeps two sets of tasks:
// consumers that have not released the slot, and the subset that has waited for
// it. Cursors count modulo twice the depth, so that the transactions of two
// successive uses of a slot differ.
//
// The consumers of an alternating channel share one cursor for their next wait,
// which is kept in the word of the first of them.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/TransactionState.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

TransactionState::TransactionState(const ChannelModel &model,
                                   StateLayout &layout)
    : model(model),
      firstChannel(layout.reserve(model.channels.size() * getNumChannelRows())),
      firstSlot(layout.reserve(model.numSlots * NumSlotRows)) {}

void TransactionState::initialize(State &state) const {
  model.forEachSlot(
      [&](ChannelCursor slot) { state[getWord(slot, Cursor)] = kNone; });
}

unsigned TransactionState::getNextWaitWord(unsigned channel,
                                           unsigned task) const {
  const ChannelModel::Channel &c = model.channels[channel];
  return getWord(channel, NextWait) +
         (c.alternating ? llvm::countr_zero(c.consumers) : task);
}

std::optional<unsigned>
TransactionState::getFiller(const State &state, ChannelCursor cursor) const {
  int64_t filler = state[getWord(cursor, Filler)];
  if (filler == 0)
    return std::nullopt;
  return filler - 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TransactionState::acquire(State &state, unsigned task,
                               ChannelCursor cursor) const {
  state[getWord(cursor, Filler)] = task + 1;
  state[getWord(cursor, Cursor)] = cursor.value;
  int64_t &next = state[getWord(cursor.channel, NextAcquire)];
  next = model.getChannel(cursor).getNext(next);
}

void TransactionState::commit(State &state, ChannelCursor cursor) const {
  state[getWord(cursor, Filler)] = 0;
  // Without consumers the slot stays full.
  state[getWord(cursor, Full)] =
      std::max<uint64_t>(model.getChannel(cursor).consumers, 1);
}

void TransactionState::wait(State &state, unsigned task,
                            ChannelCursor cursor) const {
  const ChannelModel::Channel &channel = model.getChannel(cursor);
  int64_t bit = int64_t(1) << task;
  state[getWord(cursor, Open)] |= bit;
  if (channel.alternating)
    state[getWord(cursor, Full)] = bit;
  int64_t &next = state[getNextWaitWord(cursor.channel, task)];
  next = channel.getNext(next);
}

bool TransactionState::release(State &state, unsigned task,
                               ChannelCursor cursor) const {
  int64_t bit = int64_t(1) << task;
  state[getWord(cursor, Open)] &= ~bit;
  int64_t &full = state[getWord(cursor, Full)] &= ~bit;
  if (full)
    return false;
  state[getWord(cursor, Cursor)] = kNone;
  return true;
}

//===----------------------------------------------------------------------===//
// Symmetry
//===----------------------------------------------------------------------===//

void TransactionState::rotate(State &state, unsigned channel,
                              int64_t base) const {
  const ChannelModel::Channel &c = model.channels[channel];
  auto rename = [&](int64_t &cursor) { cursor = c.rotate(cursor, base); };
  rename(state[getWord(channel, NextAcquire)]);
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    if (c.isConsumedBy(task)) {
      rename(state[getNextWaitWord(channel, task)]);
      if (c.alternating)
        break;
    }
  auto slots = state.begin() + getWord({channel, 0}, Filler);
  std::rotate(slots, slots + c.getSlot(base) * NumSlotRows,
              slots + c.depth * NumSlotRows);
  for (int64_t slot = 0; slot < c.depth; ++slot)
    if (int64_t &cursor = state[getWord({channel, slot}, Cursor)];
        cursor != kNone)
      rename(cursor);
}

void TransactionState::print(raw_ostream &os, const State &state) const {
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    os << "channel " << i << ": next acquire " << getNextAcquire(state, i);
    for (unsigned task = 0; task < model.getNumTasks(); ++task)
      if (channel.isConsumedBy(task))
        os << ", next wait of task " << task << " "
           << getNextWait(state, i, task);
    os << "\n";
  }
  model.forEachSlot([&](ChannelCursor slot) {
    os << "channel " << slot.channel << " slot " << slot.value << ": ";
    if (std::optional<unsigned> filler = getFiller(state, slot)) {
      os << "filled by task " << *filler;
    } else if (uint64_t full = getFull(state, slot)) {
      os << "full for ";
      VectorClockRef::printPlaces(os, full);
      os << ", read by ";
      VectorClockRef::printPlaces(os, state[getWord(slot, Open)]);
    } else {
      os << "empty";
    }
    if (int64_t cursor = state[getWord(slot, Cursor)]; cursor != kNone)
      os << ", cursor " << cursor;
    os << "\n";
  });
}
