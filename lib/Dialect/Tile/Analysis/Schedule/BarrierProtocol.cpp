//===- BarrierProtocol.cpp - Rules of barriers in memory ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierProtocol.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::tile::schedule;

//===----------------------------------------------------------------------===//
// Places in the state
//===----------------------------------------------------------------------===//

unsigned BarrierProtocol::getTaskWord(unsigned task, unsigned word) const {
  return task * (NumTaskWords + getKnownWords() + kProductWords) + word;
}
unsigned BarrierProtocol::getKnown(unsigned task) const {
  return getTaskWord(task, NumTaskWords);
}
unsigned BarrierProtocol::getProducts(unsigned task) const {
  return getKnown(task) + getKnownWords();
}
unsigned BarrierProtocol::getSlot(unsigned barrier, int64_t slot) const {
  return barriers[barrier].first + NumBarrierWords +
         slot * (NumSlotWords + 2 * getKnownWords() + tasks);
}
unsigned BarrierProtocol::getPublished(unsigned slot) const {
  return getTold(slot) + getKnownWords();
}
unsigned BarrierProtocol::getLag(unsigned slot, unsigned task) const {
  return getPublished(slot) + getKnownWords() + task;
}
unsigned BarrierProtocol::getAge(unsigned place) const {
  return firstAge + place;
}

/// Calls `fn` with where the words begin of what someone knows, of the block
/// and of its peers.
template <typename FnT>
void BarrierProtocol::forEachKnown(FnT fn) const {
  auto visit = [&](unsigned words) {
    fn(words);
    if (hasPeers())
      fn(words + getOwnWords());
  };
  for (unsigned task = 0; task < tasks; ++task)
    visit(getKnown(task));
  for (unsigned i = 0; i < barriers.size(); ++i)
    for (int64_t s = 0; s < barriers[i].depth; ++s) {
      visit(getTold(getSlot(i, s)));
      visit(getPublished(getSlot(i, s)));
    }
}

/// Nobody knows any more but, of the block itself, whose words begin at `self`.
void BarrierProtocol::forget(State &state, unsigned word, Places places,
                             unsigned self) const {
  forEachKnown([&](unsigned words) {
    if (words != self)
      state[words + word] &= ~places;
  });
}

State BarrierProtocol::getInitial() const {
  State state(numWords, 0);
  for (unsigned task = 0; task < tasks; ++task) {
    std::fill_n(state.begin() + getKnown(task), getKnownWords(), -1);
    state[getTaskWord(task, Owned)] = ownWrites[task];
  }
  for (unsigned place = 0; place < numPlaces; ++place)
    state[getAge(place)] = kLanded;
  return state;
}

