//===- BarrierAccesses.cpp - What barriers order --------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Outcome BarrierRules::access(State &state, unsigned task, Operation *op,
                             const Event &event, ArrayRef<int64_t> inputs,
                             Finding &finding) const {
  State before = state;
  auto undo = [&](Outcome outcome) {
    if (outcome != Outcome::Done)
      state = std::move(before);
    return outcome;
  };
  unsigned next = 0;
  Places allRead = 0;
  for (const Access &access : event.accesses) {
    int64_t slot = access.slot ? inputs[next] : 0;
    if (slot < 0 || slot >= buffers[access.buffer].versions)
      return undo(fail(finding, op,
                       "accesses version " + Twine(slot) +
                           " of a buffer that has " +
                           Twine(buffers[access.buffer].versions)));
    Places places = getPlaces(access, inputs, next);
    if (access.reads) {
      allRead |= places;
      Outcome outcome = read(state, task, event, places, finding);
      if (outcome != Outcome::Done)
        return undo(outcome);
    }
    if (!access.writes)
      continue;
    Outcome outcome =
        event.barrierSlot
            ? startCopy(state, task, event, places, inputs.back(), finding)
            : write(state, task, event, places, finding);
    if (outcome != Outcome::Done)
      return undo(outcome);
  }
  auto gemm = dyn_cast<GemmOp>(op);
  if (!gemm || !gemm.getAsync())
    return Outcome::Done;
  AsyncProducts(&state[getProducts(task)]).start(allRead, event.number);
  return Outcome::Done;
}

BarrierRules::Places BarrierRules::getPlaces(const Access &access,
                                             ArrayRef<int64_t> inputs,
                                             unsigned &next) const {
  if (access.slot)
    return Places(1) << (buffers[access.buffer].first + inputs[next++]);
  if (access.part)
    return Places(1) << (buffers[access.buffer].first + *access.part);
  return getVersions(access.buffer);
}

/// The versions among `places` that hold nothing yet, of buffers of which
/// others do. What no turn fills a loop without turns does not fill either.
BarrierRules::Places BarrierRules::getUnwritten(const State &state,
                                                Places places) const {
  Places unwritten = places & ~state[written];
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (buffer.versions == 1 || !(getVersions(i) & state[written]))
      unwritten &= ~getVersions(i);
  return unwritten;
}

Outcome BarrierRules::read(State &state, unsigned task, const Event &event,
                           Places places, Finding &finding) const {
  Operation *op = eventOps[event.number];
  if (Places unwritten = getUnwritten(state, places))
    return fail(finding, op,
                taskNames[task] + " reads " + getName(unwritten) +
                    " that nothing has been written to");
  const int64_t *known = &state[getKnown(task)];
  std::string who = taskNames[task];
  if (Places unknown = places & ~(known[OfThreads] & known[OfCopies]))
    return fail(finding, op,
                who + " reads " + getName(unknown) +
                    " without waiting for what was written there");
  // By other threads of the same role.
  bool isAsync = event.unit == Unit::Tma || event.unit == Unit::Wgmma;
  if (Places unmet = places & state[getTaskWord(task, UnmetWrites)])
    return fail(finding, op,
                who + " reads " + getName(unmet) +
                    " that its threads have written, and have not met since at "
                    "a tile.barrier");
  if (isAsync)
    for (unsigned writer = 0; writer < tasks; ++writer)
      if (Places unseen = places & getUnfenced(state, writer))
        return fail(finding, op,
                    who + " reads " + getName(unseen) +
                        " by the asynchronous proxy, which may not see what "
                        "threads wrote: no proxy fence lies between");
  forget(state, OfReads + task, places, getKnown(task));
  state[getTaskWord(task, UnmetReads)] |= places;
  if (event.unit == Unit::Tma)
    state[getTaskWord(task, StoreReads)] |= places;
  return Outcome::Done;
}

/// Whether all accesses to `places` are known that must not overlap a write.
static bool knowsAll(const int64_t *known, uint64_t places, unsigned words) {
  for (unsigned i = 0; i < words; ++i)
    if (places & ~known[i])
      return false;
  return true;
}

