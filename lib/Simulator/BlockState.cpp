//===- BlockState.cpp - State shared by the agents of a block -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks of the agents of a block. An agent may be many threads, so it
// has two clocks. `all` holds what happens before the next step of every one of
// its threads. `each` also holds what happens before the next step of some of
// them only, such as the copies that a thread started and waited for by itself.
// A barrier of the agent's threads makes the clocks equal:
//
//   tile.copy_group_wait    each[copies] = 3, all[copies] = 2
//   tile.barrier            all = each: a thread may read the copies of others
//
// Before barriers are inserted, and in roles of one thread, an agent counts as
// one thread and the clocks are kept equal.
//
//===----------------------------------------------------------------------===//

#include "ClusterState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

BlockState::BlockState(const Launch &launch, Int3 block, int64_t rank,
                       ClusterState &cluster)
    : scheduler(cluster.scheduler), isExplicit(launch.hasExplicitBarriers),
      launch(launch), block(block), rank(rank), cluster(cluster),
      accesses(*this) {
  main = addRole(nullptr, "the block", /*isOneThread=*/false);
  if (launch.record && block == launch.recordedBlock)
    recorder = std::make_unique<Recorder>();
}

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

unsigned BlockState::addRole(Operation *role, std::string name,
                             bool isOneThread) {
  auto agent = std::make_unique<Agent>();
  agent->name = std::move(name);
  if (launch.cluster.size() > 1)
    agent->name += " of block " + toString(block);
  agent->role = role;
  agent->block = this;
  agent->isOneThread = isOneThread;
  agent->accesses = cluster.makeComponent();
  agent->copies = cluster.makeComponent();
  agent->stores = cluster.makeComponent();
  agent->matmuls = cluster.makeComponent();
  if (role)
    agent->all = agent->each = getAgent(main).all;
  return cluster.addAgent(std::move(agent));
}

void BlockState::joinRole(unsigned number) {
  Agent &role = getAgent(number), &block = getAgent(main);
  role.each.done.raise(role.accesses, role.time);
  block.each.join(role.each);
  synchronizeImplicitly(block);
}

std::shared_ptr<BarrierArray> BlockState::makeBarriers(Value value,
                                                       std::string name,
                                                       int64_t slots,
                                                       int64_t count) {
  auto barriers = std::make_shared<BarrierArray>();
  barriers->name = std::move(name);
  barriers->value = value;
  barriers->slots.resize(slots);
  for (MBarrier &barrier : barriers->slots) {
    barrier.count = barrier.missing = count;
    barrier.component = cluster.makeComponent();
    barrier.number = numBarriers++;
  }
  // Operations in flight refer to them, so they live as long as the block.
  this->barriers.push_back(barriers);
  return barriers;
}

bool BlockState::isRegular() const {
  return llvm::all_of(barriers, [](const auto &array) {
    return llvm::all_of(array->slots, [](const MBarrier &barrier) {
      return barrier.isRegular;
    });
  });
}

void BlockState::makeBarriersReady(bool inCluster) {
  for (const std::shared_ptr<BarrierArray> &array : barriers) {
    array->isReady = true;
    array->isReadyInCluster |= inCluster;
  }
}

Follower *BlockState::getFollower() { return cluster.getFollower(); }

Agent &BlockState::getAgent(unsigned number) const {
  return cluster.getAgent(number);
}

void BlockState::fail(Failure reason) { cluster.fail(std::move(reason)); }

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

SmallVector<BlockState *> BlockState::getBlocks(uint32_t ranks) {
  SmallVector<BlockState *> found;
  for (const std::unique_ptr<BlockState> &other : cluster.getBlocks())
    if (ranks >> other->rank & 1)
      found.push_back(other.get());
  return found;
}

/// Fails unless another block can access this one: `isHere` says whether the
/// buffer or barrier exists already.
LogicalResult BlockState::checkPresence(Frame &frame, const Instruction &inst,
                                        bool isHere) {
  if (isHere && !hasLeft)
    return success();
  return frame.fail(inst, "reaches into block " + toString(block) + ", which " +
                              (hasLeft ? "has ended" : "has not begun"));
}

FailureOr<BarrierArray *>
BlockState::getBarriersFor(Frame &frame, const Instruction &inst,
                           const BarrierArray &other) {
  auto found = llvm::find_if(
      barriers, [&](auto &own) { return own->value == other.value; });
  if (failed(checkPresence(frame, inst, found != barriers.end())))
    return failure();
  if (!other.isReadyInCluster || !(*found)->isReadyInCluster)
    return frame.fail(inst, "uses a barrier of block " + toString(block) +
                                " whose initialization no "
                                "tile.mbarrier_ready {cluster} has made "
                                "visible");
  return found->get();
}

