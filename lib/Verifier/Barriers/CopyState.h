//===- CopyState.h - Copies and matmuls under way ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_COPYSTATE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_COPYSTATE_H

#include "Verifier/Barriers/AccessHistory.h"
#include "Verifier/Barriers/TaskKnowledge.h"
#include "Verifier/Engine/AsyncMatmuls.h"

namespace tilews::verifier {

/// What runs on beside the threads that started it, and still reads or writes
/// places:
///
///     started by           accesses       complete after
///     tile.copy, cp.async  writes places  tile.copy_group_wait for its group,
///                                         or an arrival by `copies`
///     tile.copy, TMA load  writes places  a wait for the barrier that counts
///                                         its bytes
///     tile.copy, TMA store reads places   tile.barrier with drain_copies
///     tile.gemm, async     reads places   tile.gemm_wait
///
/// Example: groups of cp.async. The age of a place is the number
/// of groups that were closed after the one with the copy to it.
///
///     step                                age of place 0  age of place 1
///     copy to 0, tile.commit_group        0               landed
///     copy to 1, tile.commit_group        1               0
///     tile.copy_group_wait {pending = 1}  landed          0
class CopyState {
public:
  CopyState(const BarrierModel &model, const TaskKnowledge &knowledge,
            const AccessHistory &history, StateLayout &layout);
  void initialize(State &state) const;

  //===--------------------------------------------------------------------===//
  // Reads under way
  //===--------------------------------------------------------------------===//

  /// Places that matmuls and copies of `task` may still read.
  PlaceSet getRunningReads(const State &state, unsigned task) const;
  void startStore(State &state, unsigned task, PlaceSet places) const {
    state[getWord(task, StoreReads)] |= places;
  }
  /// The asynchronous matmuls of `task`.
  AsyncMatmuls getMatmuls(State &state, unsigned task) const {
    return AsyncMatmuls(&state[getWord(task, Matmuls)]);
  }

  //===--------------------------------------------------------------------===//
  // cp.async
  //===--------------------------------------------------------------------===//

  /// `task` starts a copy to `places`.
  void startCopy(State &state, unsigned task, PlaceSet places) const;
  /// `task` writes to `places`, which so are no longer what copies of other
  /// tasks wrote. Its own copies to them may still be under way.
  void overwrite(State &state, unsigned task, PlaceSet places) const;
  /// The places that copies of `task` were the last to write. Each arrival by
  /// `copies` stands for all of them (PTX ISA, "cp.async.mbarrier.arrive").
  PlaceSet getCopies(const State &state, unsigned task) const {
    return state[getWord(task, Copies)];
  }
  void closeGroup(State &state, unsigned task) const;
  /// All groups of `task` but the last `pending` land; with `openToo` also its
  /// copies that are in no group yet.
  void landGroups(State &state, unsigned task, int64_t pending,
                  bool openToo) const;
  /// All that `task` has started ends.
  void drain(State &state, unsigned task) const;

  //===--------------------------------------------------------------------===//
  // TMA loads
  //===--------------------------------------------------------------------===//

  /// A load to `places` begins, whose bytes `slot` counts.
  void startLoad(State &state, BarrierSlot slot, PlaceSet places,
                 int64_t bytes) const;
  /// Whether a load is under way whose bytes `slot` counts.
  bool hasLoads(const State &state, BarrierSlot slot) const {
    return state[getWord(slot, InFlight)] || state[getWord(slot, Landing)];
  }
  /// All loads that `slot` counts land: returns how many bytes they are, and
  /// the slot's clock contains their writes.
  int64_t landLoads(State &state, BarrierSlot slot) const;
  /// Whether no load is under way when all tasks have ended.
  bool finish(const State &state, BarrierSlot slot, Finding &finding) const;

  /// Adds the words of `getCopies` to `words`: they only add knowledge.
  void appendWords(llvm::SmallVectorImpl<unsigned> &words) const;
  /// Adds the words whose bits are places, if no matmul is asynchronous.
  void appendPlaceSets(llvm::SmallVectorImpl<unsigned> &words) const;
  /// Renumbers the versions of buffers, from version `base` on.
  void rotateAges(State &state, llvm::ArrayRef<unsigned> buffers,
                  int64_t base) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum TaskRow : unsigned {
    /// Last written by copies by cp.async that no group wait has waited for.
    Copies,
    /// Read by TMA stores that may be under way.
    StoreReads,
    /// The words of `AsyncMatmuls`.
    Matmuls,
    NumTaskRows = Matmuls + AsyncMatmuls::kWords
  };
  enum SlotRow : unsigned {
    /// The places of loads under way, and their bytes.
    InFlight,
    Landing,
    NumSlotRows
  };
  static constexpr int64_t kLanded = -1, kOpenGroup = 1000;

  unsigned getWord(unsigned task, TaskRow row) const {
    return firstTask + task * NumTaskRows + row;
  }
  unsigned getWord(BarrierSlot slot, SlotRow row) const {
    return firstSlot + model.getIndex(slot) * NumSlotRows + row;
  }
  llvm::MutableArrayRef<int64_t> getAges(State &state) const {
    return llvm::MutableArrayRef(state).slice(firstAge, model.places.size());
  }

  const BarrierModel &model;
  const TaskKnowledge &knowledge;
  const AccessHistory &history;
  /// By task: the most groups that one of its waits leaves pending; -1 if it
  /// has none. No older group needs an age of its own.
  llvm::SmallVector<int64_t> mostPending;
  unsigned firstTask, firstSlot;
  /// By place: how many groups were closed after the one that the copy to it is
  /// in, or one of the constants above.
  unsigned firstAge;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_COPYSTATE_H
