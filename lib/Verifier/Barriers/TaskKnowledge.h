//===- TaskKnowledge.h - The vector clocks of tasks and slots ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_TASKKNOWLEDGE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_TASKKNOWLEDGE_H

#include "Verifier/Barriers/BarrierModel.h"
#include "Verifier/Barriers/ClockRows.h"
#include "Verifier/Engine/StateLayout.h"
#include "Verifier/Engine/VectorClock.h"

namespace tilews::verifier {

/// The vector clocks: one for each task, and two for each slot of a barrier. An
/// arrival joins its task's clock into the slot's clock of the present phase.
/// When the phase completes, that clock becomes the clock of the last complete
/// phase, and a wait joins it into its task's clock.
///
/// Example: @load stores to place 0 and arrives at slot s, @math waits for it.
///
///     step             @load       arriving(s)  complete(s)  @math
///     store            OfThreads 0 -            -            - (forgets 0)
///     arrive           OfThreads 0 OfThreads 0  -            -
///     phase completes  OfThreads 0 -            OfThreads 0  -
///     wait             OfThreads 0 -            OfThreads 0  OfThreads 0
class TaskKnowledge {
public:
  TaskKnowledge(const BarrierModel &model, StateLayout &layout);

  const ClockRows &getRows() const { return rows; }
  VectorClock getTask(State &state, unsigned task) const {
    return {&state[first + task * rows.size()], rows.size()};
  }
  VectorClockRef getTask(const State &state, unsigned task) const {
    return {&state[first + task * rows.size()], rows.size()};
  }
  /// The clock that arrivals of the present phase of a slot join into.
  VectorClock getArriving(State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot)], rows.size()};
  }
  VectorClockRef getArriving(const State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot)], rows.size()};
  }
  /// The clock of the last complete phase of a slot.
  VectorClock getComplete(State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot) + rows.size()], rows.size()};
  }
  VectorClockRef getComplete(const State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot) + rows.size()], rows.size()};
  }

  //===--------------------------------------------------------------------===//
  // The places among `places` with accesses, in the block or in its peers, that
  // do not happen-before the next step of `task`
  //===--------------------------------------------------------------------===//

  PlaceSet getOpenWrites(const State &state, unsigned task, PlaceSet places,
                         bool ofPeers = false) const;
  /// Atomic updates.
  PlaceSet getOpenUpdates(const State &state, unsigned task, PlaceSet places,
                          bool ofPeers = false) const;
  PlaceSet getOpenReads(const State &state, unsigned task, PlaceSet places,
                        bool ofPeers = false) const;

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  /// Before the first step all clocks of tasks are full.
  void initialize(State &state) const;
  /// An event of kind `row` on `places`: no clock contains it any more, except
  /// that of the block's own events in task `self`.
  void forget(State &state, unsigned row, PlaceSet places,
              std::optional<unsigned> self = std::nullopt) const;
  /// A phase of a slot completes: its bits in the rows `Completed` and
  /// `Awaited` are cleared, and waits join the clock of its arrivals.
  void completePhase(State &state, BarrierSlot slot, uint64_t phaseBit) const;
  /// All tasks of the block synchronize.
  void synchronize(State &state) const;
  /// Clears bits in the clocks of complete phases that all tasks which have yet
  /// to wait for them contain already. `isWaiting(task, slot)` says which tasks
  /// these are, `getUnsynchronized(task, row)` which of a task's own accesses a
  /// wait orders.
  void dropKnown(
      State &state, llvm::function_ref<bool(unsigned, BarrierSlot)> isWaiting,
      llvm::function_ref<PlaceSet(unsigned, unsigned)> getUnsynchronized) const;

  /// Adds the words of all clocks to `words`.
  void appendWords(llvm::SmallVectorImpl<unsigned> &words) const;
  /// Adds those whose bits are places.
  void appendPlaceSets(llvm::SmallVectorImpl<unsigned> &words) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  unsigned getArrivingWord(BarrierSlot slot) const {
    return first +
           (model.getNumTasks() + 2 * model.getIndex(slot)) * rows.size();
  }
  PlaceSet getOpen(const State &state, unsigned task, PlaceSet places,
                   bool ofPeers, unsigned begin, unsigned end) const;
  unsigned getNumClocks() const {
    return model.getNumTasks() + 2 * model.getNumSlots();
  }
  template <typename FnT>
  void forEachClock(State &state, FnT fn) const;

  const BarrierModel &model;
  ClockRows rows;
  /// The first word. The clocks of the tasks come first, then the two of each
  /// slot.
  unsigned first;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_TASKKNOWLEDGE_H
