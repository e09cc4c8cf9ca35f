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
  /// atomically since all of them synchronized. The words hold the other
  /// places, so that paths join by the intersection, as they do for clocks.
  PlaceSet getReads(const State &state, unsigned task) const {
    return ~state[getWord(task, SynchronizedReads)];
  }
  PlaceSet getWrites(const State &state, unsigned task) const {
    return ~state[getWord(task, SynchronizedWrites)];
  }
  PlaceSet getAtomics(const State &state, unsigned task) const {
    return ~state[getWord(task, SynchronizedAtomics)];
  }
  void addReads(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedReads)] &= ~places;
  }
  void addWrites(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedWrites)] &= ~places;
  }
  void addAtomics(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedAtomics)] &= ~places;
    noteWritten(state, places);
  }
  /// All threads of `task` wait for a barrier at which all of them have arrived
  /// after these reads, writes, or atomic updates: so these are synchronized.
  void synchronizeReads(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedReads)] |= places;
  }
  void synchronizeWrites(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedWrites)] |= places;
  }
  void synchronizeAtomics(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, SynchronizedAtomics)] |= places;
  }
  /// Slots, by their phase bits, that some warps of `task` have waited for, and
  /// others perhaps not, since all of them synchronized.
  uint64_t getWaits(const State &state, unsigned task) const {
    return ~state[getWord(task, SynchronizedWaits)];
  }
  /// `task` waits for a slot; `place` stands for its phases, if any does.
  void addWait(State &state, unsigned task, uint64_t phaseBit,
               PlaceSet place) const;
  void synchronizeWaits(State &state, unsigned task, uint64_t phaseBits) const {
    state[getWord(task, SynchronizedWaits)] |= phaseBits;
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
  /// kernel writes, and unwritten versions of buffers that have a written one.
  /// Buffers without a written version do not count: if a loop has no
  /// iterations, nothing is written before pipelining either.
  PlaceSet getUnwritten(const State &state, PlaceSet places) const;

  /// Drops what no later step asks for.
  void reduce(State &state) const;
  /// Adds the words that hold knowledge to `words`: what the threads of a task
  /// have synchronized, and the places that were written.
  void appendWords(llvm::SmallVectorImpl<unsigned> &words) const;
  /// Adds the words whose bits are places.
  void appendPlaceSets(llvm::SmallVectorImpl<unsigned> &words) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum TaskRow : unsigned {
    SynchronizedReads,
    SynchronizedWrites,
    SynchronizedAtomics,
    SynchronizedWaits,
    Owned,
    NumTaskRows
  };
  unsigned getWord(unsigned task, TaskRow row) const {
    return first + task * NumTaskRows + row;
  }
  void findUses();
  void noteWritten(State &state, PlaceSet places) const;

  const BarrierModel &model;
  /// The first word, the word of all places ever written, and the word of all
  /// places of the buffers that anything was written to.
  unsigned first, written, begun;
  /// By task: the reads, and the writes, whose synchronization a later step
  /// asks for, and the places that no other task writes.
  llvm::SmallVector<PlaceSet> checkedReads, checkedWrites, neverShared;
  /// The tasks of several warps of which one thread may end a phase.
  uint64_t checkedWaits = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_ACCESSHISTORY_H
