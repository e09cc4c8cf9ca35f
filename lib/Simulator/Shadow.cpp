//===- Shadow.cpp - Shadow memory for race detection ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbouring bytes mostly have the same history: the same last write and the
// same readers. Sets of readers are therefore shared and numbered, and a cell
// is two numbers. If a byte has the same cell as the byte before it in the same
// access, the check and the new cell are those of that byte.
//
//   store of bytes 0-63 (event 1), load of bytes 0-31 (event 2):
//     cells 0-31: write 1, reads {2}      cells 32-63: write 1, reads {}
//
// A set keeps one reader of each component: a later read of the same component
// is known to come after the earlier one.
//
//===----------------------------------------------------------------------===//

#include "Shadow.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;
using tile::AtomicKind;

/// Atomic updates of one kind commute, except exchanges.
static bool commute(const ShadowEvent &a, const ShadowEvent &b) {
  return a.atomic && a.atomic == b.atomic && *a.atomic != AtomicKind::Exchange;
}

std::optional<Conflict> Shadow::checkAgainst(uint32_t number,
                                             const Viewer &viewer) {
  const ShadowEvent &access = events.back(), &earlier = events[number];
  if (&access == &earlier || commute(access, earlier) ||
      access.isByThreadsOf(earlier))
    return std::nullopt;
  if (!viewer.sees(earlier))
    return Conflict{ConflictKind::Unordered, earlier};
  if (access.isAsyncProxy && !viewer.isFenced(earlier))
    return Conflict{ConflictKind::Unfenced, earlier};
  return std::nullopt;
}

std::optional<Conflict> Shadow::check(const Cells::Cell &cell,
                                      const Viewer &viewer) {
  const ShadowEvent &access = events.back();
  if (cell.write != 0)
    if (auto conflict = checkAgainst(cell.write, viewer))
      return conflict;
  bool reads = !access.writes || access.atomic;
  if (reads && cell.write != 0 && events[cell.write].buffer != access.buffer)
    return Conflict{ConflictKind::Overwritten, events[cell.write]};
  if (access.writes)
    for (uint32_t reader : readers[cell.reads])
      if (auto conflict = checkAgainst(reader, viewer))
        return conflict;
  return std::nullopt;
}

uint32_t Shadow::addReader(uint32_t set, uint32_t event) {
  for (auto [before, after] : known)
    if (before == set)
      return after;
  // An earlier read of the same component comes before whatever this one does.
  SmallVector<uint32_t, 3> result;
  for (uint32_t reader : readers[set])
    if (events[reader].component != events[event].component)
      result.push_back(reader);
  result.push_back(event);
  readers.push_back(std::move(result));
  known.emplace_back(set, readers.size() - 1);
  return readers.size() - 1;
}

std::optional<Conflict> Shadow::touch(Cells &cells, int64_t first,
                                      int64_t count, const Viewer &viewer) {
  uint32_t event = events.size() - 1;
  bool writes = events.back().writes;
  Cells::Cell before, after;
  for (int64_t i = first; i < first + count;) {
    int64_t number = llvm::divideFloorSigned(i, Cells::kPage);
    int64_t begin = number * Cells::kPage;
    int64_t end = std::min(first + count, begin + Cells::kPage);
    Cells::Cell *page = cells.getPage(number);
    for (; i < end; ++i) {
      Cells::Cell &cell = page[i - begin];
      bool isSame =
          i > first && cell.write == before.write && cell.reads == before.reads;
      if (!isSame) {
        if (auto conflict = check(cell, viewer)) {
          conflict->byte = i;
          return conflict;
        }
        before = cell;
        after = writes ? Cells::Cell{event, 0}
                       : Cells::Cell{cell.write, addReader(cell.reads, event)};
      }
      cell = after;
    }
  }
  return std::nullopt;
}
