//===- Scheduler.cpp - The agents of a block take turns -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coroutines made of operating-system threads: each agent has a thread, and
// exactly one of them runs, the one whose number is in `current`. An agent
// gives up control in `yield` and `waitUntil`. `pick` then lists the possible
// steps, asks the policy for one, completes asynchronous operations as long as
// the policy chooses these, and returns the agent to continue. So no other
// state needs a lock, and a run depends on the choices alone.
//
// After a failure every agent is resumed once and returns from its wait with an
// error, children before their parents.
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "Program.h"

#include <thread>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Operations under way
//===----------------------------------------------------------------------===//

LogicalResult Scheduler::completeOne(size_t number) {
  std::shared_ptr<AsyncOp> op = underWay[number];
  underWay.erase(underWay.begin() + number);
  op->isDone = true;
  if (failed(op->complete())) {
    isFailed = true;
    return failure();
  }
  op->complete = nullptr;
  op->after.clear();
  return success();
}

LogicalResult Scheduler::start(std::shared_ptr<AsyncOp> op) {
  underWay.push_back(std::move(op));
  if (policy.completesAtOnce() && underWay.back()->canComplete())
    return completeOne(underWay.size() - 1);
  return success();
}

LogicalResult Scheduler::complete(function_ref<bool(const AsyncOp &)> select) {
  for (size_t i = 0; i < underWay.size();) {
    if (!select(*underWay[i]))
      ++i;
    else if (failed(completeOne(i)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// An agent that has not ended, the block itself last.
unsigned Scheduler::getAnyLive(unsigned agent) const {
  auto canEnd = [&](unsigned i) {
    return agents[i].isLive && agents[i].children == 0;
  };
  if (canEnd(agent))
    return agent;
  for (unsigned i = agents.size(); i-- > 1;)
    if (canEnd(i))
      return i;
  return 0;
}

/// Whether an agent waits for the barrier that `op` signals, or for one that
/// what comes behind `op` does.
bool Scheduler::isAwaited(const AsyncOp &op) const {
  bool isDirect = op.signals && llvm::any_of(agents, [&](const Agent &agent) {
                    return agent.wait && agent.wait->barrier == op.signals;
                  });
  return isDirect || llvm::any_of(underWay, [&](const auto &other) {
           return llvm::any_of(other->after, [&](const auto &before) {
             return before.get() == &op && isAwaited(*other);
           });
         });
}

/// Lets things happen until it is an agent's turn, which is returned. `agent`
/// had the last one.
unsigned Scheduler::pick(unsigned agent) {
  while (!isFailed) {
    SmallVector<unsigned, 4> ready;
    for (unsigned i = 0; i < agents.size(); ++i) {
      unsigned other = (agent + i) % agents.size();
      if (agents[other].canRun())
        ready.push_back(other);
    }
    SmallVector<size_t> completing;
    for (auto [i, op] : llvm::enumerate(underWay))
      if (op->canComplete())
        completing.push_back(i);
    if (isPurposeful && ready.empty()) {
      auto awaited = llvm::to_vector(llvm::make_filter_range(
          completing, [&](size_t i) { return isAwaited(*underWay[i]); }));
      if (!awaited.empty())
        completing.assign(awaited.begin(), awaited.end());
    }
    if (ready.empty() && completing.empty()) {
      isFailed = true;
      onDeadlock();
      break;
    }
    bool runsOn = !ready.empty() && ready.front() == agent;
    unsigned chosen = policy.choose(ready.size(), runsOn, completing.size());
    if (chosen < ready.size())
      return ready[chosen];
    (void)completeOne(completing[chosen - ready.size()]);
  }
  return getAnyLive(agent);
}

void Scheduler::passTo(unsigned next) {
  std::lock_guard<std::mutex> lock(mutex);
  current = next;
  agents[next].turn->notify_one();
}

void Scheduler::awaitTurn(unsigned agent) {
  std::unique_lock<std::mutex> lock(mutex);
  std::shared_ptr<std::condition_variable> turn = agents[agent].turn;
  turn->wait(lock, [&] { return current == agent; });
}

/// Lets others run until it is the agent's turn again.
LogicalResult Scheduler::leaveTurn(unsigned agent) {
  unsigned next = pick(agent);
  if (next != agent) {
    passTo(next);
    awaitTurn(agent);
  }
  return failure(isFailed);
}

LogicalResult Scheduler::yield(unsigned agent) {
  if (policy.isEager() || (agents.size() == 1 && underWay.empty()))
    return success();
  return leaveTurn(agent);
}

LogicalResult Scheduler::waitUntil(unsigned agent, const Wait &wait) {
  if (policy.isEager() && wait.isOver())
    return success();
  agents[agent].wait = &wait;
  LogicalResult result = leaveTurn(agent);
  agents[agent].wait = nullptr;
  return result;
}

LogicalResult Scheduler::runAgents(unsigned parent, ArrayRef<Body> bodies) {
  unsigned first = agents.size();
  {
    // Agents that were made before may not have asked for their turn yet.
    std::lock_guard<std::mutex> lock(mutex);
    agents.resize(first + bodies.size());
  }
  agents[parent].children = bodies.size();
  std::vector<std::thread> threads;
  for (unsigned agent = first; agent < first + bodies.size(); ++agent)
    threads.emplace_back([this, bodies, parent, first, agent] {
      awaitTurn(agent);
      if (!isFailed && failed(bodies[agent - first]()))
        isFailed = true;
      agents[agent].isLive = false;
      --agents[parent].children;
      passTo(pick(agent));
    });
  // The block goes on when its roles have ended.
  auto isOver = [&] { return agents[parent].children == 0; };
  Wait wait;
  wait.isOver = isOver;
  agents[parent].wait = &wait;
  LogicalResult result = leaveTurn(parent);
  agents[parent].wait = nullptr;
  for (std::thread &thread : threads)
    thread.join();
  return result;
}

SmallVector<std::pair<unsigned, const Wait *>> Scheduler::getWaits() const {
  SmallVector<std::pair<unsigned, const Wait *>> waits;
  for (auto [i, agent] : llvm::enumerate(agents))
    if (agent.isLive && agent.wait && agent.wait->inst)
      waits.emplace_back(i, agent.wait);
  return waits;
}
