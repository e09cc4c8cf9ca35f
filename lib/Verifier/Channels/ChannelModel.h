//===- ChannelModel.h - The channels of a kernel ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELMODEL_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELMODEL_H

#include "Verifier/Engine/Rules.h"
#include "Verifier/Symbolic/FillParts.h"

namespace tilews::verifier {

/// A cursor of a channel: the number of a transaction modulo twice the number
/// of slots. A channel of depth 2 has the cursors
///
///     value  0  1  2  3
///     slot   0  1  0  1
///     phase  0  0  1  1
///
/// Where only the slot matters, `value` may be the slot's number.
struct ChannelCursor {
  unsigned channel;
  int64_t value;
};

/// An access to the slot of a channel's buffer.
struct SlotAccess {
  unsigned channel;
  /// The index of the buffer among those of the channel.
  unsigned buffer;
  mlir::Value cursor;
  bool reads, writes;
  /// By a copy that completes asynchronously: cp.async, or TMA in either
  /// direction.
  bool isCopy;
  /// The asynchronous proxy accesses shared memory: TMA, wgmma.
  bool byProxy;
  /// It updates the slot atomically.
  bool isAtomic;
  /// Threads read the metadata of a sparse matmul when it starts.
  bool isMetadata;
  /// The number in `Channel::writes`, if it writes.
  unsigned write = 0;
  /// The numbers in `ChannelModel::regions` if clocks order it.
  llvm::SmallVector<unsigned, 1> regions = {};
};

/// A part of the slots of one buffer that several roles access, and that
/// transactions do not order: one role writes to it, and another one holds the
/// slot at the same time. Happens-before has to order their accesses.
///
/// Example: @math and @other both wait for a channel.
///
///     tile.role @math { ... tile.store %x to %a[0] [8] }    // region 0
///     tile.role @other { ... %y = tile.load %a[0] [8] }     // region 0
///     tile.role @other { ... %z = tile.load %a[8] [8] }     // no region
struct ContestedRegion {
  unsigned channel;
  /// Accesses of different roles always have bytes in common.
  bool isCertain;
  /// The tasks that read it asynchronously: with matmuls, or copies to global
  /// memory.
  uint64_t asyncReaders;
};

/// An operation of a kernel with channels that changes the state.
///
/// Example: `tile.wait %c[%p]` is a step of channel %c without accesses. A
/// `tile.gemm` of slots of two buffers of %c has two accesses, which read.
struct ChannelEvent {
  /// The index in `ChannelModel::eventOps`.
  unsigned number;
  /// The channel that the event is a step of, if it is one.
  unsigned channel = 0;
  llvm::SmallVector<SlotAccess, 2> accesses = {};
  /// tile.gemm_wait: the numbers of the asynchronous matmuls whose results it
  /// may use.
  llvm::SmallVector<unsigned> matmuls = {};
  /// The event belongs to every unit.
  bool isCommon = false;
  /// A wait for a channel that is not selected: copies land, and the threads
  /// synchronize.
  bool isForeign = false;
};

/// The static model of a kernel with channels: its tasks, channels and events.
/// It is made once from the kernel and does not change.
///
/// Example: a channel from role @load to role @math,
///
///     %a = tile.alloc_shared : memref<2x64xf16>
///     %c = tile.channel(%a) : memref<2x64xf16> -> !tile.channel<2>
///     tile.role @load { ... }
///     tile.role @math { ... }
///
/// makes the tasks 0 (the kernel), 1 (@load) and 2 (@math), and channel 0 of
/// depth 2 with the buffer 0 and the consumers {2}. Each operation on %c, and
/// each access to a slot of %a, is an event.
struct ChannelModel {
  struct Channel {
    ChannelOp op;
    int64_t depth;
    /// The index of its first slot among the slots of all channels.
    unsigned firstSlot;
    /// The tasks that fill it, and those that wait for it, one bit each.
    uint64_t producers = 0, consumers = 0;
    /// Each transaction has only one consumer, and the consumers alternate.
    bool alternating = false;
    /// By buffer: the writes to it, and which of them may overlap.
    std::vector<FillParts> fills = {};
    /// All writes: the buffer, and the number among its writes.
    llvm::SmallVector<std::pair<unsigned, unsigned>, 2> writes = {};
    mlir::Operation *commit = nullptr, *wait = nullptr, *release = nullptr;

