//===- AccessHistory.h - Accesses within tasks, and who wrote ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_ACCESSHISTORY_H
#define TILEWS_LIB_VERIFIER_BARRIERS_ACCESSHISTORY_H

#include "Verifier/Barriers/BarrierModel.h"
#include "Verifier/Engine/StateLayout.h"

namespace tilews::verifier {

/// The properties of the last accesses to a place that a vector clock does not
/// have: which task wrote, and whether the accesses of one thread are ordered
/// before the next step of the other threads of its task. A clock belongs to a
/// task. The threads of a task run apart until they synchronize at a
/// tile.barrier, or wait for a barrier in memory together.
///
/// Example: a role of 128 threads loads place 0 and then stores to it.
///
///     step          unsynchronized reads  the store would be
///     load          {0}                   wrong: a slow thread may still load
///     tile.barrier  {}                    right
class AccessHistory {
public:
  AccessHistory(const BarrierModel &model, StateLayout &layout);
  void initialize(State &state) const;

  /// Places that some threads of `task` have read, written, or updated
  /// atomically since all of them synchronized.
  PlaceSet getReads(const State &state, unsigned task) const {
    return state[getWord(task, UnsynchronizedReads)];
  }
  PlaceSet getWrites(const State &state, unsigned task) const {
    return state[getWord(task, UnsynchronizedWrites)];
  }
  PlaceSet getAtomics(const State &state, unsigned task) const {
    return state[getWord(task, UnsynchronizedAtomics)];
  }
  void addReads(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedReads)] |= places;
  }
  void addWrites(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedWrites)] |= places;
  }
  void addAtomics(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedAtomics)] |= places;
    state[written] |= places;
  }
  /// All threads of `task` wait for a barrier that all of them had arrived at
  /// after these reads, writes, or atomic updates.
  void synchronizeReads(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedReads)] &= ~places;
  }
  void synchronizeWrites(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedWrites)] &= ~places;
  }
  void synchronizeAtomics(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, UnsynchronizedAtomics)] &= ~places;
  }
  /// Slots, by their phase bits, that some warps of `task` have waited for, and
  /// others perhaps not, since all of them synchronized.
  uint64_t getWaits(const State &state, unsigned task) const {
    return state[getWord(task, UnsynchronizedWaits)];
  }
  /// `task` waits for a slot; `place` stands for its phases, if any does.
  void addWait(State &state, unsigned task, uint64_t phaseBit,
               PlaceSet place) const;
  void synchronizeWaits(State &state, unsigned task, uint64_t phaseBits) const {
    state[getWord(task, UnsynchronizedWaits)] &= ~phaseBits;
  }
  /// All threads of `task` synchronize.
  void synchronize(State &state, unsigned task) const;

  /// Places that `task` was the last to write: one task's writes to a place are
  /// parts of one fill, and need no order among each other.
  PlaceSet getOwned(const State &state, unsigned task) const {
    return state[getWord(task, Owned)];
  }
  /// `task` writes to `places`, or starts a copy to them.
  void takeOver(State &state, unsigned task, PlaceSet places) const;
  /// The places among `places` without contents: those that nothing in the
  /// kernel writes, and those not written yet, of buffers of which another
  /// version was. A loop without iterations leaves all versions unwritten in
  /// the pipelined kernel as in the one before.
  PlaceSet getUnwritten(const State &state, PlaceSet places) const;

  /// Drops what no later step asks for.
  void reduce(State &state) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum TaskRow : unsigned {
    UnsynchronizedReads,
    UnsynchronizedWrites,
    UnsynchronizedAtomics,
    UnsynchronizedWaits,
    Owned,
    NumTaskRows
  };
  unsigned getWord(unsigned task, TaskRow row) const {
    return first + task * NumTaskRows + row;
  }
  void findUses();

  const BarrierModel &model;
  /// The first word, and the word of all places ever written.
  unsigned first, written;
  /// By task: the reads, and the writes, whose synchronization a later step
  /// asks for, and the places that no other task writes.
  llvm::SmallVector<PlaceSet> checkedReads, checkedWrites, neverShared;
  /// The tasks of several warps of which one thread may end a phase.
  uint64_t checkedWaits = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_ACCESSHISTORY_H
