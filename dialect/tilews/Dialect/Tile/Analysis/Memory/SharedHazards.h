//===- SharedHazards.h - Hazards on the bytes of the arena ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory after `--tile-plan-shared-memory`: operations access ranges of
// bytes, whether through one buffer or through several that share them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDHAZARDS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDHAZARDS_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

#include <set>

namespace tilews::tile {

/// An access to the bytes [begin, end) of the arena.
struct ArenaAccess {
  int64_t begin = 0;
  int64_t end = 0;
  bool reads = false;
  bool writes = false;
  /// Asynchronous: complete only when drained.
  bool copies = false;
  /// By an asynchronous matrix product: complete when it is waited for, too.
  bool product = false;
  /// By a unit that accesses shared memory on its own (wgmma, TMA).
  bool proxy = false;
  /// Scratch memory: written, then read behind a barrier of the operation's
  /// own.
  bool scratch = false;
  std::optional<AtomicKind> atomic = std::nullopt;
  /// Of a copy by cp.async: the groups that were closed since it was started.
  std::optional<int64_t> closedGroups = std::nullopt;
  /// The allocation, null if it is not known. Buffers that share bytes pass
  /// nothing on to each other.
  mlir::Operation *root = nullptr;
  /// Outside of roles: the channel to whose slots the access goes. Accesses to
  /// the slots of one channel are ordered by its transactions.
  mlir::Operation *channel = nullptr;

  bool overlaps(const ArenaAccess &other) const {
    return begin < other.end && other.begin < end;
  }
  /// Whether the order of the two matters.
  bool conflictsWith(const ArenaAccess &other) const;

  friend bool operator<(const ArenaAccess &a, const ArenaAccess &b) {
    return a.getKey() < b.getKey();
  }

private:
  using Key = std::tuple<int64_t, int64_t, bool, bool, bool, bool, bool, bool,
                         int, int64_t, mlir::Operation *, mlir::Operation *>;
  Key getKey() const {
    return {begin,
            end,
            reads,
            writes,
            copies,
            product,
            proxy,
            scratch,
            atomic ? int(*atomic) : -1,
            closedGroups.value_or(-1),
            root,
            channel};
  }
};

/// What a barrier does besides making the threads meet.
struct BarrierKind {
  bool drainCopies = false;
  bool proxyFence = false;
};

/// What threads may have done to the arena without the others knowing.
class ArenaState {
public:
  bool conflictsWith(const ArenaAccess &access) const;
  /// Whether an asynchronous copy in flight is among the conflicts.
  bool conflictsWithCopy(const ArenaAccess &access) const;
  void add(const ArenaAccess &access);
  void apply(BarrierKind kind);
  /// The threads have closed a group of copies by cp.async. No wait tells more
  /// than `mostPending` groups apart.
  void closeGroup(int64_t mostPending);
  /// They have waited for all groups but the last `pending`.
  void landGroups(int64_t pending);
  /// All asynchronous products have been waited for by their own threads.
  void finishProducts();
  /// Forgets what was done to a buffer: a channel orders it.
  void settle(mlir::Operation *root);
  /// Adds what is pending in `other`; returns whether any of it is new.
  bool join(const ArenaState &other);
  /// Whether `proxy`, an access by a unit of its own, may read something that
  /// was written and not fenced, or overwrite it in the bytes of another
  /// buffer, not counting copies in flight unless they are `drained`.
  bool isUnfenced(const ArenaAccess &proxy, bool drained) const;

private:
  /// Since the last barrier.
  std::set<ArenaAccess> pending;
  /// Asynchronous copies since the last barrier that drained them.
  std::set<ArenaAccess> inFlight;
  /// Ordinary writes since the last barrier with a proxy fence.
  std::set<ArenaAccess> unfenced;
};

/// The accesses of each operation of a kernel.
class ArenaAccesses {
public:
  /// Fails with an error if the shared memory of `kernel` is not planned, or
  /// its control flow is not structured.
  static mlir::FailureOr<ArenaAccesses> get(mlir::gpu::GPUFuncOp kernel,
                                            const TargetInfo &target);

  llvm::ArrayRef<ArenaAccess> get(mlir::Operation *op) const;
  /// The buffers whose accesses before `op`, a step of a role's transaction,
  /// are ordered before those behind it.
  llvm::ArrayRef<mlir::Operation *> getSettled(mlir::Operation *op) const;
  /// Whether the slots of `channel` are read by a unit that reads shared memory
  /// on its own.
  bool isReadByProxy(mlir::Operation *channel) const;
  /// Whether a barrier in `state` has to fence: something written is read
  /// later by a unit that reads shared memory on its own.
  bool needsProxyFence(const ArenaState &state, bool drained) const;

private:
  ChannelOp getChannel(mlir::Value buffer) const;
  mlir::LogicalResult add(mlir::Operation *op, const SharedBuffers &buffers,
                          const TargetInfo &target);

  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<ArenaAccess, 2>> accesses;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
      settled;
  llvm::SmallVector<ArenaAccess> proxyReads;
  /// The channels of buffers, and their numbers.
  llvm::DenseMap<mlir::Value, ChannelOp> channels;
  llvm::DenseMap<mlir::Operation *, int64_t> channelNumbers;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SHAREDHAZARDS_H
