//===- WaitOrder.h - The order of waits for alternating channels *- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_WAITORDER_H
#define TILEWS_LIB_VERIFIER_CHANNELS_WAITORDER_H

#include "Verifier/Channels/ChannelModel.h"
#include "Verifier/Engine/StateLayout.h"
#include "Verifier/Engine/VectorClock.h"

namespace tilews::verifier {

/// The order of waits for alternating channels, whose consumers wait one after
/// the other. All earlier waits, which other tasks made, must happen-before
/// each wait. Otherwise two tasks could wait at the same time and take each
/// other's transactions.
///
/// Each task has a vector clock of one row, and each slot has two: the clock
/// released by its commit, and the join of its releases. Bit c of the row is
/// set if all waits so far for the alternating channel c happen-before the next
/// step of the clock's owner.
///
/// Example: the tasks 2 and 3 alternate on channel 0; channel 1, from 2 to 3,
/// orders them.
///
///     step                     clock of 2  clock of 3  committed(slot of 1)
///     start                    {0}         {0}         {}
///     2 waits for channel 0    {0}         {}          {}
///     2 commits to channel 1   {0}         {}          {0}
///     3 waits for channel 1    {0}         {0}         {0}
///     3 waits for channel 0    {}          {0}         {}
class WaitOrder {
public:
  WaitOrder(const ChannelModel &model, StateLayout &layout);
  /// Before the first step everything is ordered.
  void initialize(State &state) const;

  /// The clock of `task` is passed on by the slot, and acquired from it.
  void commit(State &state, unsigned task, ChannelCursor slot) const;
  void wait(State &state, unsigned task, ChannelCursor slot) const;
  void release(State &state, unsigned task, ChannelCursor slot) const;
  void acquire(State &state, unsigned task, ChannelCursor slot) const;

  /// Whether all waits so far for `channel` happen-before the next step of
  /// `task`.
  bool areWaitsOrdered(const State &state, unsigned task,
                       unsigned channel) const;
  /// `task` waits for an alternating channel: no other clock contains all waits
  /// for it any more.
  void addWait(State &state, unsigned task, unsigned channel) const;

  /// Renumbers the slots of a channel from `first` on.
  void rotate(State &state, unsigned channel, int64_t first) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  /// The only row of the clocks.
  static constexpr unsigned kWaits = 0, kNumRows = 1;
  enum SlotClock : unsigned { Committed, Released, NumSlotClocks };

  VectorClock getTask(State &state, unsigned task) const {
    return {&state[first + task * kNumRows], kNumRows};
  }
  VectorClock getSlot(State &state, ChannelCursor slot, SlotClock which) const {
    return {&state[getSlotWord(slot, which)], kNumRows};
  }
  unsigned getSlotWord(ChannelCursor slot, SlotClock which) const {
    unsigned clock =
        model.getNumTasks() + model.getIndex(slot) * NumSlotClocks + which;
    return first + clock * kNumRows;
  }

  const ChannelModel &model;
  /// The first word. The clocks of the tasks come first, then the two of each
  /// slot.
  unsigned first;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_WAITORDER_H
