//===- ChannelModel.cpp - The channels of a kernel ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates and prints the model that BuildChannelModel.cpp makes. A printed
// model lists tasks, channels and events in their numbers, which are the ones
// that a printed state uses.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelModel.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void ChannelModel::forEachSlot(
    llvm::function_ref<void(ChannelCursor)> fn) const {
  for (auto [i, channel] : llvm::enumerate(channels))
    for (int64_t slot = 0; slot < channel.depth; ++slot)
      fn({unsigned(i), slot});
}

uint64_t ChannelModel::rotateSlots(uint64_t slots, unsigned channel,
                                   int64_t first) const {
  const Channel &c = channels[channel];
  uint64_t all = getSlotBits(channel);
  uint64_t own = (slots & all) >> c.firstSlot;
  own = own >> first | own << (c.depth - first);
  return (slots & ~all) | (own << c.firstSlot & all);
}

std::string ChannelModel::describe(ChannelCursor cursor) const {
  int64_t depth = getChannel(cursor).depth;
  return ("slot " + Twine(cursor.value % depth) + " in phase " +
          Twine(cursor.value / depth))
      .str();
}

void ChannelModel::print(raw_ostream &os) const {
  for (auto [task, name] : llvm::enumerate(taskNames))
    os << "task " << task << ": " << name << "\n";
  for (auto [i, channel] : llvm::enumerate(channels)) {
    os << "channel " << i << ": " << channel.depth << " slots from "
       << channel.firstSlot << ", " << ChannelOp(channel.op).getBuffers().size()
       << " buffers, " << (channel.alternating ? "alternating " : "")
       << "consumers ";
    VectorClockRef::printPlaces(os, channel.consumers);
    os << "\n";
  }
  for (auto [number, op] : llvm::enumerate(eventOps)) {
    const ChannelEvent &event = events.at(op);
    os << "event " << number << ": " << op->getName() << " by task "
       << getTask(op);
    if (isStep(op))
      os << " on channel " << event.channel;
    for (const SlotAccess &access : event.accesses)
      os << (access.reads ? " reads" : "") << (access.writes ? " writes" : "")
         << " buffer " << access.buffer << " of channel " << access.channel;
    os << "\n";
  }
}
