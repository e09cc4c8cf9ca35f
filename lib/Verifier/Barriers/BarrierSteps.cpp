//===- BarrierSteps.cpp - Arrivals at barriers, and waits -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An arrival is a release: it checks that it is counted in the right phase,
// adds to the phase, and joins the task's clock into the slot's. A wait is an
// acquire. Copies land when a wait needs their bytes: the wait first lets all
// loads land that its slot counts, then completes the phase if it can, and
// otherwise reports that the task is blocked. After it the task's clock
// contains that of the complete phase.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierSteps.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// Joins the clock of `task`, restricted to the slot's subjects, into the
/// slot's. Omits accesses and waits that other threads of the task, matmuls or
/// copies may still make.
void BarrierSteps::release(State &state, unsigned task, BarrierSlot slot,
                           bool byOneThread, uint32_t peers) const {
  const ClockRows &rows = parts.knowledge.getRows();
  VectorClock clock = parts.knowledge.getTask(state, task);
  VectorClock arriving = parts.knowledge.getArriving(state, slot);
  PlaceSet subjects = selection.getSubjects(slot);
  for (unsigned row = 0; row < rows.size(); ++row) {
    uint64_t known = clock[row];
    if (row == rows.getReads(task))
      known &= ~parts.copies.getRunningReads(state, task);
    if (byOneThread)
      known &= ~parts.getUnsynchronized(state, task, row);
    // Only rows of places are restricted to the subjects. What is known of
    // phases is passed on for all barriers.
    if (!rows.isOfSlots(row))
      known &= subjects;
    arriving.learn(row, known);
    // The peers make the same step, and release the same to this block.
    if (peers && row < rows.getNumOwn())
      arriving.learn(rows.getPeer(row),
                     parts.peers.getCovered(row, known, peers));
  }
}

/// An arrival by the copy unit, after all copies of `task` so far have landed.
/// It releases the writes of the copies and no other accesses to memory, and is
/// ordered after all phases that the task has waited for.
void BarrierSteps::releaseCopies(State &state, unsigned task,
                                 BarrierSlot slot) const {
  const ClockRows &rows = parts.knowledge.getRows();
  VectorClock clock = parts.knowledge.getTask(state, task);
  VectorClock arriving = parts.knowledge.getArriving(state, slot);
  arriving.learn(ClockRows::OfCopies, parts.copies.getCopies(state, task));
  for (unsigned row = rows.getExpected(0); row < rows.getNumOwn(); ++row)
    arriving.learn(row, clock[row]);
  parts.releasePhases(state, task, slot, /*byOneThread=*/false);
}

Outcome BarrierSteps::arrive(State &state, unsigned task, MBarrierArriveOp op,
                             int64_t number, Finding &finding) const {
  BarrierSlot slot = getSlot(op, number);
  if (!parts.phases.checkUse(state, op, slot, finding))
    return Outcome::Wrong;
  uint32_t peers = model.cluster.getPeers(op.getPeerDims(), /*rank=*/0);
  bool isOwn = peers == 0 || (peers & 1);
  if (!parts.peers.checkReach(state, task, op, peers, slot, finding) ||
      (isOwn && !parts.phases.checkPhase(state, task, op, slot, finding)))
    return Outcome::Wrong;
  // The peers arrive here as this block does there.
  int64_t arrivals = op.getNumArrivals() * std::max(llvm::popcount(peers), 1);
  int64_t count = model.getBarrier(slot).count;
  int64_t arrived = parts.phases.getArrived(state, slot) + arrivals;
  if (arrived > count)
    return fail(finding, op,
                Twine(arrived) +
                    " arrivals are made in a phase of a barrier that counts "
                    "to " +
                    Twine(count));
  parts.phases.expect(state, slot, op.getBytes().value_or(0));
  parts.phases.arrive(state, slot, arrivals);
  if (op.getBy() == Agents::Copies)
    releaseCopies(state, task, slot);
  else
    release(state, task, slot, op.getBy() == Agents::Thread, peers);
  int64_t parity = parts.phases.getParity(state, slot);
  if (!parts.phases.complete(state, slot, op, finding))
    return Outcome::Wrong;
  bool isComplete = parts.phases.getParity(state, slot) != parity;
  if (isComplete && parts.copies.hasLoads(state, slot))
    return fail(finding, op,
                "a barrier may complete a phase before a copy has landed that "
                "reports to it: the phase does not expect its bytes");
  // A single arrival by this thread completed the phase, so the end of the
  // phase is ordered before the task's next step.
  if (count == 1 && op.getBy() == Agents::Thread && isComplete)
    parts.knowledge.getTask(state, task)
        .learn(parts.knowledge.getRows().getCompleted(),
               selection.getPhaseBit(slot));
  return Outcome::Done;
}

