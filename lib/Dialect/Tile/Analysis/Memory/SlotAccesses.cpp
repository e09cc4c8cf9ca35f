//===- SlotAccesses.cpp - Accesses to the slots of channels ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel hands on buffers; `tile.slot` makes a slot of one of them, and
// views make other values of a slot. From a value the chain is followed
// backward: views to the slot, the slot to the buffer, the buffer to the
// channel that lists it. From a channel it is followed forward, which finds all
// uses of its slots. A slot that control flow passes on is found by neither:
// `MemoryAccess::roots` has the allocations that such a value may be.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ChannelOp tile::getChannelOf(Value buffer) {
  for (Operation *user : buffer.getUsers())
    if (auto channel = dyn_cast<ChannelOp>(user))
      return channel;
  return {};
}

SlotOp tile::getViewedSlot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto slot = dyn_cast<SlotOp>(view.getOperation()))
      return slot;
    buffer = view.getViewSource();
  }
  return {};
}

ChannelOp tile::getSlotChannel(Value buffer) {
  SlotOp slot = getViewedSlot(buffer);
  return slot ? getChannelOf(slot.getSource()) : ChannelOp();
}

ChannelOp tile::getCompletedChannel(CopyOp op) {
  return op->getParentOfType<RoleOp>() ? getSlotChannel(op.getDest())
                                       : ChannelOp();
}

SmallVector<SlotUse> tile::getSlotUses(ChannelOp channel) {
  SmallVector<SlotUse> uses;
  for (Value buffer : channel.getBuffers()) {
    SmallVector<Value> slots;
    for (Operation *user : buffer.getUsers())
      if (auto slot = dyn_cast<SlotOp>(user))
        slots.push_back(slot.getResult());
    for (size_t i = 0; i < slots.size(); ++i)
      for (OpOperand &use : slots[i].getUses()) {
        if (auto view = dyn_cast<ViewLikeOpInterface>(use.getOwner()))
          slots.push_back(view.getViewDest());
        else
          uses.push_back({buffer, &use});
      }
  }
  return uses;
}
