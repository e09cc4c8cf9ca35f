//===- ArenaState.h - Accesses that a barrier would order -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The abstract state of `--tile-insert-barriers`: accesses to ranges of bytes
// that threads may have made since they last synchronized.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENASTATE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENASTATE_H

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccessSet.h"

namespace tilews::tile {

/// What a barrier does besides synchronizing the threads.
struct BarrierKind {
  /// It waits for the asynchronous copies of all threads.
  bool drainCopies = false;
  /// It makes writes visible to the asynchronous proxy.
  bool proxyFence = false;

  /// Adds what `other` does; returns whether that is more.
  bool join(BarrierKind other);
};

/// The accesses that threads may have made, and that no barrier orders before
/// the next accesses of other threads yet. Each transfer function maps one
/// access at a time, so it distributes over joins.
///
/// ```mlir
/// tile.store %x to %a[...]      // pending: writes bytes [0, 512)
/// tile.copy %A[...] to %b       // in flight: writes bytes [512, 1024)
///     {tile.inst = #tile.inst<cp_async>}
/// tile.barrier                  // in flight: writes bytes [512, 1024)
/// tile.barrier {drain_copies}   // nothing
/// ```
class ArenaState {
public:
  bool conflictsWith(const ArenaAccess &access) const;
  /// Whether an asynchronous access in flight is among the conflicts.
  bool conflictsWithAsync(const ArenaAccess &access) const;
  /// Whether a proxy fence has to come before `access`, which is through the
  /// proxy. Copies in flight count only if they are `drained` before.
  bool isUnfenced(const ArenaAccess &access, bool drained) const;
  /// Whether some read through the proxy needs a fence.
  bool hasUnfencedRead(bool drained) const;

  void add(const ArenaAccess &access);
  void apply(BarrierKind kind);
  /// The threads close a group of copies by cp.async. No wait distinguishes
  /// more than the `mostPending` latest groups.
  void closeGroup(int64_t mostPending);
  /// The threads wait for all groups but the last `pending`.
  void landGroups(int64_t pending);
  /// Each thread has waited for its own asynchronous matmuls.
  void finishMatmuls();
  /// The threads start the next iteration of `loop`, or leave it.
  void startIteration(mlir::Operation *loop);
  void leaveLoop(mlir::Operation *loop);
  /// Forgets the accesses to a buffer, given by its range: a channel orders
  /// them.
  void settle(const ArenaAccess &buffer);

  /// Adds the accesses of `other`; returns whether any is new.
  bool join(const ArenaState &other);
  void subtract(const ArenaState &other);
  bool contains(const ArenaState &other) const;
  bool empty() const;

  /// Prints one access a line.
  void print(llvm::raw_ostream &os) const;

private:
  /// Replaces each access that moves with `loop` by what `change` makes of it.
  void changeMoving(mlir::Operation *loop,
                    llvm::function_ref<void(ArenaAccess &)> change);

  /// Since the last barrier.
  ArenaAccessSet pending;
  /// Asynchronous accesses since the last barrier that drained them.
  ArenaAccessSet inFlight;
  /// Accesses that need a proxy fence, since the last one.
  ArenaAccessSet unfenced;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENASTATE_H
