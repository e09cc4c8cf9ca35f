//===- ChannelSteps.cpp - Steps of transactions ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both sides of a channel go through its slots in order, so each step names the
// cursor that must be next on its side. A transaction may be acquired, or
// waited for, once more while it is open; that changes nothing. A pipelined
// loop does so where a guard of the next iteration repeats a step.
//
// Happens-before knowledge follows the steps (ChannelClocks.cpp). Waits for
// alternating channels ask for it, and accesses to slots that several roles
// hold. All other accesses are checked against the transactions themselves
// (ChannelAccesses.cpp).
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelSteps.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

static constexpr llvm::StringLiteral
    kInOrder(": transactions go through the slots in order");

//===----------------------------------------------------------------------===//
// The producer's side
//===----------------------------------------------------------------------===//

Outcome ChannelSteps::acquire(State &state, unsigned task, AcquireOp op,
                              ChannelCursor cursor, Finding &finding) const {
  if (parts.transactions.getFiller(state, cursor) == task &&
      parts.transactions.isAt(state, cursor))
    return Outcome::Done;
  Outcome outcome = checkAcquire(state, task, op, cursor, finding);
  if (outcome != Outcome::Done)
    return outcome;
  parts.transactions.acquire(state, task, cursor);
  parts.contents.begin(state, cursor);
  parts.clocks.acquire(state, task, cursor);
  return Outcome::Done;
}

Outcome ChannelSteps::checkAcquire(const State &state, unsigned task,
                                   AcquireOp op, ChannelCursor cursor,
                                   Finding &finding) const {
  const TransactionState &transactions = parts.transactions;
  std::string place = model.describe(cursor);
  int64_t next = transactions.getNextAcquire(state, cursor.channel);
  if (cursor.value != next)
    return fail(finding, op,
                model.taskNames[task] + " acquires " + place +
                    ", but the next transaction is at " +
                    model.describe({cursor.channel, next}) + kInOrder);
  if (std::optional<unsigned> read =
          parts.contents.getLooseRead(state, cursor)) {
    finding = {model.eventOps[*read],
               "slot " + std::to_string(model.getSlot(cursor)) +
                   " of a channel is read outside of a transaction (not "
                   "between a tile.wait and its tile.release), and the slot is "
                   "filled again",
               op, "here"};
    return Outcome::Wrong;
  }
  if (std::optional<unsigned> filler = transactions.getFiller(state, cursor)) {
    std::string text = place + ", which " + model.taskNames[*filler] +
                       " fills and does not commit";
    return model.hasRoles()
               ? fail(finding, op, text, Outcome::Blocked)
               : fail(finding, op,
                      model.taskNames[task] + " waits for " + text);
  }
  if (!transactions.getFull(state, cursor))
    return Outcome::Done;
  return model.hasRoles()
             ? fail(finding, op, place + " to be released", Outcome::Blocked)
             : fail(finding, op,
                    place + " is acquired before its contents were released");
}

