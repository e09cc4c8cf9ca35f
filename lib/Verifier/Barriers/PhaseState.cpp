//===- PhaseState.cpp - Arrivals, bytes and phases of barriers ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts arrivals and bytes and advances phases. The search runs steps in one
// order. Two checks let that order stand for all others; both look at vector
// clocks, not at the order:
//
// * A step that adds to a phase must be ordered after the end of the phase
//   before. Otherwise another order might count the addition there.
// * The arrivals that complete a phase must be ordered after every wait for the
//   phase before. Otherwise a slow waiter might find two phases of the same
//   parity complete, and wait forever.
//
// If one task waits for a slot, the state counts its unseen phases. If several
// tasks alternate, the completion and the waits are events of their own place
// (see ClockRows), and one of these tasks must have waited.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/PhaseState.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

PhaseState::PhaseState(const BarrierModel &model,
                       const BarrierSelection &selection,
                       const TaskKnowledge &knowledge, StateLayout &layout)
    : model(model), selection(selection), knowledge(knowledge),
      firstBarrier(layout.reserve(model.barriers.size() * NumBarrierRows)),
      firstSlot(layout.reserve(model.getNumSlots() *
                               (NumSlotRows + model.getNumTasks()))) {}

//===----------------------------------------------------------------------===//
// Initialization
//===----------------------------------------------------------------------===//

void PhaseState::make(State &state, unsigned barrier) const {
  state[getWord(barrier, Stage)] = Made;
}

void PhaseState::makeReady(State &state, bool inCluster) const {
  for (unsigned barrier = 0; barrier < model.barriers.size(); ++barrier) {
    int64_t &stage = state[getWord(barrier, Stage)];
    if (stage != Unmade)
      stage = std::max<int64_t>(stage, inCluster ? ReadyInCluster : Ready);
  }
}

bool PhaseState::isReadyInCluster(const State &state, unsigned barrier) const {
  return state[getWord(barrier, Stage)] == ReadyInCluster;
}

bool PhaseState::checkUse(const State &state, Operation *op, BarrierSlot slot,
                          Finding &finding) const {
  int64_t depth = model.getBarrier(slot).depth;
  if (slot.number < 0 || slot.number >= depth) {
    finding = {op, "slot " + std::to_string(slot.number) +
                       " of a tile.mbarrier that has " + std::to_string(depth) +
                       " is used"};
    return false;
  }
  if (state[getWord(slot.barrier, Stage)] >= Ready)
    return true;
  finding = {op, "a barrier is used before a tile.mbarrier_ready has made its "
                 "initialization visible"};
  return false;
}

//===----------------------------------------------------------------------===//
// The present phase
//===----------------------------------------------------------------------===//

int64_t PhaseState::getParity(const State &state, BarrierSlot slot) const {
  return state[getWord(slot, Parity)];
}

int64_t PhaseState::getArrived(const State &state, BarrierSlot slot) const {
  return state[getWord(slot, Arrived)];
}

void PhaseState::arrive(State &state, BarrierSlot slot,
                        int64_t arrivals) const {
  state[getWord(slot, Arrived)] += arrivals;
}

void PhaseState::expect(State &state, BarrierSlot slot, int64_t bytes) const {
  state[getWord(slot, Expected)] += bytes;
}

bool PhaseState::checkPhase(const State &state, unsigned task, Operation *op,
                            BarrierSlot slot, Finding &finding) const {
  if (knowledge.getTask(state, task)
          .contains(knowledge.getRows().getCompleted(),
                    selection.getPhaseBit(slot)))
    return true;
  finding = {op,
             model.taskNames[task] + " adds to slot " +
                 std::to_string(slot.number) +
                 " of this barrier without waiting for the end of its previous "
                 "phase, which may count the addition"};
  return false;
}

