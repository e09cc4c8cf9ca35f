//===- ChannelRules.cpp - Rules of channels -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelRules.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

//===----------------------------------------------------------------------===//
// Places in the state
//===----------------------------------------------------------------------===//

unsigned ChannelRules::getSlot(unsigned channel, int64_t cursor) const {
  const Channel &c = channels[channel];
  return c.first + 1 + tasks + (cursor % c.depth) * NumSlotWords;
}

unsigned ChannelRules::getProducts(unsigned task) const {
  return numWords - (tasks - task) * kTaskWords;
}

/// Consumers that take turns wait one after the other.
unsigned ChannelRules::getNextWait(unsigned channel, unsigned task) const {
  const Channel &c = channels[channel];
  return c.first + 1 +
         (c.alternating ? llvm::countr_zero(uint64_t(c.consumers)) : task);
}

int64_t ChannelRules::getSlotBit(unsigned channel, int64_t cursor) const {
  unsigned bit = cursor % channels[channel].depth;
  for (unsigned i = 0; i < channel; ++i)
    bit += channels[i].depth;
  return int64_t(1) << bit;
}

template <typename FnT>
void ChannelRules::forEachSlot(FnT fn) const {
  for (unsigned channel = 0; channel < channels.size(); ++channel)
    for (int64_t slot = 0; slot < channels[channel].depth; ++slot)
      fn(getSlot(channel, slot));
}

State ChannelRules::getInitial() const {
  State state(numWords, 0);
  forEachSlot([&](unsigned slot) {
    state[slot + Age] = kLanded;
    state[slot + Cursor] = kNone;
  });
  for (auto [i, channel] : llvm::enumerate(channels))
    for (unsigned task = 0; task < tasks; ++task)
      state[getOrdered(task)] |= int64_t(channel.alternating) << i;
  return state;
}

std::string ChannelRules::getTaskName(unsigned task) const {
  return taskNames[task];
}

std::string ChannelRules::getPlace(unsigned channel, int64_t cursor) const {
  int64_t depth = channels[channel].depth;
  return ("slot " + Twine(cursor % depth) + " in phase " +
          Twine(cursor / depth))
      .str();
}

//===----------------------------------------------------------------------===//
// Transactions
//===----------------------------------------------------------------------===//

Outcome ChannelRules::step(State &state, unsigned task, Operation *op,
                           ArrayRef<int64_t> inputs, Finding &finding) const {
  const Event &event = events.at(op);
  if (isa<AcquireOp>(op))
    return acquire(state, task, event, inputs[0], finding);
  if (isa<CommitOp>(op))
    return commit(state, task, event, inputs[0], finding);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    if (!event.isForeign)
      return this->wait(state, task, event, wait, inputs[0], finding);
    landAndMeet(state, wait, channels[event.channel]);
    return Outcome::Done;
  }
  if (isa<ReleaseOp>(op))
    return release(state, task, event, inputs[0], finding);
  if (auto wait = dyn_cast<GemmWaitOp>(op))
    return AsyncProducts(&state[getProducts(task)])
        .wait(wait, event.products, eventOps, finding);
  if (!event.accesses.empty() || isa<GemmOp>(op))
    return access(state, task, op, event, inputs, finding);
  if (hasRoles()) // Groups and barriers are matters of one role.
    return Outcome::Done;
  if (isa<CommitGroupOp>(op)) {
    closeGroup(state);
    return Outcome::Done;
  }
  auto barrier = dyn_cast<BarrierOp>(op);
  if (barrier && barrier.getDrainCopies())
    land(state, 0, /*openToo=*/true);
  meet(state, barrier && barrier.getProxyFence());
  return Outcome::Done;
}

Outcome ChannelRules::acquire(State &state, unsigned task, const Event &event,
                              int64_t cursor, Finding &finding) const {
  Operation *op = eventOps[event.number];
  const Channel &channel = channels[event.channel];
  int64_t *slot = &state[getSlot(event.channel, cursor)];
  int64_t &next = state[channel.first];
  bool isSame = slot[Cursor] == cursor;
  if (slot[Filler] == task + 1 && isSame)
    return Outcome::Done; // Nothing has changed since.
  std::string place = getPlace(event.channel, cursor);
  if (cursor != next)
    return fail(finding, op,
                getTaskName(task) + " acquires " + place +
                    ", but the next transaction is at " +
                    getPlace(event.channel, next) + ": slots take turns");
  if (slot[Loose]) {
    finding = {eventOps[slot[Loose] - 1],
               "reads slot " + std::to_string(cursor % channel.depth) +
                   " of a channel outside of a transaction, between no "
                   "tile.wait and tile.release of it, and the slot is filled "
                   "again",
               op, "here"};
    return Outcome::Wrong;
  }
  if (slot[Filler])
    return fail(finding, op,
                "waits for " + place + ", which " +
                    getTaskName(slot[Filler] - 1) +
                    " fills and does not commit",
                hasRoles() ? Outcome::Blocked : Outcome::Wrong);
  if (slot[Full])
    return hasRoles()
               ? fail(finding, op, "waits for " + place + " to be released",
                      Outcome::Blocked)
               : fail(finding, op,
                      place + " is acquired before what it holds was released");
  slot[Filler] = task + 1;
  slot[Cursor] = cursor;
  slot[Filled] = 0;
  slot[Age] = kLanded;
  slot[Unfenced] = 0;
  next = (next + 1) % (2 * channel.depth);
  state[getOrdered(task)] |= std::exchange(slot[Released], 0);
  return Outcome::Done;
}

