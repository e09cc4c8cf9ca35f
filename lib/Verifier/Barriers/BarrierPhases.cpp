//===- BarrierPhases.cpp - Phases of barriers, and who knows of them ------===//
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

/// The place that stands for the phases of a slot; none if one task alone waits
/// for them.
BarrierRules::Places BarrierRules::getPhasePlace(unsigned barrier,
                                                 int64_t slot) const {
  std::optional<unsigned> first = barriers[barrier].places;
  return first ? Places(1) << (*first + slot) : 0;
}

/// How many complete phases of a slot `task` does not know of; 2 for more.
int64_t BarrierRules::countUnseen(const State &state, unsigned task,
                                  unsigned barrier, int64_t slot) const {
  Places place = getPhasePlace(barrier, slot);
  if (!place)
    return state[getLag(getSlot(barrier, slot), task)];
  const int64_t *known = &state[getKnown(task)];
  return known[OfThreads] & place ? 0 : known[OfCopies] & place ? 1 : 2;
}

/// `task` has waited for the last phase, or for the one before the first, maybe
/// again: the next one must not be complete before.
void BarrierRules::noteWait(State &state, unsigned task, unsigned barrier,
                            int64_t slot) const {
  if (Places place = getPhasePlace(barrier, slot)) {
    forget(state, OfReads + task, place, getKnown(task));
    return;
  }
  Places phase = getPhase(barrier, slot);
  forget(state, getWaits(), phase, ~0u);
  state[getKnown(task) + getWaits()] |= phase;
}

/// Whether `task` may add to the present phase: it knows that the one before is
/// complete, in which this might be counted otherwise.
bool BarrierRules::checkPhase(const State &state, unsigned task, Operation *op,
                              unsigned barrier, int64_t slot,
                              Finding &finding) const {
  if (state[getKnown(task) + getPhases()] & getPhase(barrier, slot))
    return true;
  finding = {op, taskNames[task] +
                     " does not know that the phase before of slot " +
                     std::to_string(slot) +
                     " of this barrier is complete, in which this would be "
                     "counted: no wait tells it"};
  return false;
}

/// `task` has waited for the last phase of a slot to be complete.
void BarrierRules::see(State &state, unsigned task, unsigned barrier,
                       int64_t slot) const {
  state[getKnown(task) + getPhases()] |= getPhase(barrier, slot);
  noteWait(state, task, barrier, slot);
  Places place = getPhasePlace(barrier, slot);
  if (!place) {
    state[getLag(getSlot(barrier, slot), task)] = 0;
    return;
  }
  state[getKnown(task) + OfThreads] |= place;
  state[getKnown(task) + OfCopies] |= place;
}

/// Where it stands what tasks know, and will learn. What is known is true, but
/// not all that is: with less of it more is wrong, or behind no fence. A wait
/// for the last phase goes on whether or not its task knows that phase to be
/// complete; if not, it learns of it what it might have known.
void BarrierRules::findKnowledge() {
  auto add = [&](unsigned first) {
    for (unsigned word = 0; word < getKnownWords(); ++word)
      knowledge.push_back(first + word);
  };
  for (unsigned task = 0; task < tasks; ++task)
    add(getKnown(task));
  for (unsigned i = 0; i < barriers.size(); ++i)
    for (int64_t s = 0; s < barriers[i].depth; ++s) {
      unsigned slot = getSlot(i, s);
      add(getTold(slot));
      add(getPublished(slot));
      knowledge.push_back(slot + SenderPhases);
    }
}

/// What a phase tells matters only to those who have yet to wait for it, if
/// they do not know it.
void BarrierRules::dropKnown(State &state) const {
  for (auto [i, barrier] : llvm::enumerate(barriers))
    for (int64_t s = 0; s < barrier.depth; ++s)
      for (unsigned word = 0; word < getKnownWords(); ++word) {
        int64_t known = -1;
        for (unsigned task = 0; task < tasks; ++task)
          if (barrier.waiters >> task & 1 && countUnseen(state, task, i, s)) {
            known &= state[getKnown(task) + word];
            // The wait tells more of its own reads: that its threads have met.
            if (word == OfReads + task)
              known &= ~state[getTaskWord(task, UnmetReads)];
          }
        state[getPublished(getSlot(i, s)) + word] &= ~known;
      }
}