    bool isConsumedBy(unsigned task) const { return consumers >> task & 1; }
    /// Whether `task` takes part in the transactions.
    bool isUsedBy(unsigned task) const {
      return (producers | consumers) >> task & 1;
    }
    bool hasBuffers() const { return !ChannelOp(op).getBuffers().empty(); }
    /// The number of cursors.
    int64_t getPeriod() const { return 2 * depth; }
    /// The cursor after `cursor`, and the slot of the one before it.
    int64_t getNext(int64_t cursor) const { return (cursor + 1) % getPeriod(); }
    int64_t getPreviousSlot(int64_t cursor) const {
      return (cursor + depth - 1) % depth;
    }
    int64_t getSlot(int64_t cursor) const { return cursor % depth; }
    /// The number of `cursor` if cursors are counted from `base` on.
    int64_t rotate(int64_t cursor, int64_t base) const {
      return (cursor - base + getPeriod()) % getPeriod();
    }
  };

  /// A state has a word of 64 bits for a set of writes.
  static constexpr unsigned kMostWrites = 62;

  explicit ChannelModel(mlir::gpu::GPUFuncOp kernel) : kernel(kernel) {}
  /// Reads the kernel. If the result has an obstacle it is not complete.
  static ChannelModel build(mlir::gpu::GPUFuncOp kernel);

  unsigned getNumTasks() const { return taskNames.size(); }
  bool hasRoles() const { return getNumTasks() > 1; }
  const Channel &getChannel(ChannelCursor cursor) const {
    return channels[cursor.channel];
  }
  int64_t getSlot(ChannelCursor cursor) const {
    return getChannel(cursor).getSlot(cursor.value);
  }
  /// The index of a cursor's slot among the slots of all channels.
  unsigned getIndex(ChannelCursor cursor) const {
    return getChannel(cursor).firstSlot + getSlot(cursor);
  }
  /// The bit of a cursor's slot in a set of slots.
  uint64_t getSlotBit(ChannelCursor cursor) const {
    return uint64_t(1) << getIndex(cursor);
  }
  /// The bits of all slots of a channel.
  uint64_t getSlotBits(unsigned channel) const {
    const Channel &c = channels[channel];
    return ((uint64_t(1) << c.depth) - 1) << c.firstSlot;
  }
  /// A set of slots if those of a channel are numbered from `first` on.
  uint64_t rotateSlots(uint64_t slots, unsigned channel, int64_t first) const;
  /// Calls `fn` with the first cursor of each slot of each channel.
  void forEachSlot(llvm::function_ref<void(ChannelCursor)> fn) const;
  /// Whether `op` is a step of a transaction: tile.acquire, tile.commit,
  /// tile.wait or tile.release.
  static bool isStep(mlir::Operation *op) {
    return mlir::isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
  }
  /// A cursor in a message: "slot 1 in phase 0".
  std::string describe(ChannelCursor cursor) const;

  void print(llvm::raw_ostream &os) const;

  mlir::gpu::GPUFuncOp kernel;
  /// Why the kernel cannot be checked, if it cannot.
  std::optional<Finding> obstacle;
  /// Faults that do not depend on control flow.
  llvm::SmallVector<Finding> errors;
  llvm::SmallVector<std::string> taskNames = {"the kernel"};
  llvm::SmallVector<Channel> channels;
  /// The channel of each `tile.channel`, and of each of its buffers.
  llvm::DenseMap<mlir::Value, unsigned> channelNumbers;
  llvm::SmallVector<ContestedRegion> regions;
  unsigned numSlots = 0;
  llvm::DenseMap<mlir::Operation *, ChannelEvent> events;
  llvm::SmallVector<mlir::Operation *> eventOps;
  /// Shared memory has been planned, so barriers have been placed.
  bool isPlanned = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELMODEL_H
