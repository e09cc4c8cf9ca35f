//===- ChannelSelection.cpp - The events that a proof looks at ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit's events are the steps of its channel and the accesses to the
// channel's buffers. An operation may also access buffers of other channels:
// these accesses are removed from its event. Groups, barriers of all threads
// and asynchronous matmuls belong to every unit. So do waits for other channels
// if there are no roles: all threads execute them, so copies land and the
// threads synchronize. A lean selection drops common events under branches that
// contain no event of the unit: the proof need not fork there.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelSelection.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void ChannelSelection::selectAll() {
  events = model.events;
  depth = 1;
  for (const ChannelModel::Channel &channel : model.channels)
    depth = std::max(depth, channel.depth);
}

void ChannelSelection::select(unsigned unit, bool isLean) {
  selectAll();
  if (isLean)
    depth = model.channels[unit].depth;
  events.clear();
  Branches branches;
  addOfUnit(unit, branches);
  addCommon(isLean ? &branches : nullptr);
}

/// Adds the events of a unit, and the branches around them to `branches`.
void ChannelSelection::addOfUnit(unsigned unit, Branches &branches) {
  // Where clocks order consumers, so do channels without buffers.
  bool hasClocks = model.channels[unit].alternating ||
                   llvm::any_of(model.regions, [&](const auto &region) {
                     return region.channel == unit;
                   });
  auto isOfUnit = [&](unsigned channel) {
    return channel == unit ||
           (hasClocks && !model.channels[channel].hasBuffers());
  };
  for (const auto &[op, event] : model.events) {
    ChannelEvent own = event;
    llvm::erase_if(own.accesses,
                   [&](const SlotAccess &a) { return a.channel != unit; });
    if (ChannelModel::isStep(op) ? isOfUnit(event.channel)
                                 : !own.accesses.empty()) {
      branches.add(op);
      events[op] = std::move(own);
    }
  }
}

/// Adds the events that belong to every unit: all, or those under no other
/// branches than `branches`.
void ChannelSelection::addCommon(const Branches *branches) {
  for (const auto &[op, event] : model.events) {
    bool isCommon = event.isCommon || (isa<WaitOp>(op) && !model.hasRoles());
    if (!isCommon || events.contains(op) ||
        (branches && !branches->haveAllOf(op)))
      continue;
    events[op] = event;
    events[op].accesses.clear();
    events[op].isForeign = ChannelModel::isStep(op);
  }
}

SmallVector<Value> ChannelSelection::getInputs(Operation *op) const {
  const ChannelEvent &event = events.at(op);
  if (event.isForeign)
    return {};
  if (ChannelModel::isStep(op))
    return {op->getOperand(1)};
  return llvm::map_to_vector(event.accesses,
                             [](const SlotAccess &a) { return a.cursor; });
}

SmallVector<unsigned> ChannelSelection::getInputLinks(Operation *op) const {
  const ChannelEvent &event = events.at(op);
  if (event.accesses.empty())
    return {event.channel};
  return llvm::map_to_vector(event.accesses,
                             [](const SlotAccess &a) { return a.channel; });
}
