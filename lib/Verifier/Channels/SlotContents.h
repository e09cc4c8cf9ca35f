//===- SlotContents.h - Contents of the slots of channels -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_SLOTCONTENTS_H
#define TILEWS_LIB_VERIFIER_CHANNELS_SLOTCONTENTS_H

#include "Verifier/Channels/ChannelModel.h"
#include "Verifier/Engine/StateLayout.h"

namespace tilews::verifier {

/// What each slot holds, and who may see it: which buffers its transaction has
/// filled, whether copies to it have landed, whether its writes are visible to
/// the asynchronous proxy, and whether threads may still read it.
///
/// Example: copies by cp.async without roles. The age of a slot is the number
/// of groups that were closed after the one with the copy to it.
///
///     step                              age of slot 0  age of slot 1
///     copy to 0, tile.commit_group      0              landed
///     copy to 1, tile.commit_group      1              0
///     tile.wait {pending = 1}           landed         0
class SlotContents {
public:
  SlotContents(const ChannelModel &model, StateLayout &layout);
  void initialize(State &state) const;

  /// A producer acquires the slot: no buffer is filled yet.
  void begin(State &state, ChannelCursor slot) const;
  /// The last consumer releases the slot.
  void clear(State &state, ChannelCursor slot) const;
  /// An access of the producer writes to a buffer of the slot.
  void fill(State &state, const SlotAccess &access, ChannelCursor slot) const;
  /// An access of a consumer writes to the slot.
  void overwrite(State &state, const SlotAccess &access,
                 ChannelCursor slot) const {
    state[getWord(slot, Unfenced)] |= !access.byProxy;
    if (access.isCopy && !model.hasRoles())
      state[getWord(slot, Age)] = kOpenGroup;
  }
  /// Threads of the block read the slot.
  void read(State &state, ChannelCursor slot) const {
    state[getWord(slot, Unsynchronized)] = !model.hasRoles();
  }

  /// The filling transaction ends.
  void endFill(State &state, ChannelCursor slot) const {
    state[getWord(slot, Writes)] = 0;
    state[getWord(slot, Repeated)] = 0;
  }
  /// A task begins `loop`: its writes there may be to the same bytes again.
  void enterLoop(State &state, mlir::Operation *loop) const;
  /// Whether an asynchronous copy of this transaction may overlap `access`, or
  /// `access` is one, and overlaps an earlier write. With `isCertain`, whether
  /// they do for all values of their offsets.
  bool overlapsCopy(const State &state, const SlotAccess &access,
                    ChannelCursor slot, bool isCertain = false) const;

  bool isFilled(const State &state, const SlotAccess &access,
                ChannelCursor slot) const {
    return state[getWord(slot, Filled)] >> access.buffer & 1;
  }
  bool isAnyFilled(const State &state, ChannelCursor slot) const {
    return state[getWord(slot, Filled)] != 0;
  }
  bool hasLanded(const State &state, ChannelCursor slot) const {
    return state[getWord(slot, Age)] == kLanded;
  }
  /// Whether the asynchronous proxy may not see all writes.
  bool isUnfenced(const State &state, ChannelCursor slot) const {
    return state[getWord(slot, Unfenced)] != 0;
  }
  /// Whether threads have read the slot since all threads synchronized.
  bool isUnsynchronized(const State &state, ChannelCursor slot) const {
    return state[getWord(slot, Unsynchronized)] != 0;
  }

  /// The first read of the slot outside of a transaction, if there was one: the
  /// number of its event. From then on nobody may fill the slot.
  std::optional<unsigned> getLooseRead(const State &state,
                                       ChannelCursor slot) const;
  void readLoosely(State &state, ChannelCursor slot, unsigned event) const;

  /// tile.commit_group.
  void closeGroup(State &state) const;
  /// All groups but the last `pending` land; with `openToo` also copies that
  /// are in no group yet.
  void land(State &state, int64_t pending, bool openToo) const;
  /// All threads of the block synchronize, with a proxy fence if `fences`.
  void synchronize(State &state, bool fences) const;

  /// Renumbers the slots of a channel from `first` on.
  void rotate(State &state, unsigned channel, int64_t first) const;
  void print(llvm::raw_ostream &os, const State &state) const;

private:
  enum SlotRow : unsigned {
    /// The number of the event that reads outside of a transaction, plus 1.
    LooseRead,
    /// The buffers that the transaction has written.
    Filled,
    /// The writes of the transaction that is being filled.
    Writes,
    /// Those of them that were made in an earlier run of their loop.
    Repeated,
    /// How many groups were closed after the one with the copy to the slot, or
    /// one of the constants below.
    Age,
    Unfenced,
    Unsynchronized,
    NumSlotRows
  };
  static constexpr int64_t kLanded = -1, kOpenGroup = 1000;

  unsigned getWord(ChannelCursor slot, SlotRow row) const {
    return first + model.getIndex(slot) * NumSlotRows + row;
  }

  const ChannelModel &model;
  unsigned first;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_SLOTCONTENTS_H
