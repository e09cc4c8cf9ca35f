//===- BarrierState.h - The parts of a state with barriers ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTATE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTATE_H

#include "Verifier/Barriers/AccessHistory.h"
#include "Verifier/Barriers/ClusterPeers.h"
#include "Verifier/Barriers/CopyState.h"
#include "Verifier/Barriers/FillState.h"
#include "Verifier/Barriers/PhaseState.h"
#include "Verifier/Barriers/ProxyFences.h"
#include "Verifier/Barriers/TaskKnowledge.h"

namespace tilews::verifier {

/// The words of a `State` with barriers, by what they are about. A part has no
/// state of its own: it finds its words in the `State` that each call is given.
///
/// Example: with two tasks, two places, and one barrier of one slot,
///
///     knowledge  words 0 to 27   two clocks of tasks, two of the slot, 7 rows
///     phases     words 28 to 35  2 of the barrier, 6 of the slot
///     history    words 36 to 46  5 of each task, 1 of all
///     ...
///
/// and `parts.phases.countUnseen(state, 1, {0, 0})` reads word 35.
class BarrierState {
public:
  BarrierState(const BarrierModel &model, const BarrierSelection &selection,
               StateLayout layout = StateLayout());

  State getInitial() const;
  /// All threads of a task synchronize: those of the block if it is task 0.
  void synchronize(State &state, unsigned task) const;
  /// The present phase of a slot ends after copies that `task` has started, or
  /// one of its threads starts now. So it ends after the phases and waits that
  /// are ordered before the next step of `task`.
  void releasePhases(State &state, unsigned task, BarrierSlot slot,
                     bool byOneThread) const;
  /// `task` reads `places`.
  void addReads(State &state, unsigned task, PlaceSet places,
                bool isAsyncProxy) const;
  /// The accesses of kind `row`, or the waits, that some threads of `task` have
  /// made since all of them synchronized.
  uint64_t getUnsynchronized(const State &state, unsigned task,
                             unsigned row) const;
  /// Drops what no later step asks for. `inRoles`: the roles have begun, and
  /// the kernel's body waits for them to end.
  void reduce(State &state, bool inRoles) const;
  void dropKnown(State &state) const;
  /// Renumbers the versions of buffers, from version `base` on.
  void rotateSlots(State &state, llvm::ArrayRef<unsigned> buffers,
                   int64_t base) const;
  /// The words that hold knowledge, which may be cleared bit by bit.
  llvm::SmallVector<unsigned> findKnowledge() const;
  void print(llvm::raw_ostream &os, const State &state) const;

  const TaskKnowledge knowledge;
  const PhaseState phases;
  const AccessHistory history;
  const ProxyFences proxy;
  const FillState fills;
  const CopyState copies;
  const ClusterPeers peers;

private:
  const BarrierModel &model;
  unsigned numWords;
  /// Whether anything happens in the kernel's body after its roles.
  bool continuesAfterRoles = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSTATE_H
