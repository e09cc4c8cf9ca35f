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

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <array>
#include <set>

namespace tilews::tile {

/// The address spaces that barriers order accesses to.
enum class ArenaSpace : uint8_t {
  /// Shared memory of unknown origin: any bytes of the arena, or a channel.
  Unknown,
  /// The shared memory of the kernel, by byte.
  Arena,
  /// One address for each channel. A release reads it, an acquire writes it:
  /// an acquire lets others overwrite what was read before the releases.
  Channels,
  /// Global memory: one address for each argument of the kernel. Arguments do
  /// not overlap unless they are only read.
  Arguments
};

/// An access to the addresses [begin, end) of a space.
///
/// Example: the store to rows 8 to 15 of
///
///     %a = tile.alloc_shared {tile.offset = 1024} : memref<16x64xf16>
///     tile.store %x, %a[8, 0] : tensor<8x64xf16>
///
/// writes the bytes [2048, 3072) of `Arena`, with the allocation as its root.
struct ArenaAccess {
  ArenaSpace space = ArenaSpace::Arena;
  int64_t begin = 0;
  int64_t end = 0;
  bool reads = false;
  bool writes = false;
  /// Asynchronous: complete only when the thread drains its copies.
  bool async = false;
  /// By an asynchronous matmul: also complete when the matmul is waited for.
  bool matmul = false;
  /// Through the asynchronous proxy: by wgmma or TMA (PTX ISA, "Proxies").
  bool proxy = false;
  /// Scratch memory: written, then read after a barrier of the operation's own.
  bool scratch = false;
  std::optional<AtomicKind> atomic = std::nullopt;
  /// For a copy by cp.async: how many groups were closed since it was started.
  std::optional<int64_t> closedGroups = std::nullopt;
  /// The allocation; null if it is not known. No data passes between buffers
  /// that share bytes.
  mlir::Operation *root = nullptr;
  /// Outside of roles: the channel to whose slots the access goes. The
  /// transactions of a channel order the accesses to its slots.
  mlir::Operation *channel = nullptr;
  /// A loop, and an offset that moves with it along a dimension of the root:
  /// accesses of different iterations with one `moving` offset are disjoint.
  /// Null outside of the loop.
  mlir::Operation *loop = nullptr;
  std::pair<void *, unsigned> moving = {};
  /// Whether an earlier iteration of `loop` made the access.
  bool earlier = false;

  /// Whether some access of the kernel through the proxy needs a fence after
  /// this one, and whether some read does. Both follow from the other fields.
  bool needsFence = false;
  bool needsFenceToRead = false;

  bool overlaps(const ArenaAccess &other) const;
  /// Whether the order of the two matters.
  bool conflictsWith(const ArenaAccess &other) const;
  /// Whether `access`, through the proxy, may read what this one writes, or
  /// overwrite what it reads or writes in the bytes of another buffer, so that
  /// a proxy fence has to be between the two.
  bool needsFenceBefore(const ArenaAccess &access) const;

  void print(llvm::raw_ostream &os) const;

  friend bool operator<(const ArenaAccess &a, const ArenaAccess &b) {
    return a.getKey() < b.getKey();
  }
  friend bool operator==(const ArenaAccess &a, const ArenaAccess &b) {
    return a.getKey() == b.getKey();
  }

private:
  using Key =
      std::tuple<ArenaSpace, int64_t, int64_t, bool, bool, bool, bool, bool,
                 bool, int, int64_t, mlir::Operation *, mlir::Operation *,
                 mlir::Operation *, std::pair<void *, unsigned>, bool>;
  Key getKey() const {
    return {space,
            begin,
            end,
            reads,
            writes,
            async,
            matmul,
            proxy,
            scratch,
            atomic ? int(*atomic) : -1,
            closedGroups.value_or(-1),
            root,
            channel,
            loop,
            moving,
            earlier};
  }
};

/// A set of accesses, sorted by address. A search for those that overlap a
/// range visits only the accesses near it.
///
/// Example: in the set
///
///     writes [0, 512), reads [512, 1024), writes [4096, 8192)
///
/// a search for [768, 2048) visits no access that begins at 4096.
class ArenaAccessSet {
public:
  /// Returns whether `access` is new.
  bool insert(const ArenaAccess &access);
  bool contains(const ArenaAccess &access) const {
    return accesses.count(access) != 0;
  }
  bool containsAll(const ArenaAccessSet &other) const;
  bool insertAll(const ArenaAccessSet &other);
  void removeAll(const ArenaAccessSet &other);
  /// Whether `matches` holds for an access that overlaps `access`.
  bool
  anyOverlapping(const ArenaAccess &access,
                 llvm::function_ref<bool(const ArenaAccess &)> matches) const;
  /// Removes the accesses to bytes of `range` that belong to its allocation.
  void removeRoot(const ArenaAccess &range);
  /// Replaces each access by what `change` makes of it, if anything.
  void
  transform(llvm::function_ref<std::optional<ArenaAccess>(ArenaAccess)> change);

  bool empty() const { return accesses.empty(); }
  void clear() { accesses.clear(); }
  auto begin() const { return accesses.begin(); }
  auto end() const { return accesses.end(); }

private:
  using Iterator = std::set<ArenaAccess>::const_iterator;
  Iterator findFirst(ArenaSpace space, int64_t begin) const;

  std::set<ArenaAccess> accesses;
  /// An upper bound on the number of addresses of an access, by space.
  std::array<int64_t, 4> longest = {};
};

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
