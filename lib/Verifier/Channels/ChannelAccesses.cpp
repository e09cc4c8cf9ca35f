//===- ChannelAccesses.cpp - Accesses to the slots of channels ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access is one of three, by the transaction of its slot:
//
//     the task fills the slot     a write, by the producer
//     the slot is open for it     a read or write, by a consumer
//     neither                     a loose read, outside of a transaction
//
// A kernel may read a slot once more after its loop, when the last transaction
// was released and no producer fills the slot again. The first such read is
// kept with the slot; the next acquire of the slot is then a fault.
//
// Several consumers hold a slot at the same time. If one of them writes to it,
// happens-before has to order their accesses (ContestedRegions.cpp).
//
// Without roles all threads of the block execute both sides. Once barriers have
// been placed, they must separate the reads of a slot from the writes that fill
// it again, and fence writes of threads from reads by the asynchronous proxy.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelAccesses.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Outcome ChannelAccesses::access(State &state, unsigned task,
                                const ChannelEvent &event,
                                ArrayRef<int64_t> cursors,
                                Finding &finding) const {
  State before = state;
  Operation *op = model.eventOps[event.number];
  for (auto [access, cursor] : llvm::zip(event.accesses, cursors))
    if (accessSlot(state, task, op, access, {access.channel, cursor},
                   finding) != Outcome::Done ||
        contest(state, task, op, access, {access.channel, cursor}, finding) !=
            Outcome::Done) {
      state = std::move(before);
      return Outcome::Wrong;
    }
  startReads(state, task, event, cursors);
  return Outcome::Done;
}

/// An asynchronous matmul, or a TMA copy to global memory, reads on.
void ChannelAccesses::startReads(State &state, unsigned task,
                                 const ChannelEvent &event,
                                 ArrayRef<int64_t> cursors) const {
  uint64_t reads = 0, copied = 0;
  for (auto [access, cursor] : llvm::zip(event.accesses, cursors))
    if (access.reads && !access.isMetadata) {
      uint64_t slot = model.getSlotBit({access.channel, cursor});
      (access.isCopy ? copied : reads) |= slot;
    }
  auto gemm = dyn_cast<MatmulOpInterface>(model.eventOps[event.number]);
  if (gemm && gemm.getAsync())
    parts.getMatmuls(state, task).start(reads, event.number);
  parts.addStoreReads(state, task, copied);
}

Outcome ChannelAccesses::accessSlot(State &state, unsigned task, Operation *op,
                                    const SlotAccess &access,
                                    ChannelCursor cursor,
                                    Finding &finding) const {
  if (access.writes && (parts.getAsyncReads(state) & model.getSlotBit(cursor)))
    return fail(finding, op,
                model.taskNames[task] + " writes to slot " +
                    std::to_string(model.getSlot(cursor)) +
                    " of a channel while an asynchronous matmul or copy may "
                    "still read it");
  if (parts.transactions.getFiller(state, cursor) == task && access.writes)
    return fill(state, op, access, cursor, finding);
  if (!parts.transactions.isOpenFor(state, cursor, task))
    return accessLoosely(state, task, op, access, cursor, finding);
  if (access.reads) {
    Outcome outcome = checkRead(state, task, op, access, cursor, finding);
    if (outcome != Outcome::Done)
      return outcome;
    parts.contents.read(state, cursor);
  }
  return access.writes ? overwrite(state, task, op, access, cursor, finding)
                       : Outcome::Done;
}

/// A write by a consumer. Waits follow the copies of producers only. A barrier
/// may drain copies by cp.async, but nothing waits for those by TMA.
Outcome ChannelAccesses::overwrite(State &state, unsigned task, Operation *op,
                                   const SlotAccess &access,
                                   ChannelCursor cursor,
                                   Finding &finding) const {
  if (access.isCopy && model.hasRoles()) {
    fail(finding, op,
         model.taskNames[task] + " copies asynchronously to slot " +
             Twine(model.getSlot(cursor)) +
             " of a channel that it does not fill: " +
             (access.byProxy ? "no tile.wait waits for the copy"
                             : "the end of the copy is not checked"));
    finding.isSuspicion = !access.byProxy;
    return Outcome::Wrong;
  }
  parts.contents.overwrite(state, access, cursor);
  return Outcome::Done;
}

Outcome ChannelAccesses::fill(State &state, Operation *op,
                              const SlotAccess &access, ChannelCursor cursor,
                              Finding &finding) const {
  if (model.isPlanned && !model.hasRoles() &&
      parts.contents.isUnsynchronized(state, cursor))
    return fail(finding, op,
                "slot " + Twine(model.getSlot(cursor)) +
                    " is filled while other threads may still read it: a "
                    "tile.barrier must come before");
  if (parts.contents.overlapsCopy(state, access, cursor)) {
    fail(finding, op,
         "slot " + Twine(model.getSlot(cursor)) +
             " is written twice in one transaction: nothing orders an "
             "asynchronous copy and another write of the same bytes");
    finding.mayBeApart =
        !parts.contents.overlapsCopy(state, access, cursor, /*isCertain=*/true);
    return Outcome::Wrong;
  }
  parts.contents.fill(state, access, cursor);
  return Outcome::Done;
}