Outcome ChannelSteps::commit(State &state, unsigned task, CommitOp op,
                             ChannelCursor cursor, Finding &finding) const {
  if (parts.transactions.getFiller(state, cursor) != task)
    return fail(finding, op,
                model.taskNames[task] + " commits " + model.describe(cursor) +
                    ", which it has not acquired or has committed already");
  parts.transactions.commit(state, cursor);
  parts.contents.endFill(state, cursor);
  parts.clocks.commit(state, task, cursor, parts.getAsyncReads(state, task));
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// The consumer's side
//===----------------------------------------------------------------------===//

Outcome ChannelSteps::wait(State &state, unsigned task, WaitOp op,
                           ChannelCursor cursor, Finding &finding) const {
  const ChannelModel::Channel &channel = model.getChannel(cursor);
  bool isOpen = parts.transactions.isOpenFor(state, cursor, task) &&
                parts.transactions.isAt(state, cursor);
  LDBG() << "task " << task << (isOpen ? " waits again" : " waits") << " at "
         << model.describe(cursor) << " of channel " << cursor.channel;
  if (!isOpen) {
    Outcome outcome = checkWait(state, task, op, cursor, finding);
    if (outcome != Outcome::Done)
      return outcome;
    if (channel.alternating)
      parts.clocks.addWait(state, task, cursor.channel);
    parts.transactions.wait(state, task, cursor);
    parts.clocks.wait(state, task, cursor);
  }
  if (!model.hasRoles())
    parts.landAndSynchronize(state, op, channel);
  return Outcome::Done;
}

Outcome ChannelSteps::checkWait(const State &state, unsigned task, WaitOp op,
                                ChannelCursor cursor, Finding &finding) const {
  const TransactionState &transactions = parts.transactions;
  bool isAlternating = model.getChannel(cursor).alternating;
  std::string place = model.describe(cursor);
  int64_t next = transactions.getNextWait(state, cursor.channel, task);
  if (cursor.value != next)
    return fail(finding, op,
                model.taskNames[task] + " waits for " + place +
                    (isAlternating
                         ? ", but the next transaction of the alternating "
                           "consumers is at "
                         : ", but its next transaction is at ") +
                    model.describe({cursor.channel, next}) + kInOrder);
  if (!transactions.isFullFor(state, cursor, task) ||
      transactions.isOpenFor(state, cursor, task))
    return model.hasRoles()
               ? fail(finding, op, place + " to be filled", Outcome::Blocked)
               : fail(finding, op,
                      place + " is waited for before it was committed");
  if (isAlternating &&
      !parts.clocks.areWaitsOrdered(state, task, cursor.channel))
    return fail(finding, op,
                model.taskNames[task] + " waits for " + place +
                    " of an alternating channel, but is not ordered after the "
                    "earlier waits of other roles");
  return Outcome::Done;
}

Outcome ChannelSteps::release(State &state, unsigned task, ReleaseOp op,
                              ChannelCursor cursor, Finding &finding) const {
  Outcome outcome = checkRelease(state, task, op, cursor, finding);
  if (outcome != Outcome::Done)
    return outcome;
  parts.clocks.release(state, task, cursor, parts.getAsyncReads(state, task));
  if (parts.transactions.release(state, task, cursor)) {
    LDBG() << "slot " << model.getSlot(cursor) << " of channel "
           << cursor.channel << " is empty";
    parts.contents.clear(state, cursor);
  }
  return Outcome::Done;
}

Outcome ChannelSteps::checkRelease(const State &state, unsigned task,
                                   ReleaseOp op, ChannelCursor cursor,
                                   Finding &finding) const {
  std::string place = model.describe(cursor);
  if (!parts.transactions.isOpenFor(state, cursor, task))
    return fail(finding, op,
                model.taskNames[task] + " releases " + place +
                    ", which it has not waited for or has released already");
  if (parts.getMatmulReads(state, task) & model.getSlotBit(cursor))
    return fail(finding, op,
                model.taskNames[task] + " releases " + place +
                    " while an asynchronous matmul may still read it: a "
                    "tile.gemm_wait must come before");
  if (parts.getStoreReads(state, task) & model.getSlotBit(cursor))
    return fail(finding, op,
                model.taskNames[task] + " releases " + place +
                    " while a TMA copy may still read it: a tile.barrier with "
                    "drain_copies must come before");
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool ChannelSteps::finish(const State &state, ChannelCursor slot,
                          Finding &finding) const {
  const ChannelModel::Channel &channel = model.getChannel(slot);
  std::string number = std::to_string(slot.value);
  Operation *op = ChannelOp(channel.op);
  if (parts.transactions.getFiller(state, slot)) {
    finding = {op, "slot " + number + " is acquired and never committed"};
    return false;
  }
  if (!parts.transactions.getFull(state, slot))
    return true;
  if (parts.transactions.isOpen(state, slot)) {
    finding = {channel.release ? channel.release : channel.wait,
               "slot " + number + " is waited for and never released"};
    return false;
  }
  finding = {op, "slot " + number +
                     " is filled and never waited for: producer and consumer "
                     "make different numbers of transactions"};
  if (channel.commit) {
    finding.other = channel.commit;
    finding.otherText = "filled here";
  }
  return false;
}
