//===- BarrierOps.cpp - Barriers and fences -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Explicit barriers: `tile.mbarrier` and its operations, barriers of threads
// and clusters, waits for groups of copies, and proxy fences. Agents that are
// many threads arrive with several arrivals. The first is made at once and the
// others become one asynchronous operation, so that the policy can delay the
// threads that are late:
//
//   tile.mbarrier_arrive %b[%s] {by = #tile.agents<threads>} by 128 threads
//     1 arrival now; 127 at any time before the agent next uses slot %s
//
// An arrival at other blocks of the cluster is asynchronous as a whole.
//
//===----------------------------------------------------------------------===//

#include "Simulator/BarrierWait.h"
#include "Simulator/ClusterState.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

static LogicalResult makeBarriers(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::MBarrierOp>(inst.op);
  Datum datum;
  datum.barriers = frame.getState().makeBarriers(
      op.getBarrier(), "", op.getBarrier().getType().getDepth(), op.getCount());
  datum.barriers->isReady = false;
  frame.set(inst, 0, std::move(datum));
  return success();
}

static LogicalResult makeReady(Frame &frame, const Instruction &inst) {
  BlockState &state = frame.getState();
  if (frame.isInRole())
    return frame.fail(inst, "stands in a role");
  bool inCluster = cast<tile::MBarrierReadyOp>(inst.op).getCluster();
  state.makeBarriersReady(inCluster);
  if (inCluster)
    return state.getCluster().synchronize(frame, inst);
  state.synchronize(state.getAgent(frame.getAgent()));
  return success();
}

static LogicalResult runClusterBarrier(Frame &frame, const Instruction &inst) {
  if (frame.isInRole())
    return frame.fail(inst, "stands in a role");
  return frame.getState().getCluster().synchronize(frame, inst);
}

FailureOr<int64_t> sim::getBarrierSlot(Frame &frame, const Instruction &inst,
                                       unsigned operand) {
  const BarrierArray &barriers = *frame.get(inst, operand).barriers;
  int64_t slot = frame.getInteger(inst, operand + 1);
  if (slot < 0 || slot >= int64_t(barriers.slots.size()))
    return frame.fail(inst, "uses the barrier of slot " + Twine(slot) +
                                ", but there are " +
                                Twine(barriers.slots.size()));
  if (!barriers.isReady)
    return frame.fail(inst, "uses a barrier whose initialization no "
                            "tile.mbarrier_ready has made visible");
  return slot;
}

/// Arrives once now and `arrivals - 1` times at any later time, because warps
/// and threads of an agent run independently.
static LogicalResult arriveOneByOne(Frame &frame, const Instruction &inst,
                                    BarrierArray &barriers, int64_t slot,
                                    int64_t arrivals, const Clocks &clocks) {
  llvm::erase(barriers.slots[slot].expecting, frame.getAgent());
  if (failed(arrive(frame, inst, barriers, slot, 1, clocks)))
    return failure();
  if (arrivals == 1)
    return success();
  auto op = std::make_shared<AsyncOp>();
  op->kind = AsyncKind::Arrival;
  op->agent = frame.getAgent();
  op->inst = &inst;
  op->signals = &barriers.slots[slot];
  op->component = barriers.slots[slot].component;
  op->complete = [&frame, &inst, &barriers, slot, arrivals, clocks] {
    return arrive(frame, inst, barriers, slot, arrivals - 1, clocks);
  };
  return frame.getState().start(std::move(op), RecordUnit::Arrival,
                                makeRecord(barriers, slot));
}

/// Makes the late arrivals of this agent at a barrier, before it uses the
/// barrier again.
static LogicalResult arriveLate(Frame &frame, const MBarrier &barrier) {
  unsigned agent = frame.getAgent();
  return frame.getState().scheduler.complete(agent, [&](const AsyncOp &op) {
    return op.kind == AsyncKind::Arrival && op.agent == agent &&
           op.component == barrier.component;
  });
}

/// Arrives at other blocks of the cluster, at any later time.
static LogicalResult arriveInPeers(Frame &frame, const Instruction &inst,
                                   int64_t slot) {
  auto op = cast<tile::MBarrierArriveOp>(inst.op);
  BlockState &state = frame.getState();
  Agent &agent = state.getAgent(frame.getAgent());
  const BarrierArray &own = *frame.get(inst, 0).barriers;
  uint32_t peers = state.getCluster().getExtents().getPeers(op.getPeerDims(),
                                                            state.getRank());
  SmallVector<BlockState *> others =
      state.getBlocks(peers & ~(uint32_t(1) << state.getRank()));
  for (BlockState *other : others) {
    FailureOr<BarrierArray *> found = other->getBarriersFor(frame, inst, own);
    if (failed(found))
      return failure();
    other->addGuest(agent, inst);
    BarrierArray &barriers = **found;
    auto arrival = std::make_shared<AsyncOp>();
    arrival->kind = AsyncKind::Arrival;
    arrival->agent = frame.getAgent();
    arrival->inst = &inst;
    arrival->component = barriers.slots[slot].component;
    arrival->complete = [&frame, &inst, &barriers, slot,
                         arrivals = op.getNumArrivals(),
                         clocks = state.makeArrivalClocks(
                             agent, op.getBy() == tile::Agents::Thread)] {
      return arrive(frame, inst, barriers, slot, arrivals, clocks);
    };
    if (failed(state.start(std::move(arrival), RecordUnit::Arrival,
                           makeRecord(barriers, slot))))
      return failure();
  }
  return success();
}

