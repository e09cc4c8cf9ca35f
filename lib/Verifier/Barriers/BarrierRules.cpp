//===- BarrierRules.cpp - Rules of barriers in memory ---------------------===//
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

//===----------------------------------------------------------------------===//
// Places in the state
//===----------------------------------------------------------------------===//

unsigned BarrierRules::getTaskWord(unsigned task, unsigned word) const {
  return task * (NumTaskWords + getKnownWords() + AsyncProducts::kWords) + word;
}
unsigned BarrierRules::getKnown(unsigned task) const {
  return getTaskWord(task, NumTaskWords);
}
unsigned BarrierRules::getProducts(unsigned task) const {
  return getKnown(task) + getKnownWords();
}
unsigned BarrierRules::getSlot(unsigned barrier, int64_t slot) const {
  return barriers[barrier].first + NumBarrierWords +
         slot * (NumSlotWords + 2 * getKnownWords() + tasks);
}
unsigned BarrierRules::getPublished(unsigned slot) const {
  return getTold(slot) + getKnownWords();
}
unsigned BarrierRules::getLag(unsigned slot, unsigned task) const {
  return getPublished(slot) + getKnownWords() + task;
}
unsigned BarrierRules::getAge(unsigned place) const { return firstAge + place; }

/// Calls `fn` with where the words begin of what someone knows, of the block
/// and of its peers.
void BarrierRules::forEachKnown(llvm::function_ref<void(unsigned)> fn) const {
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
void BarrierRules::forget(State &state, unsigned word, Places places,
                          unsigned self) const {
  forEachKnown([&](unsigned words) {
    if (words != self)
      state[words + word] &= ~places;
  });
}

State BarrierRules::getInitial() const {
  State state(numWords, 0);
  for (unsigned task = 0; task < tasks; ++task) {
    std::fill_n(state.begin() + getKnown(task), getKnownWords(), -1);
    state[getTaskWord(task, Owned)] = ownWrites[task];
  }
  for (unsigned place = 0; place < numPlaces; ++place)
    state[getAge(place)] = kLanded;
  return state;
}

std::string BarrierRules::getName(Places places) const {
  for (auto [i, buffer] : llvm::enumerate(buffers))
    for (unsigned v = 0; v < buffer.getNumPlaces(); ++v)
      if (places >> (buffer.first + v) & 1)
        return buffer.versions > 1
                   ? "slot " + std::to_string(v) + " of a buffer"
                   : std::string("a buffer");
  return "nothing";
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Outcome BarrierRules::step(State &state, unsigned task, Operation *op,
                           ArrayRef<int64_t> inputs, Finding &finding) const {
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
    if (!checkUse(state, op, barrier, inputs[0], finding) ||
        !checkPhase(state, task, op, barrier, inputs[0], finding))
      return Outcome::Wrong;
    state[getSlot(barrier, inputs[0]) + Expected] += expect.getBytes();
    return Outcome::Done;
  }
  if (auto wait = dyn_cast<MBarrierWaitOp>(op))
    return this->wait(state, task, wait, inputs[0], inputs[1], finding);
  if (auto wait = dyn_cast<GemmWaitOp>(op))
    return AsyncProducts(&state[getProducts(task)])
        .wait(wait, event.products, eventOps, finding);
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
      AsyncProducts(&state[getProducts(task)]).end(0);
      state[getTaskWord(task, StoreReads)] = 0;
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

bool BarrierRules::checkUse(const State &state, Operation *op, unsigned barrier,
                            int64_t slot, Finding &finding) const {
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

/// Places that products and copies under way still read.
BarrierRules::Places BarrierRules::getRunningReads(const State &state,
                                                   unsigned task) const {
  return state[getTaskWord(task, StoreReads)] |
         AsyncProducts::getReads(&state[getProducts(task)]);
}

/// An arrival passes on what `task` knows, but for what other threads of it may
/// still do if only one of them arrives.
void BarrierRules::tell(State &state, unsigned task, unsigned barrier,
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
    bool isOfPhases = i % getOwnWords() >= getPhases();
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

Outcome BarrierRules::arrive(State &state, unsigned task, MBarrierArriveOp op,
                             int64_t number, Finding &finding) const {
  unsigned barrier = barrierNumbers.lookup(op.getBarrier());
  if (!checkUse(state, op, barrier, number, finding))
    return Outcome::Wrong;
  unsigned slot = getSlot(barrier, number);
  int64_t count = MBarrierOp(barriers[barrier].op).getCount();
  uint32_t peers = cluster.getPeers(op.getPeerDims(), /*rank=*/0);
  bool isOwn = peers == 0 || (peers & 1);
  if (!checkReach(state, task, op, peers, barrier, number, finding) ||
      (isOwn && !checkPhase(state, task, op, barrier, number, finding)))
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
    for (unsigned i = OfReads; i < getOwnWords(); ++i)
      state[getTold(slot) + i] |= state[getKnown(task) + i] &
                                  (i < getPhases() ? phasePlaces : ~Places(0));
    state[getTaskWord(task, Untold)] &= ~copies;
    copies = 0;
  } else {
    tell(state, task, barrier, number, op.getBy() == Agents::Thread, peers);
  }
  int64_t parity = state[slot + Parity];
  if (!complete(state, barrier, number, op, finding))
    return Outcome::Wrong;
  // The thread that alone completes a phase knows of it.
  if (count == 1 && op.getBy() == Agents::Thread &&
      state[slot + Parity] != parity)
    state[getKnown(task) + getPhases()] |= getPhase(barrier, number);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool BarrierRules::finish(const State &state, Finding &finding) const {
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
      // Who began by waiting for the phase before the first is one behind.
      bool anyHas = !barrier.places || !state[slot + Begun];
      for (unsigned task = 0; task < tasks; ++task)
        anyHas |= barrier.waiters >> task & 1 &&
                  countUnseen(state, task, i, s) <= (starters >> task & 1);
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

std::string BarrierRules::describe(Operation *op,
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
