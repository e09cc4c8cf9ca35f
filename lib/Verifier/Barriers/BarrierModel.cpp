//===- BarrierModel.cpp - Static model of kernels with barriers -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates and prints the model that BuildBarrierModel.cpp makes. A printed
// model lists tasks, places, barriers and events in their numbers, which are
// the ones that a printed state uses.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierModel.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void BarrierModel::forEachSlot(llvm::function_ref<void(BarrierSlot)> fn) const {
  for (auto [i, barrier] : llvm::enumerate(barriers))
    for (int64_t slot = 0; slot < barrier.depth; ++slot)
      fn({unsigned(i), slot});
}

/// Prints the places that share bytes with an access, if any.
static void printSharing(raw_ostream &os, PlaceSet places) {
  if (!places)
    return;
  os << " shares bytes with places ";
  VectorClockRef::printPlaces(os, places);
}

void BarrierModel::print(raw_ostream &os) const {
  for (auto [task, name] : llvm::enumerate(taskNames))
    os << "task " << task << ": " << name << "\n";
  places.print(os);
  for (auto [i, barrier] : llvm::enumerate(barriers)) {
    os << "barrier " << i << ": " << barrier.depth << " slots from "
       << barrier.firstSlot << ", counts to " << barrier.count
       << ", awaited by tasks ";
    VectorClockRef::printPlaces(os, barrier.waiters);
    if (barrier.phasePlaces)
      os << ", phases have places from " << *barrier.phasePlaces;
    os << ", unit " << barrier.unit << "\n";
  }
  for (auto [buffer, writes] : llvm::enumerate(fills)) {
    if (writes.size() < 2)
      continue;
    os << "writes to buffer " << buffer << ":\n";
    writes.print(os);
  }
  for (auto [number, op] : llvm::enumerate(eventOps)) {
    if (!events.contains(op))
      continue;
    const BarrierEvent &event = events.at(op);
    os << "event " << number << ": " << op->getName() << " by task "
       << getTask(op);
    for (const PlaceAccess &access : event.accesses) {
      os << (access.reads ? " reads" : "") << (access.writes ? " writes" : "")
         << " buffer " << access.buffer;
      printSharing(os, access.sharing);
    }
    printSharing(os, event.neighbour.sharing);
    os << "\n";
  }
}
