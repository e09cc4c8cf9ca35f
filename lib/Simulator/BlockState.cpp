//===- BlockState.cpp - What the agents of a block share ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

BlockState::BlockState(const Launch &launch, Int3 block, Policy &policy)
    : scheduler(policy, [this] { reportDeadlock(); }),
      isExplicit(launch.hasExplicitBarriers), launch(launch) {
  addRole(nullptr, "the block", /*isOneThread=*/false);
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
  agent->role = role;
  agent->isOneThread = isOneThread;
  agent->accesses = makeComponent();
  agent->copies = makeComponent();
  agent->stores = makeComponent();
  agent->products = makeComponent();
  if (!agents.empty())
    agent->all = agent->each = agents.front()->all;
  agents.push_back(std::move(agent));
  return agents.size() - 1;
}

void BlockState::joinRole(unsigned number) {
  Agent &role = *agents[number], &block = *agents.front();
  role.each.done.raise(role.accesses, role.time);
  block.each.join(role.each);
  settle(block);
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
    barrier.component = makeComponent();
    barrier.number = numBarriers++;
  }
  // What is under way refers to them.
  this->barriers.push_back(barriers);
  return barriers;
}

void BlockState::makeBarriersReady() {
  for (const std::shared_ptr<BarrierArray> &array : barriers)
    array->isReady = true;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void BlockState::meet(Agent &agent) {
  agent.each.done.raise(agent.accesses, agent.time++);
  agent.all = agent.each;
}

void BlockState::settle(Agent &agent) {
  if (!isExplicit || agent.isOneThread)
    meet(agent);
}

void BlockState::fence(Agent &agent) {
  agent.each.done.raise(agent.accesses, agent.time++);
  agent.each.fenced.join(agent.each.done);
}

Knowledge BlockState::tell(Agent &agent, bool byOneThread) {
  bool isAll = !byOneThread || !isExplicit || agent.isOneThread;
  agent.each.done.raise(agent.accesses, agent.time++);
  return isAll ? agent.each : agent.all;
}

void BlockState::learn(Agent &agent, const Knowledge &knowledge) {
  agent.each.join(knowledge);
  agent.all.join(knowledge);
}

LogicalResult BlockState::finish(Frame &frame, AsyncKind kind, uint32_t count) {
  Agent &agent = *agents[frame.getAgent()];
  unsigned component = kind == AsyncKind::Product ? agent.products
                       : kind == AsyncKind::Store ? agent.stores
                                                  : agent.copies;
  agent.each.done.raise(component, count);
  settle(agent);
  if (Record *record = frame.getRecord())
    record->number = count;
  return scheduler.complete([&](const AsyncOp &op) {
    return op.component == component && op.time <= count;
  });
}

LogicalResult BlockState::checkLoads() {
  for (const std::shared_ptr<AsyncOp> &op : loads)
    if (agents.front()->each.done.get(op->component) < op->time) {
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

/// Multiplications of a product; elements of an operation's fragments.
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
    auto role = cast_if_present<tile::RoleOp>(agents[record.agent]->role);
    launch.record({op, role ? role.getName().str() : "", record.unit,
                   record.begin, record.end, record.barrier, record.slot,
                   record.phase, record.bytes, record.number, getWork(op),
                   record.accesses});
  }
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

void BlockState::reportDeadlock() {
  auto waits = scheduler.getWaits();
  // What the block itself waits for are its roles.
  if (waits.empty())
    return;
  Operation *op = waits.front().second->inst->op;
  Failure report{op->getLoc(), ("'" + op->getName().getStringRef() +
                                "' op never returns: nothing can happen "
                                "any more that ends it")
                                   .str()};
  for (auto [agent, wait] : waits) {
    size_t first = report.notes.size();
    wait->describe(report);
    if (report.notes.size() > first)
      report.notes[first].second =
          agents[agent]->name + " " + report.notes[first].second;
  }
  fail(std::move(report));
}
