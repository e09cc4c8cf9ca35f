//===- ProxyFences.cpp - What proxy fences order --------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visibility is a kind of knowledge: two rows of each clock have the places
// whose last writes by threads, or by cp.async, are known and visible. A write
// clears its bit in all clocks. A fence copies the writes in the task's
// clock into the rows of what is visible. Arrivals and waits pass these rows
// on like all others, so a fence that comes after the arrival is too late for
// the task that waits for it, in whatever order the tasks run.
//
// Each task has a row for the places whose reads by its threads are known and
// fenced. Two tasks that read a place fence apart: neither knows the reads of
// the other, and one row for both would never have the place.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/ProxyFences.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void ProxyFences::addWrite(State &state, unsigned writes,
                           PlaceSet places) const {
  if (places & model.fencedPlaces)
    knowledge.forget(state, knowledge.getRows().getVisible(writes),
                     places & model.fencedPlaces);
}

void ProxyFences::addRead(State &state, unsigned task, PlaceSet places) const {
  if (places & model.fencedReadPlaces)
    knowledge.forget(state, knowledge.getRows().getFencedReads(task),
                     places & model.fencedReadPlaces);
}

void ProxyFences::fence(State &state, unsigned task) const {
  const ClockRows &rows = knowledge.getRows();
  VectorClock clock = knowledge.getTask(state, task);
  if (model.fencedReadPlaces)
    for (unsigned reader = 0; reader < model.getNumTasks(); ++reader)
      clock.learn(rows.getFencedReads(reader), clock[rows.getReads(reader)]);
  if (!model.fencedPlaces)
    return;
  // Accesses to neighbours count as reads, and atomic updates have rows of
  // their own.
  PlaceSet known = ~knowledge.getOpenUpdates(state, task, model.fencedPlaces);
  for (unsigned reader = 0; reader < model.getNumTasks(); ++reader)
    known &= clock[rows.getReads(reader)] | ~model.overlaps.getNeighbours();
  for (unsigned writes : {ClockRows::OfThreads, ClockRows::OfCopies})
    clock.learn(rows.getVisible(writes), clock[writes] & known);
}

PlaceSet ProxyFences::getUnfenced(const State &state, unsigned task,
                                  PlaceSet places) const {
  if (!model.fencedPlaces)
    return 0;
  const ClockRows &rows = knowledge.getRows();
  VectorClockRef clock = knowledge.getTask(state, task);
  return clock.getMissing(rows.getVisible(ClockRows::OfThreads), places) |
         clock.getMissing(rows.getVisible(ClockRows::OfCopies), places);
}

PlaceSet ProxyFences::getUnfencedReads(const State &state, unsigned task,
                                       PlaceSet places, bool ofPeers) const {
  PlaceSet unfenced = 0;
  places &= model.fencedReadPlaces;
  if (!places)
    return unfenced;
  const ClockRows &rows = knowledge.getRows();
  VectorClockRef clock = knowledge.getTask(state, task);
  for (unsigned reader = 0; reader < model.getNumTasks(); ++reader) {
    unsigned row = rows.getFencedReads(reader);
    unfenced |= clock.getMissing(row, places);
    if (ofPeers)
      unfenced |= clock.getMissing(rows.getPeer(row), places);
  }
  return unfenced;
}