Outcome ChannelRules::commit(State &state, unsigned task, const Event &event,
                             int64_t cursor, Finding &finding) const {
  int64_t *slot = &state[getSlot(event.channel, cursor)];
  Operation *op = eventOps[event.number];
  if (slot[Filler] != task + 1)
    return fail(finding, op,
                getTaskName(task) + " commits " +
                    getPlace(event.channel, cursor) +
                    ", which it has not acquired or has committed already");
  slot[Filler] = 0;
  // Without consumers it stays full.
  slot[Full] = std::max<int64_t>(channels[event.channel].consumers, 1);
  slot[Committed] = state[getOrdered(task)];
  return Outcome::Done;
}

Outcome ChannelRules::wait(State &state, unsigned task, const Event &event,
                           WaitOp op, int64_t cursor, Finding &finding) const {
  const Channel &channel = channels[event.channel];
  int64_t *slot = &state[getSlot(event.channel, cursor)];
  int64_t bit = int64_t(1) << task;
  bool isOpen = (slot[Open] & bit) && slot[Cursor] == cursor;
  if (!isOpen) {
    int64_t &next = state[getNextWait(event.channel, task)];
    std::string place = getPlace(event.channel, cursor);
    if (cursor != next)
      return fail(finding, op,
                  getTaskName(task) + " waits for " + place +
                      (channel.alternating
                           ? ", but the next transaction of all who take turns "
                             "is at "
                           : ", but its next transaction is at ") +
                      getPlace(event.channel, next) + ": slots take turns");
    if (!(slot[Full] & bit) || (slot[Open] & bit))
      return hasRoles()
                 ? fail(finding, op, "waits for " + place + " to be filled",
                        Outcome::Blocked)
                 : fail(finding, op,
                        place + " is waited for before it was committed");
    if (channel.alternating && !takeTurn(state, task, event.channel))
      return fail(finding, op,
                  getTaskName(task) + " waits for " + place +
                      " of an alternating channel, and nothing tells it that "
                      "the waits before, of other roles, have ended");
    slot[Open] |= bit;
    if (channel.alternating)
      slot[Full] = bit;
    next = (next + 1) % (2 * channel.depth);
    state[getOrdered(task)] |= slot[Committed];
  }
  if (!hasRoles())
    landAndMeet(state, op, channel);
  return Outcome::Done;
}

/// From now on only `task` knows of all waits for an alternating channel. False
/// if it does not know of those before.
bool ChannelRules::takeTurn(State &state, unsigned task,
                            unsigned channel) const {
  int64_t bit = int64_t(1) << channel;
  if (!(state[getOrdered(task)] & bit))
    return false;
  for (unsigned other = 0; other < tasks; ++other)
    state[getOrdered(other)] &= ~bit;
  forEachSlot([&](unsigned slot) {
    state[slot + Committed] &= ~bit;
    state[slot + Released] &= ~bit;
  });
  state[getOrdered(task)] |= bit;
  return true;
}