/// Whether the arrivals of the present phase are ordered after the wait of
/// `task` for the phase before.
bool PhaseState::checkWaiter(const State &state, unsigned task,
                             BarrierSlot slot, Operation *op,
                             Finding &finding) const {
  const ClockRows &rows = knowledge.getRows();
  VectorClockRef arriving = knowledge.getArriving(state, slot);
  PlaceSet place = model.getPhasePlace(slot);
  bool mayHaveToWait = place ? !arriving.contains(rows.getReads(task), place)
                             : countUnseen(state, task, slot) > 0;
  if (mayHaveToWait) {
    finding = {op,
               "a barrier completes a phase before " + model.taskNames[task] +
                   " has waited for the previous one: parity alone does not "
                   "distinguish them"};
    return false;
  }
  if (!place &&
      !arriving.contains(rows.getAwaited(), selection.getPhaseBit(slot))) {
    finding = {op, "a barrier completes a phase, but its arrivals do not "
                   "wait for " +
                       model.taskNames[task] + " to see the previous phase: " +
                       model.taskNames[task] + " may miss it and wait forever"};
    return false;
  }
  return true;
}

/// Whether the arrivals of the present phase are ordered after all
/// tile.mbarrier_expect of it. The phase might complete before one otherwise.
bool PhaseState::checkExpectations(const State &state, BarrierSlot slot,
                                   Operation *op, Finding &finding) const {
  const ClockRows &rows = knowledge.getRows();
  for (unsigned task = 0; model.hasExpectations && task < model.getNumTasks();
       ++task)
    if (!knowledge.getArriving(state, slot)
             .contains(rows.getExpected(task), selection.getPhaseBit(slot))) {
      finding = {op, "a barrier may complete a phase before " +
                         model.taskNames[task] +
                         " expects bytes in it: no arrival comes after the "
                         "tile.mbarrier_expect"};
      return false;
    }
  return true;
}

bool PhaseState::canComplete(const State &state, BarrierSlot slot,
                             Operation *op, Finding &finding) const {
  if (!checkExpectations(state, slot, op, finding))
    return false;
  bool isAnyoneDone = !state[getWord(slot, Begun)];
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    if (!model.getBarrier(slot).isAwaitedBy(task))
      continue;
    isAnyoneDone |= countUnseen(state, task, slot) == 0;
    if (!checkWaiter(state, task, slot, op, finding))
      return false;
  }
  if (!model.getPhasePlace(slot) || isAnyoneDone)
    return true;
  finding = {op,
             "a barrier completes a phase before any task has waited for the "
             "previous phase"};
  return false;
}

bool PhaseState::complete(State &state, BarrierSlot slot, Operation *op,
                          Finding &finding) const {
  if (state[getWord(slot, Arrived)] < model.getBarrier(slot).count ||
      state[getWord(slot, Expected)] != 0)
    return true;
  if (!canComplete(state, slot, op, finding))
    return false;
  LDBG() << "slot " << slot.number << " of barrier " << slot.barrier
         << " completes a phase of parity " << getParity(state, slot) << " in "
         << op->getName();
  knowledge.completePhase(state, slot, selection.getPhaseBit(slot));
  state[getWord(slot, Parity)] ^= 1;
  state[getWord(slot, Begun)] = 1;
  state[getWord(slot, Arrived)] = 0;
  if (!model.getPhasePlace(slot))
    for (unsigned task = 0; task < model.getNumTasks(); ++task)
      state[getUnseenWord(slot, task)] =
          model.getBarrier(slot).isAwaitedBy(task);
  return true;
}

