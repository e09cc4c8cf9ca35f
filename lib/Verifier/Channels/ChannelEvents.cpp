//===- ChannelEvents.cpp - The events of channels -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelRules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ChannelRules::ChannelRules(gpu::GPUFuncOp kernel) : kernel(kernel) {
  taskNames.push_back("the kernel");
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto role = dyn_cast<RoleOp>(op))
      taskNames.push_back(("role @" + role.getName()).str());
    if (auto alloc = dyn_cast<AllocSharedOp>(op))
      isPlanned |= alloc->hasAttr(TileDialect::kOffset);
  });
  tasks = taskNames.size();
  addChannels();
  if (obstacle || channels.empty())
    return;
  addEvents();
  followProducts();
  selectAll();
  numWords += tasks * kTaskWords;
}

void ChannelRules::addChannels() {
  int64_t slots = 0;
  kernel.walk([&](ChannelOp op) {
    Channel channel{op, op.getChannel().getType().getDepth(), numWords};
    channel.alternating = op.getAlternating();
    slots += channel.depth;
    numWords += 1 + tasks + channel.depth * NumSlotWords;
    llvm::SmallSetVector<unsigned, 2> producers;
    for (Operation *user : op.getChannel().getUsers()) {
      if (isa<AcquireOp, CommitOp>(user))
        producers.insert(getTask(user));
      else if (isa<WaitOp, ReleaseOp>(user))
        channel.consumers |= int64_t(1) << getTask(user);
      if (isa<CommitOp>(user))
        channel.commit = user;
      if (isa<WaitOp>(user))
        channel.wait = user;
      if (isa<ReleaseOp>(user))
        channel.release = user;
    }
    if (producers.size() > 1)
      errors.push_back({op, "a channel has one producer, but " +
                                getTaskName(producers[0]) + " and " +
                                getTaskName(producers[1]) + " both fill it"});
    for (Value buffer : op.getBuffers())
      if (!numbers.try_emplace(buffer, channels.size()).second)
        errors.push_back({op, "hands on a buffer of another channel"});
    numbers[op.getChannel()] = channels.size();
    channels.push_back(channel);
  });
  if (slots > 63 || tasks > 32)
    obstacle = Finding{kernel, "its channels have more than 63 slots, or it "
                               "has more than 31 roles"};
}

void ChannelRules::addEvents() {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned number = eventOps.size();
    auto gemm = dyn_cast<GemmOp>(op);
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op)) {
      auto it = numbers.find(op->getOperand(0));
      if (it == numbers.end()) {
        obstacle = Finding{op, "its channel is passed on as a value"};
        return;
      }
      allEvents[op] = {number, it->second};
    } else if (isa<CommitGroupOp, BarrierOp, gpu::BarrierOp, GemmWaitOp>(op) ||
               (gemm && gemm.getAsync()) || meetsInScratch(op)) {
      allEvents[op] = {number};
      allEvents[op].isCommon = true;
    }
    addAccesses(op);
    if (allEvents.contains(op))
      eventOps.push_back(op);
  });
}

void ChannelRules::addAccesses(Operation *op) {
  for (const SharedAccess &shared : getSharedAccesses(op)) {
    // Through views to the slot.
    Value buffer = shared.operand->get();
    SlotOp slot;
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
      buffer = view.getViewSource();
      if (auto found = dyn_cast<SlotOp>(view.getOperation()))
        slot = found;
    }
    auto it = numbers.find(buffer);
    if (it == numbers.end()) {
      if (!buffer.getDefiningOp<AllocSharedOp>())
        obstacle = Finding{op, "the shared buffer that it accesses is selected "
                               "or carried by control flow"};
      continue;
    }
    if (!slot) {
      obstacle =
          Finding{op, "it accesses a channel's buffer without tile.slot"};
      continue;
    }
    Channel &channel = channels[it->second];
    unsigned number = llvm::find(ChannelOp(channel.op).getBuffers(), buffer) -
                      ChannelOp(channel.op).getBuffers().begin();
    bool isTma = hasInst(op, InstKind::Tma);
    auto &event = allEvents.try_emplace(op, Event{unsigned(eventOps.size())})
                      .first->second;
    event.accesses.push_back({it->second, number, slot.getCursor(),
                              shared.reads(), shared.writes(),
                              isTma || hasInst(op, InstKind::CpAsync),
                              isTma || hasInst(op, InstKind::Wgmma)});
  }
}

void ChannelRules::followProducts() {
  for (auto &[wait, products] : findAwaitedProducts(kernel))
    for (Operation *product : products)
      allEvents[wait].products.push_back(allEvents[product].number);
}

void ChannelRules::selectAll() {
  events = allEvents;
  depth = 1;
  for (const Channel &channel : channels)
    depth = std::max(depth, channel.depth);
}

void ChannelRules::select(unsigned unit, bool isLean) {
  selectAll();
  if (isLean)
    depth = channels[unit].depth;
  events.clear();
  Branches branches;
  auto isStep = [](Operation *op) {
    return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
  };
  // Channels without buffers order those who take turns.
  auto isOfUnit = [&](unsigned channel) {
    return channel == unit ||
           (channels[unit].alternating &&
            ChannelOp(channels[channel].op).getBuffers().empty());
  };
  for (const auto &[op, event] : allEvents) {
    Event own = event;
    llvm::erase_if(own.accesses,
                   [&](const Access &a) { return a.channel != unit; });
    if (isStep(op) ? isOfUnit(event.channel) : !own.accesses.empty()) {
      branches.add(op);
      events[op] = std::move(own);
    }
  }
  for (const auto &[op, event] : allEvents) {
    // Without roles a wait is more than a step of its channel.
    bool isCommon = event.isCommon || (isa<WaitOp>(op) && !hasRoles());
    if (!isCommon || events.contains(op) || (isLean && !branches.haveAllOf(op)))
      continue;
    events[op] = event;
    events[op].accesses.clear();
    events[op].isForeign = isStep(op);
  }
}

SmallVector<Value> ChannelRules::getInputs(Operation *op) const {
  const Event &event = events.at(op);
  if (event.isForeign)
    return {};
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op))
    return {op->getOperand(1)};
  SmallVector<Value> cursors;
  for (const Access &access : event.accesses)
    cursors.push_back(access.cursor);
  return cursors;
}

SmallVector<unsigned> ChannelRules::getInputLinks(Operation *op) const {
  const Event &event = events.at(op);
  if (event.accesses.empty())
    return {event.channel};
  return llvm::map_to_vector(event.accesses,
                             [](const Access &a) { return a.channel; });
}

SmallVector<unsigned> ChannelRules::getLinks(Operation *op) const {
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op))
    return {allEvents.at(op).channel};
  return {};
}
