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
/// arrival releases what its task knows into the slot's clock of the present
/// phase; when the phase completes that becomes the clock of the last complete
/// phase, which a wait acquires.
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
  /// What the arrivals of the present phase of a slot have released.
  VectorClock getArriving(State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot)], rows.size()};
  }
  VectorClockRef getArriving(const State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot)], rows.size()};
  }
  /// What those of its last complete phase did.
  VectorClock getComplete(State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot) + rows.size()], rows.size()};
  }
  VectorClockRef getComplete(const State &state, BarrierSlot slot) const {
    return {&state[getArrivingWord(slot) + rows.size()], rows.size()};
  }

  /// Before the first step everything is ordered.
  void initialize(State &state) const;
  /// An event of kind `row` on `places`: no clock contains it any more, except
  /// that of the block's own events in task `self`.
  void forget(State &state, unsigned row, PlaceSet places,
              std::optional<unsigned> self = std::nullopt) const;
  /// A phase of a slot completes: clocks no longer contain that its last phase
  /// is complete and awaited, and waits acquire what its arrivals released.
  void completePhase(State &state, BarrierSlot slot, uint64_t phaseBit) const;
  /// All tasks of the block synchronize.
  void synchronize(State &state) const;
  /// Drops from the clocks of complete phases what all tasks know that have yet
  /// to wait for them. `isWaiting(task, slot)` says which do, `unsynchronized`
  /// which of a task's own reads a wait adds to its clock.
  void dropKnown(
      State &state, llvm::function_ref<bool(unsigned, BarrierSlot)> isWaiting,
      llvm::function_ref<PlaceSet(unsigned)> getUnsynchronizedReads) const;

  /// Adds the words of all clocks to `words`.
  void appendWords(llvm::SmallVectorImpl<unsigned> &words) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  unsigned getArrivingWord(BarrierSlot slot) const {
    return first +
           (model.getNumTasks() + 2 * model.getIndex(slot)) * rows.size();
  }
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
