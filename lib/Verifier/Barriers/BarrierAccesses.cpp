//===- BarrierAccesses.cpp - Accesses that barriers order -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Race detection with vector clocks. A read must be ordered after the last
// writes to its places, and a write after the last writes of other tasks and
// all reads. Both must also be ordered within the task, whose threads run
// apart. Accesses through the asynchronous proxy need a fence after ordinary
// writes, and those that write also after ordinary reads. No write may come
// while a matmul or copy that the task started still reads. An access that
// passes becomes the last of its kind: all other clocks forget its places in
// its row.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierAccesses.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Outcome BarrierAccesses::access(State &state, unsigned task,
                                const BarrierEvent &event,
                                ArrayRef<int64_t> inputs,
                                Finding &finding) const {
  State before = state;
  Operation *op = model.eventOps[event.number];
  unsigned next = 0;
  PlaceSet allRead = 0;
  if (event.neighbour.sharing &&
      accessNeighbour(state, task, event, finding) != Outcome::Done)
    return Outcome::Wrong;
  for (const PlaceAccess &access : event.accesses) {
    std::optional<int64_t> version;
    if (access.slot)
      version = inputs[next++];
    int64_t versions = model.places.getBuffers()[access.buffer].versions;
    Outcome outcome = Outcome::Done;
    PlaceSet places = 0;
    if (version.value_or(0) < 0 || version.value_or(0) >= versions)
      outcome = fail(finding, op,
                     "version " + Twine(*version) + " of a buffer that has " +
                         Twine(versions) + " is accessed");
    else
      places = getPlaces(access, version);
    if (outcome == Outcome::Done && access.writes)
      outcome = checkSharing(state, task, event, access.sharing, finding);
    if (outcome == Outcome::Done && access.isAtomic) {
      outcome = update(state, task, event, access, places, finding);
    } else {
      if (outcome == Outcome::Done && access.reads) {
        allRead |= access.isMetadata ? 0 : places;
        outcome =
            read(state, task, event, places, access.isAsyncProxy, finding);
      }
      if (outcome == Outcome::Done && access.writes)
        outcome = event.barrierSlot
                      ? startLoad(state, task, event, access, places,
                                  {event.barrier, inputs.back()}, finding)
                      : write(state, task, event, access, places, finding);
    }
    if (outcome != Outcome::Done) {
      state = std::move(before);
      return outcome;
    }
    LDBG_OS([&](raw_ostream &os) {
      os << "task " << task << (access.reads ? " reads" : "")
         << (access.writes ? " writes" : "") << " places ";
      VectorClockRef::printPlaces(os, places);
    });
  }
  auto gemm = dyn_cast<MatmulOpInterface>(op);
  if (gemm && gemm.getAsync())
    parts.copies.getMatmuls(state, task).start(allRead, event.number);
  return Outcome::Done;
}

