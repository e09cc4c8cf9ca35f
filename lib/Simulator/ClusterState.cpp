//===- ClusterState.cpp - Blocks that run together ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster are agents of one scheduler. With several blocks, agent 0
// only starts one agent for each block and waits for them. Their barrier is a
// generation count: the last block to arrive publishes the joined clock of all
// and increments the generation, on which the others wait.
//
// If no step is possible, the scheduler calls back here. The report names the
// operation of the first waiting agent and adds, for each waiting agent, a note
// with its barrier, the missing arrivals, and the operations that arrive there.
//
//===----------------------------------------------------------------------===//

#include "ClusterState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

ClusterState::ClusterState(const Launch &launch, Int3 first, Policy &policy)
    : scheduler(policy, launch.interruption, [this] { reportDeadlock(); }),
      launch(launch) {
  if (!launch.order.empty() && first == Int3{0, 0, 0}) {
    follower = std::make_unique<Follower>(launch.order);
    // In a counterexample of the verifier, operations complete when an agent
    // waits for them.
    scheduler.preferAwaited();
  }
  if (launch.cluster.size() > 1)
    (void)addAgent(std::make_unique<Agent>());
  for (int64_t rank = 0; rank < launch.cluster.size(); ++rank) {
    Int3 block = launch.cluster.getPlace(rank);
    for (unsigned dim = 0; dim < 3; ++dim)
      block[dim] += first[dim];
    blocks.push_back(std::make_unique<BlockState>(launch, block, rank, *this));
  }
}

std::optional<Failure>
ClusterState::run(function_ref<LogicalResult(BlockState &)> body) {
  bool isDone;
  if (blocks.size() == 1) {
    isDone = succeeded(body(*blocks.front()));
  } else {
    std::vector<Scheduler::Body> bodies;
    bodies.reserve(blocks.size());
    for (const std::unique_ptr<BlockState> &block : blocks)
      bodies.push_back([&body, &block] { return body(*block); });
    isDone = succeeded(scheduler.runAgents(/*parent=*/0, bodies));
  }
  isDone = isDone &&
           succeeded(scheduler.complete(
               /*agent=*/0, [](const AsyncOp &) { return true; })) &&
           succeeded(checkOrder());
  for (const std::unique_ptr<BlockState> &block : blocks)
    block->emitRecords();
  return isDone ? std::nullopt : failure;
}

/// Fails if the blocks have ended before the order that they follow.
LogicalResult ClusterState::checkOrder() {
  if (!follower || follower->hasEnded())
    return success();
  fail(follower->getDeparture());
  return mlir::failure();
}

LogicalResult ClusterState::synchronize(Frame &frame, const Instruction &inst) {
  BlockState &block = frame.getState();
  Agent &agent = getAgent(frame.getAgent());
  // Arrivals of this block at others are made before it arrives here.
  if (failed(scheduler.yield(frame.getAgent())) ||
      failed(scheduler.complete(frame.getAgent(), [&](const AsyncOp &op) {
        return op.kind == AsyncKind::Arrival && block.owns(op.agent);
      })))
    return mlir::failure();
  block.synchronize(agent);
  arriving.join(agent.each);
  if (++numArrived == blocks.size()) {
    released = std::exchange(arriving, {});
    numArrived = 0;
    ++generation;
  } else {
    auto isOver = [&, before = generation] { return generation != before; };
    auto describe = [&](Failure &report) {
      report.notes.emplace_back(inst.op->getLoc(),
                                ("waits here for all blocks of the cluster; " +
                                 Twine(blocks.size() - numArrived) + " of " +
                                 Twine(blocks.size()) + " have not come")
                                    .str());
    };
    if (failed(scheduler.waitUntil(frame.getAgent(),
                                   Wait{&inst, isOver, describe})))
      return mlir::failure();
  }
  block.joinClocks(agent, released);
  return success();
}

void ClusterState::reportDeadlock() {
  auto waits = scheduler.getWaits();
  if (follower && !follower->hasEnded()) {
    Failure report = follower->getDeparture();
    for (auto [agent, wait] : waits)
      wait->describe(report);
    return fail(std::move(report));
  }
  // An agent that only waits for its roles has no wait of its own.
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