std::string PhaseState::describe(const State &state, BarrierSlot slot) const {
  std::string text = std::to_string(state[getWord(slot, Arrived)]) + " of " +
                     std::to_string(model.getBarrier(slot).count) +
                     " arrivals are made";
  int64_t bytes = state[getWord(slot, Expected)];
  if (bytes > 0)
    text += ", " + std::to_string(bytes) + " bytes more are expected than land";
  if (bytes < 0)
    text +=
        ", " + std::to_string(-bytes) + " bytes more land than are expected";
  return text;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

int64_t PhaseState::countUnseen(const State &state, unsigned task,
                                BarrierSlot slot) const {
  PlaceSet place = model.getPhasePlace(slot);
  if (!place)
    return state[getUnseenWord(slot, task)];
  VectorClockRef clock = knowledge.getTask(state, task);
  return clock.contains(ClockRows::OfThreads, place)  ? 0
         : clock.contains(ClockRows::OfCopies, place) ? 1
                                                      : 2;
}

void PhaseState::observeAgain(State &state, unsigned task,
                              BarrierSlot slot) const {
  const ClockRows &rows = knowledge.getRows();
  if (!state[getWord(slot, Begun)])
    state[getWord(slot.barrier, Starters)] |= int64_t(1) << task;
  if (PlaceSet place = model.getPhasePlace(slot))
    return knowledge.forget(state, rows.getReads(task), place, task);
  uint64_t bit = selection.getPhaseBit(slot);
  knowledge.forget(state, rows.getAwaited(), bit);
  knowledge.getTask(state, task).learn(rows.getAwaited(), bit);
}

void PhaseState::observe(State &state, unsigned task, BarrierSlot slot) const {
  VectorClock clock = knowledge.getTask(state, task);
  clock.learn(knowledge.getRows().getCompleted(), selection.getPhaseBit(slot));
  observeAgain(state, task, slot);
  if (PlaceSet place = model.getPhasePlace(slot)) {
    clock.learn(ClockRows::OfThreads, place);
    clock.learn(ClockRows::OfCopies, place);
  } else {
    state[getUnseenWord(slot, task)] = 0;
  }
}

bool PhaseState::isObserved(const State &state, BarrierSlot slot) const {
  if (model.getPhasePlace(slot))
    return false;
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    if (state[getUnseenWord(slot, task)] != 0)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool PhaseState::finish(const State &state, BarrierSlot slot,
                        Finding &finding) const {
  const BarrierModel::Barrier &barrier = model.getBarrier(slot);
  std::string of =
      " of slot " + std::to_string(slot.number) + " of this barrier ";
  Operation *op = MBarrierOp(barrier.op);
  int64_t arrived = state[getWord(slot, Arrived)];
  int64_t expected = state[getWord(slot, Expected)];
  if (arrived || expected) {
    finding = {op, "a phase" + of + "is left incomplete: " +
                       std::to_string(arrived) + " arrivals and " +
                       std::to_string(expected) + " bytes expected"};
    return false;
  }
  int64_t starters = state[getWord(slot.barrier, Starters)];
  bool isAnyoneDone = !barrier.phasePlaces || !state[getWord(slot, Begun)];
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    isAnyoneDone |= barrier.isAwaitedBy(task) &&
                    countUnseen(state, task, slot) <= (starters >> task & 1);
  if (!isAnyoneDone) {
    finding = {op, "a phase" + of + "completes that no task waits for"};
    return false;
  }
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    if (!(starters >> task & 1) && state[getUnseenWord(slot, task)]) {
      finding = {op, "a phase" + of + "completes that " +
                         model.taskNames[task] + " never waits for"};
      return false;
    }
  return true;
}

void PhaseState::print(raw_ostream &os, const State &state) const {
  model.forEachSlot([&](BarrierSlot slot) {
    os << "barrier " << slot.barrier << " slot " << slot.number << ": stage "
       << state[getWord(slot.barrier, Stage)] << ", parity "
       << getParity(state, slot) << ", " << describe(state, slot);
    for (unsigned task = 0; task < model.getNumTasks(); ++task)
      if (model.getBarrier(slot).isAwaitedBy(task))
        os << ", " << countUnseen(state, task, slot) << " unseen by task "
           << task;
    os << "\n";
  });
}
