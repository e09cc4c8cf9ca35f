//===- BuildChannelModel.cpp - Reads the channels of a kernel -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tasks and channels are numbered in the order of the IR. Then each operation
// that is a step of a transaction, accesses a slot, or synchronizes threads or
// asynchronous work becomes an event. An access is found from the shared buffer
// that an operation accesses, through views to the `tile.slot`:
//
//     %s = tile.slot %a[%cursor]            // version %cursor of %a
//     %v = memref.subview %s[0] [32] [1]
//     tile.store %t to %v                   // event: writes %a of its channel
//
// A buffer that control flow selects, or one without `tile.slot`, is an
// obstacle to a proof.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ContestedRegions.h"
#include "Verifier/Engine/AsyncMatmuls.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

using Channel = ChannelModel::Channel;

namespace {
/// Fills in the parts of a model, each from those before.
class ChannelModelBuilder {
public:
  explicit ChannelModelBuilder(ChannelModel &model) : model(model) {}
  void build();

private:
  void addTasks();
  void addChannel(ChannelOp op);
  void addEvent(Operation *op);
  void addAccesses(Operation *op);
  void addAccess(Operation *op, const SharedAccess &shared);
  void addAwaitedMatmuls();

  ChannelModel &model;
  ContestedRegions regions;
};
} // namespace

void ChannelModelBuilder::build() {
  addTasks();
  model.kernel.walk([&](ChannelOp op) { addChannel(op); });
  if (model.numSlots > 63 || model.getNumTasks() > 32)
    model.obstacle =
        Finding{model.kernel, "the kernel's channels have more than 63 slots, "
                              "or the kernel has more than 31 roles"};
  if (model.obstacle || model.channels.empty())
    return;
  model.kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { addEvent(op); });
  addAwaitedMatmuls();
  if (!model.obstacle)
    regions.assign(model);
}

void ChannelModelBuilder::addTasks() {
  model.kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto role = dyn_cast<RoleOp>(op))
      model.taskNames.push_back(("role @" + role.getName()).str());
    if (auto alloc = dyn_cast<AllocSharedOp>(op))
      model.isPlanned |= alloc->hasAttr(TileDialect::kOffset);
  });
}

void ChannelModelBuilder::addChannel(ChannelOp op) {
  unsigned number = model.channels.size();
  Channel channel{op, op.getChannel().getType().getDepth(), model.numSlots};
  channel.alternating = op.getAlternating();
  model.numSlots += channel.depth;
  llvm::SmallSetVector<unsigned, 2> producers;
  for (Operation *user : op.getChannel().getUsers()) {
    if (isa<AcquireOp, CommitOp>(user)) {
      producers.insert(getTask(user));
      channel.producers |= uint64_t(1) << getTask(user);
    }
    if (isa<WaitOp, ReleaseOp>(user))
      channel.consumers |= uint64_t(1) << getTask(user);
    if (isa<CommitOp>(user))
      channel.commit = user;
    if (isa<WaitOp>(user))
      channel.wait = user;
    if (isa<ReleaseOp>(user))
      channel.release = user;
  }
  if (producers.size() > 1)
    model.errors.push_back({op, "a channel has one producer, but " +
                                    model.taskNames[producers[0]] + " and " +
                                    model.taskNames[producers[1]] +
                                    " both fill it"});
  for (Value buffer : op.getBuffers())
    if (!model.channelNumbers.try_emplace(buffer, number).second)
      model.errors.push_back(
          {op, "the channel hands on a buffer of another channel"});
  model.channelNumbers[op.getChannel()] = number;
  model.channels.push_back(channel);
}

void ChannelModelBuilder::addEvent(Operation *op) {
  if (model.obstacle)
    return;
  unsigned number = model.eventOps.size();
  auto gemm = dyn_cast<MatmulOpInterface>(op);
  if (ChannelModel::isStep(op)) {
    auto it = model.channelNumbers.find(op->getOperand(0));
    if (it == model.channelNumbers.end()) {
      model.obstacle = Finding{op, "the channel is passed on as a value"};
      return;
    }
    model.events[op] = {number, it->second};
  } else if (isa<CommitGroupOp, BarrierOp, gpu::BarrierOp, GemmWaitOp>(op) ||
             (gemm && gemm.getAsync()) || synchronizesInScratch(op)) {
    model.events[op] = {number};
    model.events[op].isCommon = true;
  }
  addAccesses(op);
  if (model.events.contains(op))
    model.eventOps.push_back(op);
}

void ChannelModelBuilder::addAccesses(Operation *op) {
  for (const SharedAccess &shared : getSharedAccesses(op))
    addAccess(op, shared);
}

void ChannelModelBuilder::addAccess(Operation *op, const SharedAccess &shared) {
  Value buffer = shared.operand->get();
  SlotOp slot;
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    buffer = view.getViewSource();
    if (auto found = dyn_cast<SlotOp>(view.getOperation()))
      slot = found;
  }
  auto it = model.channelNumbers.find(buffer);
  if (it == model.channelNumbers.end()) {
    if (!buffer.getDefiningOp<AllocSharedOp>())
      model.obstacle = getSelectedBuffer(op, buffer);
    return;
  }
  if (!slot) {
    model.obstacle =
        Finding{op, "a channel's buffer is accessed without tile.slot"};
    return;
  }
  Channel &channel = model.channels[it->second];
  unsigned number = llvm::find(ChannelOp(channel.op).getBuffers(), buffer) -
                    ChannelOp(channel.op).getBuffers().begin();
  bool isTma = hasInst(op, InstKind::Tma);
  // Threads read the indices of a copy's rows themselves.
  auto copy = dyn_cast<CopyOp>(op);
  bool isCopied =
      shared.writes()
          ? isTma || hasInst(op, InstKind::CpAsync)
          : isTma && copy && shared.operand->get() == copy.getSource();
  auto &event =
      model.events
          .try_emplace(op, ChannelEvent{unsigned(model.eventOps.size())})
          .first->second;
  SlotAccess access{it->second,
                    number,
                    slot.getCursor(),
                    shared.reads(),
                    shared.writes(),
                    isCopied,
                    isByAsyncProxy(*shared.operand),
                    shared.atomic.has_value(),
                    isMetadata(*shared.operand)};
  if (access.writes) {
    channel.fills.resize(ChannelOp(channel.op).getBuffers().size());
    std::pair<unsigned, unsigned> write = {
        number, channel.fills[number].add(op, getTask(op), shared)};
    access.write = llvm::find(channel.writes, write) - channel.writes.begin();
    if (access.write == channel.writes.size())
      channel.writes.push_back(write);
  }
  if (access.write >= ChannelModel::kMostWrites)
    model.obstacle = Finding{op, "more than 62 operations write to the buffers "
                                 "of one channel"};
  event.accesses.push_back(access);
  regions.add(model, op, shared);
}

void ChannelModelBuilder::addAwaitedMatmuls() {
  for (auto &[wait, matmuls] : findAwaitedMatmuls(model.kernel))
    for (Operation *matmul : matmuls)
      model.events[wait].matmuls.push_back(model.events[matmul].number);
}

ChannelModel ChannelModel::build(gpu::GPUFuncOp kernel) {
  ChannelModel model(kernel);
  ChannelModelBuilder(model).build();
  return model;
}