FailureOr<MemRef> BlockState::getMemRefFor(Frame &frame,
                                           const Instruction &inst,
                                           const MemRef &memref) {
  auto found = buffers.find(memref.buffer->alloc);
  if (failed(checkPresence(frame, inst, found != buffers.end())))
    return failure();
  MemRef own = memref;
  own.buffer = found->second;
  return own;
}

/// Accesses by other blocks must happen before the block ends, by a barrier of
/// the cluster.
LogicalResult BlockState::leave() {
  const Agent &own = getAgent(main);
  for (const Guest &guest : guests)
    if (own.each.done.get(guest.component) < guest.time) {
      fail({guest.inst->op->getLoc(),
            ("'" + guest.inst->op->getName().getStringRef() +
             "' op reaches into block " + toString(block) +
             ", which may have ended before: no tile.cluster_barrier lies "
             "between")
                .str()});
      return failure();
    }
  hasLeft = true;
  return checkLoads();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void BlockState::synchronize(Agent &agent) {
  agent.each.done.raise(agent.accesses, agent.time++);
  agent.all = agent.each;
}

void BlockState::synchronizeImplicitly(Agent &agent) {
  if (!isExplicit || agent.isOneThread)
    synchronize(agent);
}

void BlockState::fence(Agent &agent) {
  agent.each.done.raise(agent.accesses, agent.time++);
  agent.each.fenced.join(agent.each.done);
  // Every thread executes the fence, so it also covers what happens before
  // every thread.
  agent.all.fenced.join(agent.all.done);
}

Clocks BlockState::makeArrivalClocks(Agent &agent, bool byOneThread) {
  bool isAll = !byOneThread || !isExplicit || agent.isOneThread;
  agent.each.done.raise(agent.accesses, agent.time++);
  return isAll ? agent.each : agent.all;
}

void BlockState::joinClocks(Agent &agent, const Clocks &clocks) {
  agent.each.join(clocks);
  agent.all.join(clocks);
}

LogicalResult BlockState::finish(Frame &frame, AsyncKind kind, uint32_t count) {
  Agent &agent = getAgent(frame.getAgent());
  unsigned component = kind == AsyncKind::Matmul  ? agent.matmuls
                       : kind == AsyncKind::Store ? agent.stores
                                                  : agent.copies;
  agent.each.done.raise(component, count);
  synchronizeImplicitly(agent);
  if (Record *record = frame.getRecord())
    record->number = count;
  return scheduler.complete(frame.getAgent(), [&](const AsyncOp &op) {
    return op.component == component && op.time <= count;
  });
}

LogicalResult BlockState::checkLoads() {
  for (const std::shared_ptr<AsyncOp> &op : loads)
    if (getAgent(main).each.done.get(op->component) < op->time) {
      fail({op->inst->op->getLoc(),
            "'tile.copy' op was never waited for: it may write to shared "
            "memory when all roles have ended"});
      return mlir::failure();
    }
  loads.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

LogicalResult BlockState::start(std::shared_ptr<AsyncOp> op, RecordUnit unit,
                                const Record &details) {
  if (recorder) {
    size_t number = recorder->begin(*op->inst, op->agent, unit);
    Record &record = recorder->get(number);
    record.barrier = details.barrier;
    record.slot = details.slot;
    record.phase = details.phase;
    record.bytes = details.bytes;
    record.number = details.number;
    op->complete = [this, number, complete = std::move(op->complete)] {
      LogicalResult result = complete();
      recorder->end(number);
      return result;
    };
  }
  return scheduler.start(std::move(op));
}

/// Returns the multiplications of a matmul; for other operations the elements
/// of the largest fragment, -1 if there is none.
static int64_t getWork(Operation *op) {
  if (auto matmul = dyn_cast<tile::MatmulOpInterface>(op))
    return matmul.getM() * matmul.getN() * matmul.getLhsK();
  int64_t work = -1;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      work = std::max(work, tensor.getNumElements());
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return work;
}

void BlockState::emitRecords() const {
  if (!recorder)
    return;
  for (const Record &record : recorder->getRecords()) {
    Operation *op = record.inst->op;
    auto role = cast_if_present<tile::RoleOp>(getAgent(record.agent).role);
    launch.record({op, role ? role.getName().str() : "", record.unit,
                   record.begin, record.end, record.barrier, record.slot,
                   record.phase, record.bytes, record.number, getWork(op),
                   record.accesses});
  }
}
