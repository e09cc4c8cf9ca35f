//===- Shadow.h - Who touched which byte of memory --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each byte of memory, the last write and the reads since. Two accesses one
// of which writes have to be ordered, by a barrier or channel, whatever the
// order in which they happened to be simulated.
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
struct Event {
  const Instruction *inst = nullptr;
  unsigned agent = 0;
  /// It is known to those who know `component` up to `time`.
  unsigned component = 0;
  uint32_t time = 0;
  bool writes = false;
  /// Whether wgmma or TMA access the memory, on their own.
  bool isAsyncProxy = false;
  std::optional<tile::AtomicKind> atomic;
  /// What is under way from the operation on; null if it is done at once.
  std::shared_ptr<AsyncOp> op;
  /// Where the buffer begins: another buffer's values are no values.
  const void *buffer = nullptr;
};

/// What the access at hand may rely on.
struct Viewer {
  const Knowledge &knowledge;
  /// The component whose events need no order: the agent's own, where its
  /// threads count as one.
  std::optional<unsigned> own;
  /// Whether ordinary writes need a fence before the async proxy's accesses.
  bool needsFence;

  bool sees(const Event &event) const {
    return event.component == own ||
           knowledge.done.get(event.component) >= event.time;
  }
  bool isFenced(const Event &event) const {
    return !needsFence || event.isAsyncProxy ||
           knowledge.fenced.get(event.component) >= event.time;
  }
};

/// The bytes of a buffer, or of all buffers that have a place. They are made as
/// they are touched.
class Cells {
public:
  /// The last write and the set of reads since.
  struct Cell {
    uint32_t write = 0, reads = 0;
  };
  static constexpr int64_t kPage = 1024;

  /// Cells `number * kPage` and those behind it.
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
/// Why an access is wrong, and the access before it that it goes wrong with.
struct Conflict {
  ConflictKind kind;
  Event earlier;
  int64_t byte = 0;
};

/// The accesses of a block.
class Shadow {
public:
  Shadow() : events(1), readers(1) {}

  /// Numbers an access, of which the bytes follow.
  void begin(Event event) {
    events.push_back(std::move(event));
    known.clear();
  }
  /// Notes that the access touches bytes `first` to `first + count`; finds out
  /// what is wrong with it.
  std::optional<Conflict> touch(Cells &cells, int64_t first, int64_t count,
                                const Viewer &viewer);

private:
  std::optional<Conflict> check(const Cells::Cell &cell, const Viewer &viewer);
  std::optional<Conflict> checkAgainst(uint32_t earlier, const Viewer &viewer);
  uint32_t addReader(uint32_t set, uint32_t event);

  std::vector<Event> events;
  /// Sets of events; set 0 is empty.
  std::vector<llvm::SmallVector<uint32_t, 3>> readers;
  /// For this access: the set that each set becomes.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 4> known;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_SHADOW_H
