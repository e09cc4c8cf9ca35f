//===- Shadow.h - Shadow memory for race detection --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shadow memory: for each byte the last write and the reads since. Two accesses
// of which one writes must be ordered by a barrier or a channel, whatever the
// order in which the simulator executed them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_SHADOW_H
#define TILEWS_LIB_SIMULATOR_SHADOW_H

#include "Clock.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilews::sim {

struct AsyncOp;
struct Instruction;

/// An access to memory by an operation.
struct ShadowEvent {
  const Instruction *inst = nullptr;
  unsigned agent = 0;
  /// Its number in its component: an agent whose clock has at least `time` for
  /// `component` is ordered after it.
  unsigned component = 0;
  uint32_t time = 0;
  bool writes = false;
  /// Whether wgmma or TMA makes the access, through the async proxy.
  bool isAsyncProxy = false;
  std::optional<tile::AtomicKind> atomic;
  /// The asynchronous operation; null if the access is made at once.
  std::shared_ptr<AsyncOp> op;
  /// Identifies the buffer. Values of another buffer at the same bytes are no
  /// values of this one.
  const void *buffer = nullptr;
  /// tile.store: the first element of its region, and the types of fragment and
  /// memref. They say which thread writes which element.
  int64_t first = 0;
  mlir::Type stored, dest;

  /// Whether one thread makes both writes of each element, in program order.
  bool isByThreadsOf(const ShadowEvent &other) const {
    return stored && std::tie(agent, buffer, first, stored, dest) ==
                         std::tie(other.agent, other.buffer, other.first,
                                  other.stored, other.dest);
  }
};

/// The view of the agent that makes an access.
struct Viewer {
  const Clocks &clocks;
  /// The component whose events need no order: that of the agent itself if its
  /// threads count as one.
  std::optional<unsigned> own;
  /// Whether ordinary accesses need a fence before the async proxy's.
  bool needsFence;

  bool sees(const ShadowEvent &event) const {
    return event.component == own ||
           clocks.done.get(event.component) >= event.time;
  }
  bool isFenced(const ShadowEvent &event) const {
    return !needsFence || event.isAsyncProxy ||
           clocks.fenced.get(event.component) >= event.time;
  }
};

/// The bytes of a buffer, or of all buffers with a planned offset. Pages of
/// bytes are allocated at the first access.
class Cells {
public:
  /// The event of the last write, and the set of the reads since. Atomic
  /// updates need no order among each other: if the last write is one, the set
  /// also has the updates before it, and the writes and reads before these.
  struct Cell {
    uint32_t write = 0, reads = 0;
  };
  static constexpr int64_t kPage = 1024;

  /// Returns cells `number * kPage` to `(number + 1) * kPage`.
  Cell *getPage(int64_t number) {
    std::unique_ptr<Cell[]> &page = pages[number];
    if (!page)
      page = std::make_unique<Cell[]>(kPage);
    return page.get();
  }

private:
  llvm::DenseMap<int64_t, std::unique_ptr<Cell[]>> pages;
};

enum class ConflictKind { Overwritten, Unordered, Unfenced };
/// Why an access is wrong, and the earlier access that it conflicts with.
struct Conflict {
  ConflictKind kind;
  ShadowEvent earlier;
  int64_t byte = 0;
};

/// The accesses to the memory of a block.
///
/// Example: event 1 writes bytes 0-3, event 2 of the same agent reads them,
/// event 3 of another agent writes them. `touch` for event 3 checks the clock
/// of that agent against events 1 and 2.
class Shadow {
public:
  Shadow() : events(1), sets(1) {}

  /// Begins an access; calls of `touch` with its bytes follow.
  void begin(ShadowEvent event) {
    events.push_back(std::move(event));
    known.clear();
  }
  /// Adds bytes `first` to `first + count` to the access. Returns the first
  /// conflict with an earlier access; later bytes are not added then.
  std::optional<Conflict> touch(Cells &cells, int64_t first, int64_t count,
                                const Viewer &viewer);

private:
  std::optional<Conflict> check(const Cells::Cell &cell, const Viewer &viewer);
  std::optional<Conflict> checkAgainst(uint32_t earlier, const Viewer &viewer);
  uint32_t addOpen(uint32_t set, uint32_t event);
  Cells::Cell getNext(const Cells::Cell &cell);

  std::vector<ShadowEvent> events;
  /// Sets of events; set 0 is empty.
  std::vector<llvm::SmallVector<uint32_t, 3>> sets;
  /// The set that each set becomes with an event, in the present access.
  llvm::SmallVector<std::tuple<uint32_t, uint32_t, uint32_t>, 4> known;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_SHADOW_H