static LogicalResult runArrive(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::MBarrierArriveOp>(inst.op);
  BlockState &state = frame.getState();
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  FailureOr<int64_t> slot = getBarrierSlot(frame, inst, 0);
  if (failed(slot))
    return failure();
  BarrierArray &barriers = *frame.get(inst, 0).barriers;
  MBarrier &barrier = barriers.slots[*slot];
  if (failed(arriveLate(frame, barrier)))
    return failure();
  barrier.bytes += op.getBytes().value_or(0);
  if (op.getBytes() && op.getBy() == tile::Agents::Copies)
    expect(frame, barrier, 0);
  if (Record *record = frame.getRecord())
    record->bytes = op.getBytes().value_or(-1);
  int64_t arrivals = op.getNumArrivals();
  Agent &agent = state.getAgent(frame.getAgent());
  bool byOneThread = op.getBy() == tile::Agents::Thread;
  // An arrival of copies only orders the copies, not other steps of the
  // threads.
  if (op.getBy() == tile::Agents::Copies)
    return arriveAfterCopies(frame, inst, barriers, *slot, arrivals, agent.all);
  if (op.getPeers() && failed(arriveInPeers(frame, inst, *slot)))
    return failure();
  return arriveOneByOne(frame, inst, barriers, *slot, arrivals,
                        state.makeArrivalClocks(agent, byOneThread));
}

static LogicalResult runExpect(Frame &frame, const Instruction &inst) {
  if (failed(frame.getState().scheduler.yield(frame.getAgent())))
    return failure();
  FailureOr<int64_t> slot = getBarrierSlot(frame, inst, 0);
  if (failed(slot))
    return failure();
  expect(frame, frame.get(inst, 0).barriers->slots[*slot],
         cast<tile::MBarrierExpectOp>(inst.op).getBytes());
  return success();
}

static LogicalResult runWait(Frame &frame, const Instruction &inst) {
  FailureOr<int64_t> slot = getBarrierSlot(frame, inst, 0);
  if (failed(slot))
    return failure();
  BarrierArray &barriers = *frame.get(inst, 0).barriers;
  int64_t parity = frame.getInteger(inst, 2);
  if (parity != 0 && parity != 1)
    return frame.fail(inst, "waits for a phase of parity " + Twine(parity) +
                                ", expected 0 or 1");
  if (failed(arriveLate(frame, barriers.slots[*slot])))
    return failure();
  return waitFor(frame, inst, barriers, *slot, parity);
}

/// A barrier of the threads of a role, or of the block.
static LogicalResult runBarrier(Frame &frame, const Instruction &inst) {
  BlockState &state = frame.getState();
  Agent &agent = state.getAgent(frame.getAgent());
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  auto op = dyn_cast<tile::BarrierOp>(inst.op);
  // Waits for everything in flight that accesses shared memory.
  if (op && op.getDrainCopies() &&
      (failed(state.finish(frame, AsyncKind::Copy, agent.copiesStarted)) ||
       failed(state.finish(frame, AsyncKind::Store, agent.storesStarted)) ||
       failed(state.finish(frame, AsyncKind::Matmul, agent.matmulsStarted))))
    return failure();
  if (op && op.getProxyFence())
    state.fence(agent);
  state.synchronize(agent);
  return success();
}

static LogicalResult waitForGroups(Frame &frame, const Instruction &inst) {
  BlockState &state = frame.getState();
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  Agent &agent = state.getAgent(frame.getAgent());
  auto op = cast<tile::CopyGroupWaitOp>(inst.op);
  return state.finish(frame, AsyncKind::Copy,
                      agent.getCopiesBefore(op.getPending()));
}

void sim::registerBarrierHandlers(Registry &registry) {
  registry.add<tile::MBarrierOp>(makeBarriers);
  registry.add<tile::MBarrierReadyOp>(makeReady);
  registry.add<tile::MBarrierArriveOp>(runArrive);
  registry.add<tile::ClusterBarrierOp>(runClusterBarrier);
  registry.add<tile::MBarrierExpectOp>(runExpect);
  registry.add<tile::MBarrierWaitOp>(runWait);
  registry.add<tile::BarrierOp>(runBarrier);
  registry.add<gpu::BarrierOp>(runBarrier);
  registry.add<tile::CopyGroupWaitOp>(waitForGroups);
  registry.add<tile::ProxyFenceOp>([](Frame &frame, const Instruction &) {
    BlockState &state = frame.getState();
    Agent &agent = state.getAgent(frame.getAgent());
    state.fence(agent);
    if (agent.isOneThread)
      state.synchronizeImplicitly(agent);
    return success();
  });
}
