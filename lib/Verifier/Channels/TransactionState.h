//===- TransactionState.h - Transactions of channels ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_TRANSACTIONSTATE_H
#define TILEWS_LIB_VERIFIER_CHANNELS_TRANSACTIONSTATE_H

#include "Verifier/Channels/ChannelModel.h"
#include "Verifier/Engine/StateLayout.h"

namespace tilews::verifier {

/// How far the transactions of each channel are: the cursor of the next one on
/// each side, and for each slot who fills it and who has yet to release it.
///
/// Example: a channel of depth 2 with producer 1 and consumer 2.
///
///     step       slot 0                       next acquire  next wait
///     acquire 0  filler 1, cursor 0           1             0
///     commit 0   full {2}, cursor 0           1             0
///     wait 0     full {2}, open {2}, cursor 0 1             1
///     release 0  empty, no cursor             1             1
class TransactionState {
public:
  TransactionState(const ChannelModel &model, StateLayout &layout);
  void initialize(State &state) const;

  /// The cursor that the next tile.acquire of a channel must have.
  int64_t getNextAcquire(const State &state, unsigned channel) const {
    return state[getWord(channel, NextAcquire)];
  }
  /// The cursor that the next tile.wait of `task` must have. All consumers of
  /// an alternating channel have one.
  int64_t getNextWait(const State &state, unsigned channel,
                      unsigned task) const {
    return state[getNextWaitWord(channel, task)];
  }

  /// The task that has acquired the slot of `cursor` and not committed it.
  std::optional<unsigned> getFiller(const State &state,
                                    ChannelCursor cursor) const;
  /// Whether the slot's transaction is the one of `cursor`.
  bool isAt(const State &state, ChannelCursor cursor) const {
    return state[getWord(cursor, Cursor)] == cursor.value;
  }
  /// The consumers that have yet to release the slot.
  uint64_t getFull(const State &state, ChannelCursor cursor) const {
    return state[getWord(cursor, Full)];
  }
  bool isFullFor(const State &state, ChannelCursor cursor,
                 unsigned task) const {
    return getFull(state, cursor) >> task & 1;
  }
  /// Whether `task` has waited for the slot and not released it.
  bool isOpenFor(const State &state, ChannelCursor cursor,
                 unsigned task) const {
    return state[getWord(cursor, Open)] >> task & 1;
  }
  /// Whether any consumer has.
  bool isOpen(const State &state, ChannelCursor cursor) const {
    return state[getWord(cursor, Open)] & state[getWord(cursor, Full)];
  }

  /// The steps, which must be allowed.
  void acquire(State &state, unsigned task, ChannelCursor cursor) const;
  void commit(State &state, ChannelCursor cursor) const;
  void wait(State &state, unsigned task, ChannelCursor cursor) const;
  /// Returns whether this was the last consumer, which empties the slot.
  bool release(State &state, unsigned task, ChannelCursor cursor) const;

  /// Renumbers the cursors of a channel from `base` on.
  void rotate(State &state, unsigned channel, int64_t base) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  /// The words of a channel. A word for each task follows, with the cursor of
  /// its next wait.
  enum ChannelRow : unsigned { NextAcquire, NextWait };
  enum SlotRow : unsigned {
    /// The task that fills it, plus 1.
    Filler,
    /// The cursor of its transaction; kNone if it is empty.
    Cursor,
    /// Sets of consumers: those that have yet to release, and those that have
    /// waited and not released.
    Full,
    Open,
    NumSlotRows
  };
  static constexpr int64_t kNone = -1;

  unsigned getNumChannelRows() const { return NextWait + model.getNumTasks(); }
  unsigned getWord(unsigned channel, ChannelRow row) const {
    return firstChannel + channel * getNumChannelRows() + row;
  }
  unsigned getWord(ChannelCursor cursor, SlotRow row) const {
    return firstSlot + model.getIndex(cursor) * NumSlotRows + row;
  }
  unsigned getNextWaitWord(unsigned channel, unsigned task) const;

  const ChannelModel &model;
  unsigned firstChannel, firstSlot;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_TRANSACTIONSTATE_H