/// Whether those who wait have seen the phase before, in whatever order tasks
/// run. Tasks that take turns need not all have.
bool BarrierRules::canComplete(const State &state, unsigned barrier,
                               int64_t number, Operation *op,
                               Finding &finding) const {
  unsigned slot = getSlot(barrier, number);
  Places place = getPhasePlace(barrier, number);
  bool anyHas = !state[slot + Begun];
  for (unsigned task = 0; task < tasks; ++task) {
    if (!(barriers[barrier].waiters >> task & 1))
      continue;
    bool isUnseen = countUnseen(state, task, barrier, number);
    anyHas |= !isUnseen;
    bool mayWait = place && !(state[getTold(slot) + OfReads + task] & place);
    if (place ? mayWait : isUnseen) {
      finding = {op, "a barrier completes a phase before " + taskNames[task] +
                         " has waited for the one before: it cannot tell one "
                         "from the other"};
      return false;
    }
    bool isTold = state[getTold(slot) + getWaits()] & getPhase(barrier, number);
    if (!place && !isTold) {
      finding = {op, "a barrier completes a phase, and those who arrive do not "
                     "know that " +
                         taskNames[task] +
                         " has waited for the one before: it may come too late "
                         "and wait for ever"};
      return false;
    }
  }
  if (place && !anyHas)
    finding = {op, "a barrier completes a phase before anyone has waited for "
                   "the one before"};
  return !place || anyHas;
}

/// The next phase begins if all is there. False if someone has yet to wait for
/// the phase before.
bool BarrierRules::complete(State &state, unsigned barrier, int64_t number,
                            Operation *op, Finding &finding) const {
  unsigned slot = getSlot(barrier, number);
  int64_t count = MBarrierOp(barriers[barrier].op).getCount();
  if (state[slot + Arrived] < count || state[slot + Expected] != 0)
    return true;
  if (!canComplete(state, barrier, number, op, finding))
    return false;
  forget(state, getPhases(), getPhase(barrier, number), ~0u);
  forget(state, getWaits(), getPhase(barrier, number), ~0u);
  state[slot + Parity] ^= 1;
  state[slot + Begun] = 1;
  state[slot + Arrived] = 0;
  if (Places place = getPhasePlace(barrier, number))
    forEachKnown([&](unsigned words) {
      int64_t &last = state[words + OfThreads],
              &before = state[words + OfCopies];
      before = (before & ~place) | (last & place);
      last &= ~place;
    });
  else
    for (unsigned task = 0; task < tasks; ++task)
      state[getLag(slot, task)] = barriers[barrier].waiters >> task & 1;
  for (unsigned i = 0; i < getKnownWords(); ++i) {
    state[getPublished(slot) + i] = state[getTold(slot) + i];
    state[getTold(slot) + i] = 0;
  }
  return true;
}

void BarrierRules::reduce(State &state, bool inRoles) const {
  if (inRoles && !goesOnBehindRoles)
    std::fill_n(state.begin() + getKnown(0), getKnownWords(), 0);
  for (unsigned task = 0; task < tasks; ++task) {
    state[getTaskWord(task, UnmetReads)] &= orderedReads[task];
    state[getTaskWord(task, UnmetWrites)] &= orderedWrites[task];
    state[getTaskWord(task, UnfencedStores)] &= byProxy;
    state[getTaskWord(task, UnfencedCopies)] &= byProxy;
    state[getTaskWord(task, Untold)] &= getUnfenced(state, task);
  }
}

/// Lets the copies land that report to a barrier's slot.
void BarrierRules::land(State &state, unsigned slot) const {
  Places landed = state[slot + InFlight];
  state[slot + Expected] -= state[slot + Landing];
  state[slot + Landing] = state[slot + InFlight] = 0;
  // What another barrier's copies write, too, is not there yet.
  for (unsigned i = 0; i < barriers.size(); ++i)
    for (int64_t s = 0; s < barriers[i].depth; ++s)
      landed &= ~state[getSlot(i, s) + InFlight];
  state[getTold(slot) + OfCopies] |= landed;
  receive(state, slot);
}