Outcome BarrierSteps::expect(State &state, unsigned task, MBarrierExpectOp op,
                             int64_t number, Finding &finding) const {
  BarrierSlot slot = getSlot(op, number);
  if (!parts.phases.checkUse(state, op, slot, finding) ||
      !parts.phases.checkPhase(state, task, op, slot, finding))
    return Outcome::Wrong;
  parts.phases.expect(state, slot, op.getBytes());
  parts.knowledge.forget(state, parts.knowledge.getRows().getExpected(task),
                         selection.getPhaseBit(slot), task);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// Whether a wait names a phase that parity alone identifies: the next one that
/// the task has not waited for, or the one before.
bool BarrierSteps::checkWait(const State &state, unsigned task,
                             MBarrierWaitOp op, BarrierSlot slot,
                             int64_t parity, Finding &finding) const {
  if (!parts.phases.checkUse(state, op, slot, finding))
    return false;
  if (parity != 0 && parity != 1) {
    fail(finding, op,
         model.taskNames[task] + " waits for parity " + Twine(parity) +
             ", which is not 0 or 1");
    return false;
  }
  int64_t unseen = parts.phases.countUnseen(state, task, slot);
  bool isNext = (parts.phases.getParity(state, slot) ^ (unseen & 1)) == parity;
  if (unseen == 0 || (unseen == 1 && isNext))
    return true;
  fail(finding, op,
       model.taskNames[task] + " waits for the phase of parity " +
           Twine(parity) + " of slot " + Twine(slot.number) +
           ", but is not ordered after the phases before: parity alone does "
           "not distinguish them");
  return false;
}

/// Lets the copies land that the present phase waits for and completes it. The
/// task is blocked if arrivals or bytes are missing; the state is then as it
/// was.
Outcome BarrierSteps::completePresent(State &state, unsigned task,
                                      MBarrierWaitOp op, BarrierSlot slot,
                                      int64_t parity, Finding &finding) const {
  State before = state;
  parts.phases.expect(state, slot, -parts.copies.landLoads(state, slot));
  parts.peers.receive(state, slot);
  if (!parts.phases.complete(state, slot, op, finding)) {
    state = std::move(before);
    return Outcome::Wrong;
  }
  if (parts.phases.countUnseen(state, task, slot) > 0)
    return Outcome::Done;
  std::string text = parts.phases.describe(state, slot);
  state = std::move(before);
  return fail(finding, op,
              "the phase of parity " + Twine(parity) + " of slot " +
                  Twine(slot.number) + ": " + text,
              Outcome::Blocked);
}

/// Joins the clock of the slot's last complete phase into that of `task`.
void BarrierSteps::acquire(State &state, unsigned task, BarrierSlot slot,
                           bool ofCluster) const {
  const ClockRows &rows = parts.knowledge.getRows();
  VectorClock clock = parts.knowledge.getTask(state, task);
  VectorClock complete = parts.knowledge.getComplete(state, slot);
  // All threads of the task wait, for arrivals after the reads of all of them.
  parts.history.synchronizeReads(state, task, complete[rows.getReads(task)]);
  parts.history.synchronizeWrites(state, task,
                                  complete[ClockRows::OfThreads] &
                                      complete[ClockRows::OfCopies]);
  parts.history.synchronizeWaits(state, task, complete[rows.getAwaited()]);
  if (model.hasAtomics)
    parts.history.synchronizeAtomics(state, task,
                                     complete[rows.getAtomics(task)]);
  // The end of a phase in the peers is ordered by any wait; accesses of their
  // threads only by a wait with `cluster`.
  for (unsigned row = 0; row < rows.size(); ++row)
    if (row < rows.getNumOwn() || ofCluster ||
        row == rows.getPeer(rows.getCompleted()))
      clock.learn(row, complete[row]);
  LDBG() << "task " << task << " joins the clock of slot " << slot.number
         << " of barrier " << slot.barrier;
  if (parts.phases.isObserved(state, slot)) // No task will join it again.
    complete.clear();
}

Outcome BarrierSteps::wait(State &state, unsigned task, MBarrierWaitOp op,
                           int64_t number, int64_t parity,
                           Finding &finding) const {
  BarrierSlot slot = getSlot(op, number);
  if (!checkWait(state, task, op, slot, parity, finding))
    return Outcome::Wrong;
  int64_t unseen = parts.phases.countUnseen(state, task, slot);
  if (unseen == 0) {
    if (parts.phases.getParity(state, slot) != parity) {
      parts.phases.observeAgain(state, task, slot);
      parts.history.addWait(state, task, selection.getPhaseBit(slot),
                            model.getPhasePlace(slot));
      return Outcome::Done;
    }
    Outcome outcome = completePresent(state, task, op, slot, parity, finding);
    if (outcome != Outcome::Done)
      return outcome;
  }
  parts.phases.observe(state, task, slot);
  acquire(state, task, slot, op.getCluster());
  parts.history.addWait(state, task, selection.getPhaseBit(slot),
                        model.getPhasePlace(slot));
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

void BarrierSteps::makeReady(State &state, unsigned task,
                             bool inCluster) const {
  parts.phases.makeReady(state, inCluster);
  parts.synchronize(state, task);
  if (inCluster)
    parts.peers.synchronize(state);
}

void BarrierSteps::synchronizeCluster(State &state, unsigned task) const {
  parts.synchronize(state, task);
  parts.peers.synchronize(state);
}

void BarrierSteps::closeGroup(State &state, unsigned task) const {
  parts.copies.closeGroup(state, task);
}

void BarrierSteps::synchronize(State &state, unsigned task,
                               Operation *op) const {
  auto barrier = dyn_cast<BarrierOp>(op);
  if (barrier && barrier.getDrainCopies())
    parts.copies.drain(state, task);
  if (barrier && barrier.getProxyFence())
    parts.proxy.fence(state, task);
  parts.synchronize(state, task);
}