Outcome BarrierRules::write(State &state, unsigned task, const Event &event,
                            Places places, Finding &finding) const {
  Operation *op = eventOps[event.number];
  const int64_t *known = &state[getKnown(task)];
  std::string who = taskNames[task];
  bool isCopy = event.unit == Unit::CpAsync;
  // One task's writes to a version are parts of one fill.
  Places others = places & ~state[getTaskWord(task, Owned)];
  if (!knowsAll(known, others, OfReads) ||
      !knowsAll(known + OfReads, places, tasks))
    return fail(finding, op,
                who + " writes to " + getName(places) +
                    " while others may still access it");
  if (Places running = places & getRunningReads(state, task))
    return fail(finding, op,
                who + " writes to " + getName(running) +
                    " while an asynchronous product or copy may still read it");
  if (Places unmet = places & state[getTaskWord(task, UnmetReads)])
    return fail(finding, op,
                who + " writes to " + getName(unmet) +
                    " that others of its threads may still read: they have not "
                    "met since at a tile.barrier");
  forget(state, isCopy ? OfCopies : OfThreads, places,
         isCopy ? ~0u : getKnown(task));
  for (unsigned other = 0; other < tasks; ++other) {
    state[getTaskWord(other, Owned)] &= ~places;
    if (other != task)
      state[getTaskWord(other, Copies)] &= ~places;
  }
  state[getTaskWord(task, Owned)] |= places;
  state[written] |= places;
  state[getTaskWord(task, isCopy ? UnfencedCopies : UnfencedStores)] |= places;
  state[getTaskWord(task, Untold)] |= places;
  if (isCopy) {
    state[getTaskWord(task, Copies)] |= places;
    for (unsigned place = 0; place < numPlaces && !hasRoles(); ++place)
      if (places >> place & 1)
        state[getAge(place)] = kOpenGroup;
  } else {
    state[getTaskWord(task, UnmetWrites)] |= places;
  }
  return Outcome::Done;
}

/// A TMA load: its bytes land some time later.
Outcome BarrierRules::startCopy(State &state, unsigned task, const Event &event,
                                Places places, int64_t number,
                                Finding &finding) const {
  Operation *op = eventOps[event.number];
  if (!checkUse(state, op, event.barrier, number, finding))
    return Outcome::Wrong;
  const int64_t *known = &state[getKnown(task)];
  std::string who = taskNames[task];
  Places others = places & ~state[getTaskWord(task, Owned)];
  if (!knowsAll(known, others, OfReads) ||
      !knowsAll(known + OfReads, places, tasks) ||
      (places & getRunningReads(state, task)))
    return fail(finding, op,
                who + " lets a copy write to " + getName(places) +
                    " while others may still access it");
  // One thread starts it, while others of the role may be late.
  auto role = op->getParentOfType<RoleOp>();
  Places unmet = places & state[getTaskWord(task, UnmetReads)];
  if (unmet && !(role && role.getElected()))
    return fail(finding, op,
                who + " lets a copy write to " + getName(unmet) +
                    " that its threads may still read: they have not met since "
                    "at a tile.barrier");
  // What the task has written since it last told of its writes are parts of the
  // same fill.
  for (unsigned writer = 0; writer < tasks; ++writer) {
    Places parts = writer == task ? state[getTaskWord(task, Untold)] : 0;
    if (places & getUnfenced(state, writer) & ~parts)
      return fail(finding, op,
                  who + " lets a copy write to " + getName(places) +
                      " behind ordinary writes, without a proxy fence");
  }
  if ((event.peers &&
       !checkPeers(state, task, event, places, others, finding)) ||
      !checkReach(state, task, op, event.peers, event.barrier, number,
                  finding) ||
      !checkPhase(state, task, op, event.barrier, number, finding))
    return Outcome::Wrong;
  forget(state, OfCopies, places, ~0u);
  for (unsigned other = 0; other < tasks; ++other) {
    state[getTaskWord(other, Owned)] &= ~places;
    state[getTaskWord(other, Copies)] &= ~places;
  }
  state[getTaskWord(task, Owned)] |= places;
  state[written] |= places;
  unsigned slot = getSlot(event.barrier, number);
  state[slot + InFlight] |= places;
  state[slot + Landing] += event.bytes;
  send(state, task, slot, event.peers);
  return Outcome::Done;
}
