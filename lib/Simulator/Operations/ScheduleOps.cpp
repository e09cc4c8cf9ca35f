//===- ScheduleOps.cpp - Channels -----------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Channels behave like the two barriers per slot that they become, with one
// arrival of each role that commits or releases. A cursor is the number of
// transactions before it, so for a channel of depth D
//
//   slot = cursor % D        parity = cursor / D % 2
//
// `tile.wait` waits for the phase of that parity of `full`, `tile.acquire` for
// that of the opposite parity of `empty`: the first D acquires return at once.
//
// In a kernel without roles the threads that wait are those that copied: a wait
// is for groups of copies, and the threads synchronize there.
//
//===----------------------------------------------------------------------===//

#include "Simulator/BarrierWait.h"
#include "Simulator/BlockState.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Returns the number of roles that use `channel` by an operation of type
/// `OpT`; 1 if no role does.
template <typename OpT>
static int64_t countRoles(Value channel) {
  llvm::SmallPtrSet<Operation *, 4> roles;
  for (Operation *user : channel.getUsers())
    if (isa<OpT>(user))
      roles.insert(user->getParentOfType<tile::RoleOp>());
  return std::max<int64_t>(roles.size(), 1);
}

static LogicalResult makeChannel(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::ChannelOp>(inst.op);
  Value value = op.getChannel();
  int64_t depth = op.getChannel().getType().getDepth();
  BlockState &state = frame.getState();
  auto channel = std::make_shared<ChannelBarriers>();
  channel->full = state.makeBarriers(value, "full", depth,
                                     countRoles<tile::CommitOp>(value));
  channel->empty = state.makeBarriers(
      value, "empty", depth,
      op.getAlternating() ? 1 : countRoles<tile::ReleaseOp>(value));
  for (unsigned i = 0; i < inst.operands.size(); ++i)
    frame.getMemRef(inst, i).buffer->channel = channel;
  Datum datum;
  datum.channel = std::move(channel);
  frame.set(inst, 0, std::move(datum));
  return success();
}

namespace {
/// The slot of a channel that a cursor refers to, and the parity of its phase.
/// Depth 3, cursor 4: slot 1, parity 1.
struct ChannelSlot {
  ChannelSlot(Frame &frame, const Instruction &inst)
      : state(frame.getState()), agent(state.getAgent(frame.getAgent())),
        channel(*frame.get(inst, 0).channel),
        slot(frame.getInteger(inst, 1) % channel.getDepth()),
        parity(frame.getInteger(inst, 1) / channel.getDepth() & 1) {}

  BlockState &state;
  Agent &agent;
  ChannelBarriers &channel;
  int64_t slot, parity;
};
} // namespace

static LogicalResult acquire(Frame &frame, const Instruction &inst) {
  ChannelSlot target(frame, inst);
  return waitFor(frame, inst, *target.channel.empty, target.slot,
                 target.parity ^ 1);
}

static LogicalResult commit(Frame &frame, const Instruction &inst) {
  ChannelSlot target(frame, inst);
  BlockState &state = target.state;
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  // The lowering puts a proxy fence here for the producer's stores.
  state.fence(target.agent);
  Clocks clocks = state.makeArrivalClocks(target.agent, /*byOneThread=*/false);
  if (frame.isInRole())
    return arriveAfterCopies(frame, inst, *target.channel.full, target.slot,
                             /*arrivals=*/1, std::move(clocks));
  return arrive(frame, inst, *target.channel.full, target.slot, /*arrivals=*/1,
                clocks);
}

static LogicalResult wait(Frame &frame, const Instruction &inst) {
  ChannelSlot target(frame, inst);
  BlockState &state = target.state;
  Agent &agent = target.agent;
  if (failed(waitFor(frame, inst, *target.channel.full, target.slot,
                     target.parity)))
    return failure();
  auto op = cast<tile::WaitOp>(inst.op);
  if (frame.isInRole()) {
    state.fence(agent);
    return success();
  }
  auto channel = op.getChannel().getDefiningOp<tile::ChannelOp>();
  uint32_t copies = 0;
  if (std::optional<int64_t> pending = op.getPending())
    copies = agent.getCopiesBefore(*pending);
  else if (!channel || channel.getProducer() != tile::ProducerKind::Simt)
    copies = agent.copiesStarted;
  if (failed(state.finish(frame, AsyncKind::Copy, copies)))
    return failure();
  if (op.getProxyFence())
    state.fence(agent);
  state.synchronize(agent);
  return success();
}

static LogicalResult release(Frame &frame, const Instruction &inst) {
  ChannelSlot target(frame, inst);
  BlockState &state = target.state;
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  // The lowering puts a proxy fence here for the consumers' stores.
  if (frame.isInRole())
    state.fence(target.agent);
  return arrive(frame, inst, *target.channel.empty, target.slot, /*arrivals=*/1,
                state.makeArrivalClocks(target.agent, /*byOneThread=*/false));
}

void sim::registerScheduleHandlers(Registry &registry) {
  registry.add<tile::ChannelOp>(makeChannel);
  registry.add<tile::CursorOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(inst, 0);
    return success();
  });
  registry.add<tile::AdvanceOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(inst, frame.getInteger(inst, 0) + 1);
    return success();
  });
  registry.add<tile::CommitGroupOp>([](Frame &frame, const Instruction &) {
    Agent &agent = frame.getState().getAgent(frame.getAgent());
    agent.groups.push_back(agent.copiesStarted);
    return success();
  });
  registry.add<tile::AcquireOp>(acquire);
  registry.add<tile::WaitOp>(wait);
  registry.add<tile::CommitOp>(commit);
  registry.add<tile::ReleaseOp>(release);
}