std::string BarrierProtocol::getName(Places places) const {
  for (auto [i, buffer] : llvm::enumerate(buffers))
    for (int64_t v = 0; v < buffer.versions; ++v)
      if (places >> (buffer.first + v) & 1)
        return buffer.versions > 1
                   ? "slot " + std::to_string(v) + " of a buffer"
                   : std::string("a buffer");
  return "nothing";
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Outcome BarrierProtocol::step(State &state, unsigned task, Operation *op,
                              ArrayRef<int64_t> inputs,
                              Finding &finding) const {
  const Event &event = events.at(op);
  if (auto make = dyn_cast<MBarrierOp>(op)) {
    state[barriers[barrierNumbers.lookup(make.getBarrier())].first + Stage] =
        Made;
    return Outcome::Done;
  }
  if (auto ready = dyn_cast<MBarrierReadyOp>(op)) {
    for (const Barrier &barrier : barriers) {
      int64_t &stage = state[barrier.first + Stage];
      if (stage != Unmade)
        stage = std::max<int64_t>(stage,
                                  ready.getCluster() ? ReadyInCluster : Ready);
    }
    meet(state, task);
    if (ready.getCluster())
      meetPeers(state);
    return Outcome::Done;
  }
  if (isa<ClusterBarrierOp>(op)) {
    meet(state, task);
    meetPeers(state);
    return Outcome::Done;
  }
  if (auto arrive = dyn_cast<MBarrierArriveOp>(op))
    return this->arrive(state, task, arrive, inputs[0], finding);
  if (auto expect = dyn_cast<MBarrierExpectOp>(op)) {
    unsigned barrier = barrierNumbers.lookup(expect.getBarrier());
    if (!checkUse(state, op, barrier, inputs[0], finding))
      return Outcome::Wrong;
    state[getSlot(barrier, inputs[0]) + Expected] += expect.getBytes();
    return Outcome::Done;
  }
  if (auto wait = dyn_cast<MBarrierWaitOp>(op))
    return this->wait(state, task, wait, inputs[0], inputs[1], finding);
  if (auto wait = dyn_cast<GemmWaitOp>(op)) {
    endProducts(state, task, wait.getPending());
    return Outcome::Done;
  }
  if (isa<ProxyFenceOp>(op)) {
    fence(state, task);
    return Outcome::Done;
  }
  if (isa<CommitGroupOp>(op)) {
    closeGroup(state);
    return Outcome::Done;
  }
  if (auto wait = dyn_cast<CopyGroupWaitOp>(op)) {
    landGroups(state, wait.getPending(), /*openToo=*/false);
    return Outcome::Done;
  }
  if (isa<BarrierOp, gpu::BarrierOp>(op) || event.meets) {
    auto barrier = dyn_cast<BarrierOp>(op);
    if (barrier && barrier.getDrainCopies()) {
      endProducts(state, task, 0);
      landGroups(state, 0, /*openToo=*/true);
      // An arrival behind copies still tells of them.
      state[getKnown(task) + OfCopies] |= state[getTaskWord(task, Copies)];
    }
    if (barrier && barrier.getProxyFence())
      fence(state, task);
    meet(state, task);
    return Outcome::Done;
  }
  return access(state, task, op, event, inputs, finding);
}

bool BarrierProtocol::checkUse(const State &state, Operation *op,
                               unsigned barrier, int64_t slot,
                               Finding &finding) const {
  if (slot < 0 || slot >= barriers[barrier].depth) {
    finding = {op, "uses slot " + std::to_string(slot) + " of " +
                       std::to_string(barriers[barrier].depth) + " barriers"};
    return false;
  }
  if (state[barriers[barrier].first + Stage] >= Ready)
    return true;
  finding = {op, "uses a barrier before a tile.mbarrier_ready has made its "
                 "initialization visible"};
  return false;
}

//===----------------------------------------------------------------------===//
// Arrivals and waits
//===----------------------------------------------------------------------===//

/// Places that products under way still read.
BarrierProtocol::Places BarrierProtocol::getRunningReads(const State &state,
                                                         unsigned task) const {
  const int64_t *products = &state[getProducts(task)];
  Places places = 0;
  for (int64_t i = 1; i <= products[0]; ++i)
    places |= products[i];
  return places;
}

/// An arrival passes on what `task` knows, but for what other threads of it may
/// still do if only one of them arrives.
void BarrierProtocol::tell(State &state, unsigned task, unsigned barrier,
                           int64_t number, bool ofOneThread,
                           uint32_t peers) const {
  unsigned told = getTold(getSlot(barrier, number)), known = getKnown(task);
  Places subject = tellsAll ? ~Places(0) : barriers[barrier].subjects[number];
  state[getTaskWord(task, Untold)] = 0;
  Places reads = getRunningReads(state, task), writes = 0;
  if (ofOneThread) {
    reads |= state[getTaskWord(task, UnmetReads)];
    writes |= state[getTaskWord(task, UnmetWrites)];
  }
  for (unsigned i = 0; i < getKnownWords(); ++i) {
    Places hidden = i == OfReads + task ? reads : i == OfThreads ? writes : 0;
    // Barriers order each other, whatever they are about.
    bool isOfPhases = hasPeers() && i % getOwnWords() == getPhases();
    Places news =
        state[known + i] & ~hidden & (isOfPhases ? ~Places(0) : subject);
    state[told + i] |= news;
    if (!peers || i >= getOwnWords())
      continue;
    // What this task tells its peers, their tasks tell this block.
    Places covered = isOfPhases ? getCoveredPhases(peers) : getCovered(peers);
    state[told + getOwnWords() + i] |= news & covered;
  }
}

Outcome BarrierProtocol::arrive(State &state, unsigned task,
                                MBarrierArriveOp op, int64_t number,
                                Finding &finding) const {
  unsigned barrier = barrierNumbers.lookup(op.getBarrier());
  if (!checkUse(state, op, barrier, number, finding))
    return Outcome::Wrong;
  unsigned slot = getSlot(barrier, number);
  int64_t count = MBarrierOp(barriers[barrier].op).getCount();
  uint32_t peers = cluster.getPeers(op.getPeerDims(), /*rank=*/0);
  if (!checkReach(state, task, op, peers, barrier, number, finding))
    return Outcome::Wrong;
  // The peers arrive here as this block does there.
  int64_t arrivals = op.getNumArrivals() * std::max(llvm::popcount(peers), 1);
  if (state[slot + Arrived] + arrivals > count)
    return fail(finding, op,
                "arrives " + Twine(state[slot + Arrived] + arrivals) +
                    " times in a phase of a barrier that counts to " +
                    Twine(count));
  state[slot + Expected] += op.getBytes().value_or(0);
  state[slot + Arrived] += arrivals;
  if (op.getBy() == Agents::Copies) {
    int64_t &copies = state[getTaskWord(task, Copies)];
    // Made by the unit that copies: it tells of nothing else that was written,
    // but comes behind what the task has waited for.
    state[getTold(slot) + OfCopies] |= copies;
    for (unsigned i = OfReads; i < OfReads + tasks; ++i)
      state[getTold(slot) + i] |= state[getKnown(task) + i] & phasePlaces;
    state[getTaskWord(task, Untold)] &= ~copies;
    copies = 0;
  } else {
    tell(state, task, barrier, number, op.getBy() == Agents::Thread, peers);
  }
  return complete(state, barrier, number, op, finding) ? Outcome::Done
                                                       : Outcome::Wrong;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// The place that stands for the phases of a slot; none if one task alone waits
/// for them.
BarrierProtocol::Places BarrierProtocol::getPhasePlace(unsigned barrier,
                                                       int64_t slot) const {
  std::optional<unsigned> first = barriers[barrier].places;
  return first ? Places(1) << (*first + slot) : 0;
}

/// How many complete phases of a slot `task` does not know of; 2 for more.
int64_t BarrierProtocol::countUnseen(const State &state, unsigned task,
                                     unsigned barrier, int64_t slot) const {
  Places place = getPhasePlace(barrier, slot);
  if (!place)
    return state[getLag(getSlot(barrier, slot), task)];
  const int64_t *known = &state[getKnown(task)];
  return known[OfThreads] & place ? 0 : known[OfCopies] & place ? 1 : 2;
}

/// `task` has waited for the last phase of a slot to be complete.
void BarrierProtocol::see(State &state, unsigned task, unsigned barrier,
                          int64_t slot) const {
  Places place = getPhasePlace(barrier, slot);
  if (!place) {
    state[getLag(getSlot(barrier, slot), task)] = 0;
    return;
  }
  forget(state, OfReads + task, place, getKnown(task));
  state[getKnown(task) + OfThreads] |= place;
  state[getKnown(task) + OfCopies] |= place;
}

/// What a phase tells matters only to those who have yet to wait for it, if
/// they do not know it.
void BarrierProtocol::dropKnown(State &state) const {
  for (auto [i, barrier] : llvm::enumerate(barriers))
    for (int64_t s = 0; s < barrier.depth; ++s)
      for (unsigned word = 0; word < getKnownWords(); ++word) {
        int64_t known = -1;
        for (unsigned task = 0; task < tasks; ++task)
          if (barrier.waiters >> task & 1 && countUnseen(state, task, i, s))
            known &= state[getKnown(task) + word];
        state[getPublished(getSlot(i, s)) + word] &= ~known;
      }
}

/// Whether those who wait have seen the phase before, in whatever order tasks
/// run. Tasks that take turns need not all have.
bool BarrierProtocol::canComplete(const State &state, unsigned barrier,
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
  }
  if (place && !anyHas)
    finding = {op, "a barrier completes a phase before anyone has waited for "
                   "the one before"};
  return !place || anyHas;
}

/// The next phase begins if all is there. False if someone has yet to wait for
/// the phase before.
bool BarrierProtocol::complete(State &state, unsigned barrier, int64_t number,
                               Operation *op, Finding &finding) const {
  unsigned slot = getSlot(barrier, number);
  int64_t count = MBarrierOp(barriers[barrier].op).getCount();
  if (state[slot + Arrived] < count || state[slot + Expected] != 0)
    return true;
  if (!canComplete(state, barrier, number, op, finding))
    return false;
  if (hasPeers())
    forget(state, getPhases(), getPhase(barrier, number), ~0u);
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

void BarrierProtocol::reduce(State &state, bool inRoles) const {
  if (inRoles && !goesOnBehindRoles)
    std::fill_n(state.begin() + getKnown(0), getKnownWords(), 0);
  for (unsigned task = 0; task < tasks; ++task) {
    state[getTaskWord(task, UnmetReads)] &= orderedReads[task];
    state[getTaskWord(task, UnmetWrites)] &= orderedWrites[task];
    state[getTaskWord(task, UnfencedStores)] &= byProxy;
    state[getTaskWord(task, UnfencedCopies)] &= byProxy;
    state[getTaskWord(task, Untold)] &= getUnfenced(state, task);
  }
  dropKnown(state);
}

/// Lets the copies land that report to a barrier's slot.
void BarrierProtocol::land(State &state, unsigned slot) const {
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

Outcome BarrierProtocol::wait(State &state, unsigned task, MBarrierWaitOp op,
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
  // Of tasks that take turns each has to know where the others are.
  if (unseen > 1 || (unseen == 1 && !isNext && barriers[barrier].places))
    return fail(finding, op,
                taskNames[task] + " waits for the phase of parity " +
                    Twine(parity) + " of slot " + Twine(number) +
                    ", and nothing tells it that the phases before are "
                    "complete: it cannot tell one from the other");
  if (!isNext) {
    // The phase before is complete; it may be the one before the first.
    if (!state[slot + Begun])
      state[barriers[barrier].first + Starters] |= int64_t(1) << task;
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
  if (hasPeers())
    state[getKnown(task) + getPhases()] |= getPhase(barrier, number);
  return Outcome::Done;
}

/// All threads of a task meet; those of the block if it is the kernel.
void BarrierProtocol::meet(State &state, unsigned task) const {
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
void BarrierProtocol::fence(State &state, unsigned task) const {
  const int64_t *known = &state[getKnown(task)];
  for (unsigned writer = 0; writer < tasks; ++writer) {
    state[getTaskWord(writer, UnfencedStores)] &= ~known[OfThreads];
    state[getTaskWord(writer, UnfencedCopies)] &= ~known[OfCopies];
  }
}

BarrierProtocol::Places BarrierProtocol::getUnfenced(const State &state,
                                                     unsigned task) const {
  return state[getTaskWord(task, UnfencedStores)] |
         state[getTaskWord(task, UnfencedCopies)];
}

void BarrierProtocol::endProducts(State &state, unsigned task,
                                  int64_t pending) const {
  int64_t *products = &state[getProducts(task)];
  int64_t left = std::min<int64_t>(pending, products[0]);
  int64_t ended = products[0] - left;
  std::copy(products + 1 + ended, products + 1 + products[0], products + 1);
  std::fill(products + 1 + left, products + kProductWords, 0);
  products[0] = left;
}

void BarrierProtocol::closeGroup(State &state) const {
  for (unsigned place = 0; place < numPlaces; ++place) {
    int64_t &age = state[getAge(place)];
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min<int64_t>(age + 1, kOpenGroup - 1);
  }
}

void BarrierProtocol::landGroups(State &state, int64_t pending,
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

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool BarrierProtocol::finish(const State &state, Finding &finding) const {
  if (state[reached]) {
    finding = {reaching, "a block may end while others still reach into it "
                         "here: expected a tile.cluster_barrier behind"};
    return false;
  }
  for (auto [i, barrier] : llvm::enumerate(barriers)) {
    int64_t starters = state[barrier.first + Starters];
    for (int64_t s = 0; s < barrier.depth; ++s) {
      unsigned slot = getSlot(i, s);
      std::string of = " of slot " + std::to_string(s) + " of this barrier ";
      Operation *op = MBarrierOp(barrier.op);
      if (state[slot + InFlight] || state[slot + Landing]) {
        finding = {op, "the kernel may end before copies have landed that "
                       "report to this barrier: nobody waits for them"};
        return false;
      }
      if (state[slot + Arrived] || state[slot + Expected]) {
        finding = {
            op, "a phase" + of + "is left incomplete: " +
                    std::to_string(state[slot + Arrived]) + " arrivals and " +
                    std::to_string(state[slot + Expected]) + " bytes expected"};
        return false;
      }
      bool anyHas = !barrier.places || !state[slot + Begun];
      for (unsigned task = 0; task < tasks; ++task)
        anyHas |=
            barrier.waiters >> task & 1 && countUnseen(state, task, i, s) == 0;
      if (!anyHas) {
        finding = {op, "a phase" + of + "completes that nobody waits for"};
        return false;
      }
      for (unsigned task = 0; task < tasks; ++task)
        if (!(starters >> task & 1) && state[getLag(slot, task)]) {
          finding = {op, "a phase" + of + "completes that " + taskNames[task] +
                             " never waits for"};
          return false;
        }
    }
  }
  return true;
}

std::string BarrierProtocol::describe(Operation *op,
                                      ArrayRef<int64_t> inputs) const {
  std::string text = op->getName().getStringRef().str();
  if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op))
    text += " slot " + std::to_string(inputs[0]);
  if (isa<MBarrierWaitOp>(op))
    return text + " parity " + std::to_string(inputs[1]);
  const Event &event = events.at(op);
  unsigned next = 0;
  for (const Access &access : event.accesses) {
    text += access.writes ? " writes " : " reads ";
    text += access.slot ? "slot " + std::to_string(inputs[next++]) : "a buffer";
  }
  return text;
}