Outcome BarrierRules::wait(State &state, unsigned task, MBarrierWaitOp op,
                           int64_t number, int64_t parity,
                           Finding &finding) const {
  unsigned barrier = barrierNumbers.lookup(op.getBarrier());
  if (!checkUse(state, op, barrier, number, finding))
    return Outcome::Wrong;
  if (parity != 0 && parity != 1)
    return fail(finding, op,
                "waits for parity " + Twine(parity) + ", which is not 0 or 1");
  unsigned slot = getSlot(barrier, number);
  int64_t unseen = countUnseen(state, task, barrier, number);
  bool isNext = (state[slot + Parity] ^ (unseen & 1)) == parity;
  if (unseen > 1 || (unseen == 1 && !isNext))
    return fail(finding, op,
                taskNames[task] + " waits for the phase of parity " +
                    Twine(parity) + " of slot " + Twine(number) +
                    ", and nothing tells it that the phases before are "
                    "complete: it cannot tell one from the other");
  if (!isNext) {
    // The phase before is complete; it may be the one before the first.
    if (!state[slot + Begun])
      state[barriers[barrier].first + Starters] |= int64_t(1) << task;
    noteWait(state, task, barrier, number);
    return Outcome::Done;
  }
  if (unseen == 0) {
    State before = state;
    land(state, slot);
    if (!complete(state, barrier, number, op, finding)) {
      state = std::move(before);
      return Outcome::Wrong;
    }
    if (countUnseen(state, task, barrier, number) == 0) {
      std::string text =
          ("waits for the phase of parity " + Twine(parity) + " of slot " +
           Twine(number) + ": " + Twine(state[slot + Arrived]) + " of " +
           Twine(MBarrierOp(barriers[barrier].op).getCount()) +
           " arrivals are made")
              .str();
      if (state[slot + Expected] > 0)
        text += ", " + std::to_string(state[slot + Expected]) +
                " bytes more are expected than land";
      if (state[slot + Expected] < 0)
        text += ", " + std::to_string(-state[slot + Expected]) +
                " bytes more land than are expected";
      state = std::move(before);
      return fail(finding, op, text, Outcome::Blocked);
    }
  }
  see(state, task, barrier, number);
  // All of its threads wait, and learn what all of them had read.
  state[getTaskWord(task, UnmetReads)] &=
      ~state[getPublished(slot) + OfReads + task];
  bool isLast = !barriers[barrier].places;
  for (unsigned other = 0; other < tasks; ++other)
    isLast &= state[getLag(slot, other)] == 0;
  for (unsigned i = 0; i < getKnownWords(); ++i) {
    // That a phase is complete follows from what comes after it; what threads
    // of other blocks have done takes a wait for them.
    if (i < getOwnWords() || op.getCluster() ||
        i == getOwnWords() + getPhases())
      state[getKnown(task) + i] |= state[getPublished(slot) + i];
    if (isLast) // Nobody asks again.
      state[getPublished(slot) + i] = 0;
  }
  return Outcome::Done;
}

/// All threads of a task meet; those of the block if it is the kernel.
void BarrierRules::meet(State &state, unsigned task) const {
  state[getTaskWord(task, UnmetReads)] = 0;
  state[getTaskWord(task, UnmetWrites)] = 0;
  if (task != 0)
    return;
  for (unsigned i = 0; i < getKnownWords(); ++i) {
    int64_t all = 0;
    for (unsigned other = 0; other < tasks; ++other)
      all |= state[getKnown(other) + i];
    for (unsigned other = 0; other < tasks; ++other)
      state[getKnown(other) + i] = all;
  }
}

/// What a task knows to be written is visible to the asynchronous proxy.
void BarrierRules::fence(State &state, unsigned task) const {
  const int64_t *known = &state[getKnown(task)];
  for (unsigned writer = 0; writer < tasks; ++writer) {
    state[getTaskWord(writer, UnfencedStores)] &= ~known[OfThreads];
    state[getTaskWord(writer, UnfencedCopies)] &= ~known[OfCopies];
  }
}

BarrierRules::Places BarrierRules::getUnfenced(const State &state,
                                               unsigned task) const {
  return state[getTaskWord(task, UnfencedStores)] |
         state[getTaskWord(task, UnfencedCopies)];
}

void BarrierRules::closeGroup(State &state) const {
  for (unsigned place = 0; place < numPlaces; ++place) {
    int64_t &age = state[getAge(place)];
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min<int64_t>(age + 1, kOpenGroup - 1);
  }
}

void BarrierRules::landGroups(State &state, int64_t pending,
                              bool openToo) const {
  for (unsigned place = 0; place < numPlaces; ++place) {
    int64_t &age = state[getAge(place)];
    if (age == kOpenGroup ? openToo : age >= pending && age != kLanded) {
      age = kLanded;
      int64_t bit = int64_t(1) << place;
      for (unsigned task = 0; task < tasks; ++task)
        if (state[getTaskWord(task, Copies)] & bit) {
          state[getTaskWord(task, Copies)] &= ~bit;
          state[getKnown(task) + OfCopies] |= bit;
          // Each thread knows of its own only.
          state[getTaskWord(task, UnmetWrites)] |= bit;
        }
    }
  }
}
