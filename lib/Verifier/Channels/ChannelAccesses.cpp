//===- ChannelAccesses.cpp - What may access the slots of channels --------===//
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

Outcome ChannelRules::access(State &state, unsigned task, Operation *op,
                             const Event &event, ArrayRef<int64_t> cursors,
                             Finding &finding) const {
  State before = state;
  for (auto [access, cursor] : llvm::zip(event.accesses, cursors))
    if (accessSlot(state, task, event, access, cursor, finding) !=
        Outcome::Done) {
      state = std::move(before);
      return Outcome::Wrong;
    }
  auto gemm = dyn_cast<GemmOp>(op);
  if (gemm && gemm.getAsync())
    startProduct(state, task, event, cursors);
  return Outcome::Done;
}

void ChannelRules::startProduct(State &state, unsigned task, const Event &event,
                                ArrayRef<int64_t> cursors) const {
  int64_t reads = 0;
  for (auto [access, cursor] : llvm::zip(event.accesses, cursors))
    if (access.reads)
      reads |= getSlotBit(access.channel, cursor);
  AsyncProducts(&state[getProducts(task)]).start(reads, event.number);
}

Outcome ChannelRules::accessSlot(State &state, unsigned task,
                                 const Event &event, const Access &access,
                                 int64_t cursor, Finding &finding) const {
  int64_t *slot = &state[getSlot(access.channel, cursor)];
  Operation *op = eventOps[event.number];
  int64_t number = cursor % channels[access.channel].depth;
  std::string who = getTaskName(task);
  if (slot[Filler] == task + 1 && access.writes) {
    if (isPlanned && !hasRoles() && slot[Dirty])
      return fail(finding, op,
                  "fills slot " + Twine(number) +
                      " while other threads may still read it: a tile.barrier "
                      "has to come before");
    slot[Filled] |= int64_t(1) << access.buffer;
    if (access.isCopy && !hasRoles())
      slot[Age] = kOpenGroup;
    slot[Unfenced] |= !access.byProxy;
    return Outcome::Done;
  }
  if (!(slot[Open] & (int64_t(1) << task)))
    return accessLoosely(state, task, event, access, cursor, finding);
  if (access.reads) {
    if (!(slot[Filled] & (int64_t(1) << access.buffer)))
      return fail(finding, op,
                  who + " reads slot " + Twine(number) +
                      " of a buffer that the transaction has not filled");
    if (slot[Age] != kLanded)
      return fail(finding, op,
                  "reads slot " + Twine(number) +
                      " while copies to it may still be under way: the "
                      "tile.wait before permits too many pending groups");
    if (isPlanned && !hasRoles() && access.byProxy && slot[Unfenced])
      return fail(finding, op,
                  "reads slot " + Twine(number) +
                      " by the asynchronous proxy, which may not see what "
                      "threads wrote: the tile.wait needs a proxy_fence");
    slot[Dirty] = !hasRoles();
  }
  if (access.writes)
    slot[Unfenced] |= !access.byProxy;
  return Outcome::Done;
}

/// Outside of a transaction nothing may be written, and only a slot may be read
/// that nobody fills from then on.
Outcome ChannelRules::accessLoosely(State &state, unsigned task,
                                    const Event &event, const Access &access,
                                    int64_t cursor, Finding &finding) const {
  int64_t *slot = &state[getSlot(access.channel, cursor)];
  Operation *op = eventOps[event.number];
  std::string number = std::to_string(cursor % channels[access.channel].depth);
  std::string who = getTaskName(task);
  if (access.writes)
    return fail(finding, op,
                who + " writes to slot " + number +
                    " of a channel outside of a transaction: it has neither "
                    "acquired the slot nor waited for it");
  bool isConsumer = channels[access.channel].consumers >> task & 1;
  int64_t full = isConsumer ? slot[Full] & (int64_t(1) << task) : slot[Full];
  if (slot[Filler] || full)
    return fail(finding, op,
                who + " reads slot " + number +
                    (slot[Filler] ? " of a channel while it is filled"
                                  : " of a channel without a tile.wait for its "
                                    "fill"));
  if (slot[Filled] && slot[Age] != kLanded)
    return fail(finding, op,
                "reads slot " + number +
                    " while copies to it may still be under way");
  // What it waited for last; before the first turn the buffer holds nothing.
  int64_t depth = channels[access.channel].depth;
  int64_t next = state[getNextWait(access.channel, task)];
  if (isConsumer && cursor % depth != (next + depth - 1) % depth && next != 0)
    return fail(finding, op,
                who + " reads slot " + number +
                    " of a channel outside of a transaction, but the last one "
                    "was at slot " +
                    Twine((next + depth - 1) % depth));
  if (!slot[Loose])
    slot[Loose] = event.number + 1;
  return Outcome::Done;
}
