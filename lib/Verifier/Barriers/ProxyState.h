//===- ProxyState.h - Writes that no proxy fence has made visible *- C++ -*===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_PROXYSTATE_H
#define TILEWS_LIB_VERIFIER_BARRIERS_PROXYSTATE_H

#include "Verifier/Barriers/TaskKnowledge.h"

namespace tilews::verifier {

/// Writes of the generic proxy that the asynchronous proxy may not see yet. TMA
/// and wgmma access shared memory through the asynchronous proxy; a store, or a
/// copy by cp.async, is visible to it only after a `tile.proxy_fence` by an
/// agent that is ordered after the write (PTX ISA, "Async proxy").
///
/// Example:
///
///     step                unfenced by @load   wgmma of @math on place 0
///     @load stores to 0   {0}                 wrong
///     @load fences        {}                  right, once it is ordered
///
/// The fence may also be @math's, if @math has waited for @load before.
class ProxyState {
public:
  ProxyState(const BarrierModel &model, const TaskKnowledge &knowledge,
             StateLayout &layout);

  /// `task` writes to `places` through the generic proxy: by cp.async, or by
  /// its threads.
  void addWrites(State &state, unsigned task, PlaceSet places,
                 bool byCpAsync) const;
  /// `task` executes a proxy fence, for all writes ordered before it.
  void fence(State &state, unsigned task) const;
  /// The places whose last write by `task` is not visible.
  PlaceSet getUnfenced(const State &state, unsigned task) const {
    return state[getWord(task, UnfencedStores)] |
           state[getWord(task, UnfencedCopies)];
  }

  /// `task` arrives at a barrier, for all of its writes, or for its copies by
  /// cp.async only.
  void release(State &state, unsigned task) const;
  void releaseCopies(State &state, unsigned task, PlaceSet copies) const;
  /// Places that `task` has written since it last arrived anywhere. A TMA load
  /// to them is a part of the same fill, next to the task's own stores.
  PlaceSet getUnreleased(const State &state, unsigned task) const {
    return state[getWord(task, Unreleased)];
  }

  /// Drops what no later step asks for.
  void reduce(State &state) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum TaskRow : unsigned {
    UnfencedStores,
    UnfencedCopies,
    Unreleased,
    NumTaskRows
  };
  unsigned getWord(unsigned task, TaskRow row) const {
    return first + task * NumTaskRows + row;
  }

  const BarrierModel &model;
  const TaskKnowledge &knowledge;
  unsigned first;
  /// The places that the asynchronous proxy accesses.
  PlaceSet byProxy = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_PROXYSTATE_H
