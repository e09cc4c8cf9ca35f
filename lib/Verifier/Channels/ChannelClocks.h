//===- ChannelClocks.h - Happens-before of transactions ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELCLOCKS_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELCLOCKS_H

#include "Verifier/Channels/ChannelModel.h"
#include "Verifier/Engine/StateLayout.h"
#include "Verifier/Engine/VectorClock.h"

namespace tilews::verifier {

/// What the steps of transactions order, where the transactions alone do not
/// say it. Each task has a vector clock, and each slot has two: the clock
/// released by its commit, and the join of its releases. Two rules ask for it:
///
/// The consumers of an alternating channel wait one after the other. All
/// earlier waits, which other tasks made, must happen-before each wait.
/// Otherwise two tasks could wait at the same time and take each other's
/// transactions. Bit c of the first row is set if all waits so far for the
/// alternating channel c happen-before the next step of the clock's owner.
///
/// Accesses to a contested region have rows of their own, whose bits are slots:
/// one for the writes, and one for the reads, and for the atomic updates, of
/// each task.
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
class ChannelClocks {
public:
  ChannelClocks(const ChannelModel &model, StateLayout &layout);
  /// Before the first step everything is ordered.
  void initialize(State &state) const;

  /// The clock of `task` is passed on by the slot, without the reads by
  /// matmuls and copies of the task that may still read `running`.
  void commit(State &state, unsigned task, ChannelCursor slot,
              uint64_t running) const;
  void release(State &state, unsigned task, ChannelCursor slot,
               uint64_t running) const;
  /// The clock of `task` learns what the slot passes on.
  void wait(State &state, unsigned task, ChannelCursor slot) const;
  void acquire(State &state, unsigned task, ChannelCursor slot) const;

  /// Whether all waits so far for `channel` happen-before the next step of
  /// `task`.
  bool areWaitsOrdered(const State &state, unsigned task,
                       unsigned channel) const;
  /// `task` waits for an alternating channel: no other clock contains all waits
  /// for it any more.
  void addWait(State &state, unsigned task, unsigned channel) const;

  /// Whether all earlier accesses that conflict with one by `task` to a
  /// contested region happen-before it.
  bool isAccessOrdered(const State &state, unsigned task,
                       const SlotAccess &access, unsigned region,
                       ChannelCursor slot) const;
  /// No other clock contains this access to a contested region.
  void addAccess(State &state, unsigned task, const SlotAccess &access,
                 unsigned region, ChannelCursor slot) const;

  /// Renumbers the slots of a channel from `first` on.
  void rotate(State &state, unsigned channel, int64_t first) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  static constexpr unsigned kWaits = 0;
  enum SlotClock : unsigned { Committed, Released, NumSlotClocks };
  /// The kinds of accesses to a region. Rows of each task for the last two.
  enum RegionRow : unsigned { Writes, Reads, Updates };

  unsigned getNumRegionRows() const { return 1 + 2 * model.getNumTasks(); }
  unsigned getRow(unsigned region, RegionRow row, unsigned task = 0) const {
    return 1 + region * getNumRegionRows() +
           (row == Writes ? 0 : 1 + 2 * task + (row == Updates));
  }
  VectorClock getTask(State &state, unsigned task) const {
    return {&state[first + task * numRows], numRows};
  }
  VectorClockRef getTask(const State &state, unsigned task) const {
    return {&state[first + task * numRows], numRows};
  }
  VectorClock getSlot(State &state, ChannelCursor slot, SlotClock which) const {
    return {&state[getSlotWord(slot, which)], numRows};
  }
  unsigned getSlotWord(ChannelCursor slot, SlotClock which) const {
    unsigned clock =
        model.getNumTasks() + model.getIndex(slot) * NumSlotClocks + which;
    return first + clock * numRows;
  }
  void passOn(State &state, unsigned task, VectorClock to,
              uint64_t running) const;
  void forget(State &state, unsigned row, uint64_t bits, unsigned except) const;

  const ChannelModel &model;
  unsigned numRows;
  /// The first word. The clocks of the tasks come first, then the two of each
  /// slot.
  unsigned first;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELCLOCKS_H