Outcome ChannelAccesses::checkRead(const State &state, unsigned task,
                                   Operation *op, const SlotAccess &access,
                                   ChannelCursor cursor,
                                   Finding &finding) const {
  std::string number = std::to_string(model.getSlot(cursor));
  if (!parts.contents.isFilled(state, access, cursor))
    return fail(finding, op,
                model.taskNames[task] + " reads slot " + number +
                    " of a buffer that the transaction has not filled");
  if (!parts.contents.hasLanded(state, cursor))
    return fail(finding, op,
                "slot " + number +
                    " is read while copies to it may still be under way: the "
                    "tile.wait before permits too many pending groups");
  if (model.isPlanned && !model.hasRoles() && access.byProxy &&
      parts.contents.isUnfenced(state, cursor))
    return fail(
        finding, op,
        "slot " + number +
            " is read by the asynchronous proxy, which may not see what "
            "threads wrote: the tile.wait needs a proxy_fence");
  return Outcome::Done;
}

/// An access to regions that other roles access in the same transaction.
Outcome ChannelAccesses::contest(State &state, unsigned task, Operation *op,
                                 const SlotAccess &access, ChannelCursor cursor,
                                 Finding &finding) const {
  bool isCertain = false, isOrdered = true;
  for (unsigned region : access.regions)
    if (!parts.clocks.isAccessOrdered(state, task, access, region, cursor)) {
      isOrdered = false;
      isCertain |= model.regions[region].isCertain;
    }
  if (!isOrdered) {
    finding = {op, (model.taskNames[task] +
                    (access.writes ? " writes to slot " : " reads slot ") +
                    Twine(model.getSlot(cursor)) + " of a channel, which " +
                    (isCertain ? "" : "perhaps ") + "another role " +
                    (access.writes ? "accesses" : "writes to") +
                    " in the same transaction: nothing orders the two")
                       .str()};
    finding.isSuspicion = !isCertain;
    return Outcome::Wrong;
  }
  for (unsigned region : access.regions)
    parts.clocks.addAccess(state, task, access, region, cursor);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Outside of transactions
//===----------------------------------------------------------------------===//

Outcome ChannelAccesses::accessLoosely(State &state, unsigned task,
                                       Operation *op, const SlotAccess &access,
                                       ChannelCursor cursor,
                                       Finding &finding) const {
  if (access.writes)
    return fail(finding, op,
                model.taskNames[task] + " writes to slot " +
                    std::to_string(model.getSlot(cursor)) +
                    " of a channel outside of a transaction: it has neither "
                    "acquired the slot nor waited for it");
  LDBG() << "task " << task << " reads slot " << model.getSlot(cursor)
         << " of channel " << cursor.channel << " outside of a transaction";
  Outcome outcome = checkLooseRead(state, task, op, cursor, finding);
  if (outcome == Outcome::Done)
    parts.contents.readLoosely(state, cursor, model.events.at(op).number);
  return outcome;
}

Outcome ChannelAccesses::checkLooseRead(const State &state, unsigned task,
                                        Operation *op, ChannelCursor cursor,
                                        Finding &finding) const {
  const ChannelModel::Channel &channel = model.getChannel(cursor);
  const TransactionState &transactions = parts.transactions;
  std::string number = std::to_string(model.getSlot(cursor));
  const std::string &who = model.taskNames[task];
  bool isConsumer = channel.isConsumedBy(task);
  if (transactions.getFiller(state, cursor))
    return fail(finding, op,
                who + " reads slot " + number +
                    " of a channel while it is filled");
  if (isConsumer ? transactions.isFullFor(state, cursor, task)
                 : transactions.getFull(state, cursor) != 0)
    return fail(finding, op,
                who + " reads slot " + number +
                    " of a channel without a tile.wait for its fill");
  if (parts.contents.isAnyFilled(state, cursor) &&
      !parts.contents.hasLanded(state, cursor))
    return fail(finding, op,
                "slot " + number +
                    " is read while copies to it may still be under way");
  // A consumer may read the slot of its last transaction. Before its first
  // transaction the buffer holds nothing, as in the kernel without a pipeline.
  int64_t next = transactions.getNextWait(state, cursor.channel, task);
  int64_t last = channel.getPreviousSlot(next);
  if (isConsumer && model.getSlot(cursor) != last && next != 0)
    return fail(finding, op,
                who + " reads slot " + number +
                    " of a channel outside of a transaction, but the last one "
                    "was at slot " +
                    Twine(last));
  return Outcome::Done;
}