Outcome ChannelRules::release(State &state, unsigned task, const Event &event,
                              int64_t cursor, Finding &finding) const {
  int64_t *slot = &state[getSlot(event.channel, cursor)];
  int64_t bit = int64_t(1) << task;
  Operation *op = eventOps[event.number];
  std::string place = getPlace(event.channel, cursor);
  if (!(slot[Open] & bit))
    return fail(finding, op,
                getTaskName(task) + " releases " + place +
                    ", which it has not waited for or has released already");
  if (AsyncProducts::getReads(&state[getProducts(task)]) &
      getSlotBit(event.channel, cursor))
    return fail(finding, op,
                getTaskName(task) + " releases " + place +
                    " while an asynchronous product may still read it: a "
                    "tile.gemm_wait has to come before");
  slot[Open] &= ~bit;
  slot[Full] &= ~bit;
  slot[Released] |= state[getOrdered(task)];
  if (!slot[Full]) {
    slot[Cursor] = kNone;
    slot[Filled] = slot[Unfenced] = 0;
  }
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Groups and meetings, without roles
//===----------------------------------------------------------------------===//

void ChannelRules::closeGroup(State &state) const {
  forEachSlot([&](unsigned slot) {
    int64_t &age = state[slot + Age];
    if (age == kOpenGroup)
      age = 0;
    else if (age != kLanded)
      age = std::min<int64_t>(age + 1, kOpenGroup - 1);
  });
}

void ChannelRules::land(State &state, int64_t pending, bool openToo) const {
  forEachSlot([&](unsigned slot) {
    int64_t &age = state[slot + Age];
    if (age == kOpenGroup ? openToo : age >= pending)
      age = kLanded;
  });
}

/// What a wait does without roles, whatever its channel.
void ChannelRules::landAndMeet(State &state, WaitOp op,
                               const Channel &channel) const {
  if (std::optional<int64_t> pending = op.getPending())
    land(state, *pending, /*openToo=*/false);
  else if (ChannelOp(channel.op).getProducer() != ProducerKind::Simt)
    land(state, 0, /*openToo=*/true);
  meet(state, op.getProxyFence());
}

void ChannelRules::meet(State &state, bool fence) const {
  forEachSlot([&](unsigned slot) {
    state[slot + Dirty] = 0;
    if (fence && state[slot + Age] == kLanded)
      state[slot + Unfenced] = 0;
  });
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool ChannelRules::finish(const State &state, Finding &finding) const {
  for (auto [i, channel] : llvm::enumerate(channels))
    for (int64_t s = 0; s < channel.depth; ++s) {
      const int64_t *slot = &state[getSlot(i, s)];
      std::string number = std::to_string(s);
      if (slot[Filler]) {
        finding = {ChannelOp(channel.op),
                   "slot " + number + " is acquired and never committed"};
        return false;
      }
      if (!slot[Full])
        continue;
      bool isOpen = slot[Full] & slot[Open];
      Operation *op = ChannelOp(channel.op);
      if (isOpen)
        op = channel.release ? channel.release : channel.wait;
      finding = {op,
                 "slot " + number +
                     (isOpen ? " is waited for and never released"
                             : " is filled and never waited for: producer and "
                               "consumer make different numbers of "
                               "transactions")};
      if (channel.commit && !isOpen) {
        finding.other = channel.commit;
        finding.otherText = "filled here";
      }
      return false;
    }
  for (unsigned task = 0; task < tasks; ++task)
    if (state[getProducts(task)] > 0) {
      finding = {kernel, getTaskName(task) +
                             " ends while an asynchronous product may still "
                             "run: no tile.gemm_wait comes after it"};
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Symmetry
//===----------------------------------------------------------------------===//

int64_t ChannelRules::rotateInput(int64_t input, unsigned link,
                                  int64_t base) const {
  int64_t period = 2 * channels[link].depth;
  return (input - base + period) % period;
}

void ChannelRules::rotate(State &state, unsigned link, int64_t base) const {
  const Channel &channel = channels[link];
  auto move = [&](int64_t &cursor) {
    cursor = rotateInput(cursor, link, base);
  };
  move(state[channel.first]);
  for (unsigned task = 0; task < tasks; ++task)
    if (channel.consumers >> task & 1) {
      move(state[getNextWait(link, task)]);
      if (channel.alternating)
        break;
    }
  auto slots = state.begin() + channel.first + 1 + tasks;
  int64_t first = base % channel.depth;
  std::rotate(slots, slots + first * NumSlotWords,
              slots + channel.depth * NumSlotWords);
  for (int64_t slot = 0; slot < channel.depth; ++slot)
    if (int64_t &cursor = slots[slot * NumSlotWords + Cursor]; cursor != kNone)
      move(cursor);
  // What products read.
  int64_t all = getSlotBit(link, channel.depth - 1) * 2 - getSlotBit(link, 0);
  for (unsigned task = 0; task < tasks; ++task)
    for (unsigned i = 0; i < AsyncProducts::kMax; ++i) {
      int64_t &read = state[getProducts(task) + 1 + 2 * i];
      int64_t own = (read & all) / getSlotBit(link, 0);
      own = (own >> first) | (own << (channel.depth - first));
      own &= all / getSlotBit(link, 0);
      read = (read & ~all) | own * getSlotBit(link, 0);
    }
}

std::string ChannelRules::describe(Operation *op,
                                   ArrayRef<int64_t> inputs) const {
  const Event &event = events.at(op);
  std::string text = op->getName().getStringRef().str();
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op))
    return text + " " + getPlace(event.channel, inputs[0]);
  for (auto [access, cursor] : llvm::zip(event.accesses, inputs))
    text += (access.writes ? " writes " : " reads ") +
            getPlace(access.channel, cursor);
  return text;
}
