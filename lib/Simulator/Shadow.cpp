//===- Shadow.cpp - Shadow memory for race detection ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbouring bytes mostly have the same history: the same last write and the
// same readers. Sets of them are therefore shared and numbered, and a cell
// is two numbers. If a byte has the same cell as the byte before it in the same
// access, the check and the new cell are those of that byte.
//
//   store of bytes 0-63 (event 1), load of bytes 0-31 (event 2):
//     cells 0-31: write 1, reads {2}      cells 32-63: write 1, reads {}
//
// A set keeps one reader of each component: a later read of the same component
// is known to come after the earlier one. After atomic updates a set also has
// writes. A write takes the place of any event of its component, and a read
// only of reads.
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
  for (uint32_t open : sets[cell.reads])
    if (access.writes || events[open].writes)
      if (auto conflict = checkAgainst(open, viewer))
        return conflict;
  return std::nullopt;
}

/// Whether whatever comes after `later` also comes after `earlier`.
static bool covers(const ShadowEvent &later, const ShadowEvent &earlier) {
  return later.component == earlier.component &&
         (later.writes || !earlier.writes);
}

uint32_t Shadow::addOpen(uint32_t set, uint32_t event) {
  for (auto [before, added, after] : known)
    if (before == set && added == event)
      return after;
  SmallVector<uint32_t, 3> result;
  bool isCovered = false;
  for (uint32_t open : sets[set]) {
    isCovered |= open >= event && covers(events[open], events[event]);
    if (open > event || !covers(events[event], events[open]))
      result.push_back(open);
  }
  if (!isCovered)
    result.push_back(event);
  sets.push_back(std::move(result));
  known.emplace_back(set, event, sets.size() - 1);
  return sets.size() - 1;
}

/// The cell after the present access.
Cells::Cell Shadow::getNext(const Cells::Cell &cell) {
  uint32_t event = events.size() - 1;
  const ShadowEvent &access = events.back();
  if (!access.writes)
    return {cell.write, addOpen(cell.reads, event)};
  if (!commute(access, access))
    return {event, 0};
  return {event, cell.write ? addOpen(cell.reads, cell.write) : cell.reads};
}

std::optional<Conflict> Shadow::touch(Cells &cells, int64_t first,
                                      int64_t count, const Viewer &viewer) {
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
        after = getNext(cell);
      }
      cell = after;
    }
  }
  return std::nullopt;
}