PlaceSet BarrierAccesses::getPlaces(const PlaceAccess &access,
                                    std::optional<int64_t> version) const {
  unsigned first = model.places.getBuffers()[access.buffer].first;
  if (version)
    return PlaceSet(1) << (first + *version);
  if (access.part)
    return PlaceSet(1) << (first + *access.part);
  return model.places.getAll(access.buffer);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Outcome BarrierAccesses::checkRead(const State &state, unsigned task,
                                   const BarrierEvent &event, PlaceSet places,
                                   bool isAsyncProxy, Finding &finding) const {
  Operation *op = model.eventOps[event.number];
  std::string reads = model.taskNames[task] + " reads ";
  auto getName = [&](PlaceSet some) { return model.places.getName(some); };
  if (PlaceSet unwritten = parts.history.getUnwritten(state, places))
    return fail(finding, op,
                reads + getName(unwritten) +
                    " that nothing has been written to");
  if (PlaceSet unordered = parts.knowledge.getOpenWrites(state, task, places) |
                           parts.knowledge.getOpenUpdates(state, task, places))
    return fail(finding, op,
                reads + getName(unordered) +
                    " without waiting for what was written there");
  if (PlaceSet own = places & (parts.history.getWrites(state, task) |
                               parts.history.getAtomics(state, task)))
    return fail(finding, op,
                reads + getName(own) +
                    " that its own threads have written: no tile.barrier has "
                    "synchronized them since");
  if (!isAsyncProxy)
    return Outcome::Done;
  if (PlaceSet unfenced = parts.proxy.getUnfenced(state, task, places))
    return fail(finding, op,
                reads + getName(unfenced) +
                    " by the asynchronous proxy, which may not see what "
                    "threads wrote: no proxy fence lies between");
  return Outcome::Done;
}

Outcome BarrierAccesses::read(State &state, unsigned task,
                              const BarrierEvent &event, PlaceSet places,
                              bool isAsyncProxy, Finding &finding) const {
  Outcome outcome =
      checkRead(state, task, event, places, isAsyncProxy, finding);
  if (outcome != Outcome::Done)
    return outcome;
  parts.addReads(state, task, places, isAsyncProxy);
  if (event.executor == BarrierEvent::Executor::Tma)
    parts.copies.startStore(state, task, places);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

/// Whether one thread makes all steps of the event's task.
bool BarrierAccesses::isByOneThread(const BarrierEvent &event) const {
  auto role = model.eventOps[event.number]->getParentOfType<RoleOp>();
  return role && role.getElected();
}

/// Whether all accesses to `places` that must not overlap a write by `task`
/// happen-before it. Copies by the same task must not if they are in
/// `conflicts`.
bool BarrierAccesses::isOrderedBefore(const State &state, unsigned task,
                                      PlaceSet places,
                                      const Conflicts &conflicts) const {
  VectorClockRef clock = parts.knowledge.getTask(state, task);
  PlaceSet others = places & ~parts.history.getOwned(state, task);
  return clock.contains(ClockRows::OfThreads, others) &&
         clock.contains(ClockRows::OfCopies, others | conflicts.copies) &&
         clock.contains(ClockRows::OfLoads, others | conflicts.loads) &&
         !parts.knowledge.getOpenUpdates(state, task, places) &&
         !parts.knowledge.getOpenReads(state, task, places);
}

/// Whether the other threads of `task` have made their accesses to `places`
/// that a write must not overlap. `writes` names it in the message.
Outcome BarrierAccesses::checkThreads(const State &state, unsigned task,
                                      Operation *op, PlaceSet places,
                                      const Conflicts &conflicts,
                                      const std::string &writes,
                                      Finding &finding) const {
  if (PlaceSet own = places & parts.history.getReads(state, task))
    return fail(finding, op,
                writes + model.places.getName(own) +
                    " that its own threads may still read: no tile.barrier "
                    "has synchronized them since");
  PlaceSet unsynchronized = parts.history.getWrites(state, task);
  if (PlaceSet own = (unsynchronized & conflicts.threads) |
                     (places & parts.history.getAtomics(state, task)))
    return fail(finding, op,
                writes + model.places.getName(own) +
                    " that its own threads may still write: no tile.barrier "
                    "has synchronized them since");
  return Outcome::Done;
}

Outcome BarrierAccesses::checkWrite(const State &state, unsigned task,
                                    const BarrierEvent &event, PlaceSet places,
                                    const Conflicts &conflicts,
                                    Finding &finding) const {
  Operation *op = model.eventOps[event.number];
  std::string writes = model.taskNames[task] + " writes to ";
  if (!isOrderedBefore(state, task, places, conflicts))
    return fail(finding, op,
                writes + model.places.getName(places) +
                    " while others may still access it");
  if (PlaceSet running = places & parts.copies.getRunningReads(state, task))
    return fail(finding, op,
                writes + model.places.getName(running) +
                    " while an asynchronous matmul or copy may still read it");
  return checkThreads(state, task, op, places, conflicts, writes, finding);
}

/// Runs `check` with all conflicts of a write. If it fails, another run tells
/// whether it would without those that depend on the values of offsets.
Outcome BarrierAccesses::checkConflicts(
    const State &state, unsigned task, const PlaceAccess &access,
    PlaceSet places, Finding &finding,
    llvm::function_ref<Outcome(const Conflicts &, Finding &)> check) const {
  auto find = [&](bool isCertain) {
    return parts.fills.getConflicts(state, task, access, places, isCertain);
  };
  Outcome outcome = check(find(/*isCertain=*/false), finding);
  if (outcome == Outcome::Done)
    return outcome;
  Finding certain;
  finding.mayBeApart =
      check(find(/*isCertain=*/true), certain) == Outcome::Done;
  return outcome;
}

Outcome BarrierAccesses::write(State &state, unsigned task,
                               const BarrierEvent &event,
                               const PlaceAccess &access, PlaceSet places,
                               Finding &finding) const {
  parts.fills.settle(state);
  Outcome outcome = checkConflicts(
      state, task, access, places, finding,
      [&](const Conflicts &conflicts, Finding &found) {
        return checkWrite(state, task, event, places, conflicts, found);
      });
  if (outcome != Outcome::Done)
    return outcome;
  bool isCopy = event.executor == BarrierEvent::Executor::CpAsync;
  // A copy is not ordered before the next step of its own task either.
  if (isCopy)
    parts.knowledge.forget(state, ClockRows::OfCopies, places);
  else
    parts.knowledge.forget(state, ClockRows::OfThreads, places, task);
  parts.history.takeOver(state, task, places);
  parts.fills.addWrite(state, access, places);
  parts.copies.overwrite(state, task, places);
  parts.proxy.addWrite(
      state, isCopy ? ClockRows::OfCopies : ClockRows::OfThreads, places);
  if (isCopy)
    parts.copies.startCopy(state, task, places);
  else
    parts.history.addWrites(state, task, places);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Atomic updates
//===----------------------------------------------------------------------===//

/// Atomic updates commute: they need no order among each other. To all other
/// accesses they are writes. They leave the place to the task that filled it,
/// whose next write is checked against them like against a part of its fill.
Outcome BarrierAccesses::update(State &state, unsigned task,
                                const BarrierEvent &event,
                                const PlaceAccess &access, PlaceSet places,
                                Finding &finding) const {
  Operation *op = model.eventOps[event.number];
  std::string updates = model.taskNames[task] + " updates ";
  if (PlaceSet unwritten = parts.history.getUnwritten(state, places))
    return fail(finding, op,
                updates + model.places.getName(unwritten) +
                    " that nothing has been written to");
  if (parts.knowledge.getOpenWrites(state, task, places) ||
      parts.knowledge.getOpenReads(state, task, places))
    return fail(finding, op,
                updates + model.places.getName(places) +
                    " while others may still access it");
  if (PlaceSet own = places & (parts.history.getReads(state, task) |
                               parts.history.getWrites(state, task)))
    return fail(finding, op,
                updates + model.places.getName(own) +
                    " that its own threads may still access: no tile.barrier "
                    "has synchronized them since");
  if (PlaceSet running = places & parts.copies.getRunningReads(state, task))
    return fail(finding, op,
                updates + model.places.getName(running) +
                    " while an asynchronous matmul or copy may still read it");
  parts.knowledge.forget(state, parts.knowledge.getRows().getAtomics(task),
                         places, task);
  parts.history.addAtomics(state, task, places);
  parts.fills.addWrite(state, access, places);
  parts.proxy.addWrite(state, ClockRows::OfThreads, places);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Memory that shares bytes
//===----------------------------------------------------------------------===//

/// Whether an event may destroy the contents of `places`, which share bytes
/// with what it writes to: all accesses to them must be ordered before.
Outcome BarrierAccesses::checkSharing(const State &state, unsigned task,
                                      const BarrierEvent &event,
                                      PlaceSet places, Finding &finding) const {
  if (!places)
    return Outcome::Done;
  PlaceSet threads = parts.history.getReads(state, task) |
                     parts.history.getWrites(state, task) |
                     parts.history.getAtomics(state, task);
  bool isFree = !parts.knowledge.getOpenWrites(state, task, places) &&
                !parts.knowledge.getOpenUpdates(state, task, places) &&
                !parts.knowledge.getOpenReads(state, task, places) &&
                !(places & parts.copies.getRunningReads(state, task)) &&
                (isByOneThread(event) || !(places & threads));
  Operation *op = model.eventOps[event.number];
  std::string writes =
      model.taskNames[task] +
      " writes to bytes of another buffer or of scratch memory";
  if (!isFree)
    return fail(finding, op, writes + " that may still be in use");
  if (event.isAsyncProxy() && parts.proxy.getUnfenced(state, task, places))
    return fail(finding, op,
                writes + " after ordinary writes, without a proxy fence");
  if (event.isAsyncProxy() &&
      parts.proxy.getUnfencedReads(state, task, places, /*ofPeers=*/false))
    return fail(finding, op,
                writes + " after ordinary reads, without a proxy fence");
  return Outcome::Done;
}

/// An access to memory without places counts as a read of its neighbour, which
/// writes to the places that share bytes have to wait for.
Outcome BarrierAccesses::accessNeighbour(State &state, unsigned task,
                                         const BarrierEvent &event,
                                         Finding &finding) const {
  if (event.neighbour.isWritten &&
      checkSharing(state, task, event, event.neighbour.sharing, finding) !=
          Outcome::Done)
    return Outcome::Wrong;
  PlaceSet place = event.neighbour.place;
  parts.addReads(state, task, place, /*isAsyncProxy=*/false);
  if (event.neighbour.isWritten)
    parts.proxy.addWrite(state, ClockRows::OfThreads, place);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// TMA loads
//===----------------------------------------------------------------------===//

Outcome BarrierAccesses::checkLoad(State &state, unsigned task,
                                   const BarrierEvent &event, PlaceSet places,
                                   BarrierSlot slot, const Conflicts &conflicts,
                                   Finding &finding) const {
  Operation *op = model.eventOps[event.number];
  std::string writes = model.taskNames[task] + " starts a copy to ";
  auto getName = [&](PlaceSet some) { return model.places.getName(some); };
  if (!parts.phases.checkUse(state, op, slot, finding))
    return Outcome::Wrong;
  if (!isOrderedBefore(state, task, places, conflicts) ||
      (places & parts.copies.getRunningReads(state, task)))
    return fail(finding, op,
                writes + getName(places) + " while others may still access it");
  // One thread starts the copy while others of the task may still access the
  // places.
  if (!isByOneThread(event) && checkThreads(state, task, op, places, conflicts,
                                            writes, finding) != Outcome::Done)
    return Outcome::Wrong;
  PlaceSet others = places & ~parts.history.getOwned(state, task);
  if (parts.proxy.getUnfenced(state, task, others | conflicts.generic))
    return fail(finding, op,
                writes + getName(places) +
                    " after ordinary writes, without a proxy fence");
  if ((event.peers &&
       !parts.peers.checkCopy(state, task, op, places, others, finding)) ||
      !parts.peers.checkReach(state, task, op, event.peers, slot, finding) ||
      !parts.phases.checkPhase(state, task, op, slot, finding))
    return Outcome::Wrong;
  if (PlaceSet unfenced = parts.proxy.getUnfencedReads(
          state, task, places, /*ofPeers=*/event.peers != 0))
    return fail(finding, op,
                writes + getName(unfenced) +
                    " after ordinary reads, without a proxy fence: threads may "
                    "still read there");
  return Outcome::Done;
}

/// A TMA load: its bytes land when a task waits for them.
Outcome BarrierAccesses::startLoad(State &state, unsigned task,
                                   const BarrierEvent &event,
                                   const PlaceAccess &access, PlaceSet places,
                                   BarrierSlot slot, Finding &finding) const {
  parts.fills.settle(state);
  Outcome outcome = checkConflicts(
      state, task, access, places, finding,
      [&](const Conflicts &conflicts, Finding &found) {
        return checkLoad(state, task, event, places, slot, conflicts, found);
      });
  if (outcome != Outcome::Done)
    return outcome;
  parts.knowledge.forget(state, ClockRows::OfLoads, places);
  parts.history.takeOver(state, task, places);
  parts.fills.addWrite(state, access, places);
  parts.copies.overwrite(state, task, places);
  parts.copies.startLoad(state, slot, places, event.bytes);
  parts.releasePhases(state, task, slot, /*byOneThread=*/true);
  parts.peers.send(state, task, slot, event.peers);
  return Outcome::Done;
}
