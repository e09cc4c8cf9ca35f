//===- ChannelState.h - The parts of a state with channels ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTATE_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTATE_H

#include "Verifier/Channels/ChannelClocks.h"
#include "Verifier/Channels/SlotContents.h"
#include "Verifier/Channels/TransactionState.h"
#include "Verifier/Engine/AsyncMatmuls.h"

namespace tilews::verifier {

/// The words of a `State` with channels, by what they are about. A part has no
/// state of its own: it finds its words in the `State` that each call is given.
///
/// Example: with two tasks and one channel of two slots,
///
///     transactions  words 0 to 10   3 of the channel, 4 of each slot
///     contents      words 11 to 20  5 of each slot
///     clocks        words 21 to 26  a clock of each task, two of each slot
///     matmuls       words 27 to 60  17 of each task
///     store reads   words 61 to 62  1 of each task
class ChannelState {
public:
  explicit ChannelState(const ChannelModel &model,
                        StateLayout layout = StateLayout());

  State getInitial() const;
  /// The asynchronous matmuls of `task`.
  AsyncMatmuls getMatmuls(State &state, unsigned task) const {
    return AsyncMatmuls(&state[getMatmulWord(task)]);
  }
  bool hasMatmuls(const State &state, unsigned task) const {
    return state[getMatmulWord(task)] > 0;
  }
  /// The slots that matmuls of `task` may still read.
  uint64_t getMatmulReads(const State &state, unsigned task) const {
    return AsyncMatmuls::getReads(&state[getMatmulWord(task)]);
  }
  /// The slots that TMA copies of `task` to global memory may still read.
  uint64_t getStoreReads(const State &state, unsigned task) const {
    return state[firstStoreReads + task];
  }
  /// The slots that matmuls and TMA copies of one task may still read.
  uint64_t getAsyncReads(const State &state, unsigned task) const {
    return getMatmulReads(state, task) | getStoreReads(state, task);
  }
  void addStoreReads(State &state, unsigned task, uint64_t slots) const {
    state[firstStoreReads + task] |= slots;
  }
  /// The slots that matmuls and TMA copies of any task may still read.
  uint64_t getAsyncReads(const State &state) const;
  /// The copies and matmuls of `task` end.
  void drain(State &state, unsigned task) const;
  /// A tile.wait without roles: copies land as the wait and the producer of
  /// `channel` say, and all threads synchronize.
  void landAndSynchronize(State &state, WaitOp op,
                          const ChannelModel::Channel &channel) const;

  /// Renumbers the cursors and slots of a channel from `base` on.
  void rotate(State &state, unsigned channel, int64_t base) const;
  void print(llvm::raw_ostream &os, const State &state) const;

  const TransactionState transactions;
  const SlotContents contents;
  const ChannelClocks clocks;

private:
  unsigned getMatmulWord(unsigned task) const {
    return firstMatmul + task * AsyncMatmuls::kWords;
  }

  const ChannelModel &model;
  unsigned firstMatmul, firstStoreReads, numWords;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTATE_H
