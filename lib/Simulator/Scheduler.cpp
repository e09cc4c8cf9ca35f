//===- Scheduler.cpp - Agents run one at a time ---------------------------===//
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
#include "Barriers.h"
#include "Program.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#include <thread>

#define DEBUG_TYPE "tile-simulator"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Returns the name and the place of an instruction, for debug output.
static std::string getName(const Instruction &inst) {
  std::string text;
  llvm::raw_string_ostream(text)
      << "'" << inst.op->getName() << "' at " << inst.op->getLoc();
  return text;
}

//===----------------------------------------------------------------------===//
// Operations in flight
//===----------------------------------------------------------------------===//

Scheduler::~Scheduler() {
  // Matmuls form a chain, each with a reference to the one before. Without this
  // their destructors would recurse over the chain.
  for (const std::shared_ptr<AsyncOp> &op : inFlight)
    op->after.clear();
}

LogicalResult Scheduler::completeOne(size_t number) {
  std::shared_ptr<AsyncOp> op = inFlight[number];
  LDBG() << "completes " << getName(*op->inst) << " of agent " << op->agent;
  inFlight.erase(inFlight.begin() + number);
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
  op->number = ++agents[op->agent].operations;
  bool isImmediate = policy.completesAtOnce(op->kind) && op->canComplete();
  if (isStepwise() && !isImmediate)
    started.push_back(op);
  if (PartialOrderSearch *search = policy.getSearch(); search && !isImmediate)
    search->getTrace().start({op->agent, op->number});
  inFlight.push_back(std::move(op));
  return isImmediate ? completeOne(inFlight.size() - 1) : success();
}

void Scheduler::orderAfter(Process process) const {
  if (PartialOrderSearch *search = policy.getSearch())
    search->getTrace().orderAfter(process);
}

/// Waits until operations have completed. They happen before the agent's next
/// step also if they have completed already.
LogicalResult Scheduler::awaitAll(unsigned agent,
                                  function_ref<bool(const AsyncOp &)> select) {
  auto selected = llvm::to_vector(llvm::make_filter_range(
      started, [&](const auto &op) { return select(*op); }));
  auto isOver = [&] {
    return llvm::all_of(selected, [](const auto &op) { return op->isDone; });
  };
  Wait wait;
  wait.isOver = isOver;
  if (!isOver() && failed(waitUntil(agent, wait)))
    return failure();
  for (const std::shared_ptr<AsyncOp> &op : selected)
    orderAfter({op->agent, op->number});
  return success();
}

LogicalResult Scheduler::complete(unsigned agent,
                                  function_ref<bool(const AsyncOp &)> select) {
  if (isStepwise())
    return awaitAll(agent, select);
  for (size_t i = 0; i < inFlight.size();) {
    if (!select(*inFlight[i]))
      ++i;
    else if (failed(completeOne(i)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Returns an agent that has not ended and has no children, the block last.
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

/// Returns whether an agent waits for the barrier that `op` signals, or for one
/// that an operation after `op` signals.
bool Scheduler::isAwaited(const AsyncOp &op) const {
  llvm::SmallSetVector<const AsyncOp *, 4> reached;
  reached.insert(&op);
  for (size_t i = 0; i < reached.size(); ++i) {
    const AsyncOp *next = reached[i];
    if (next->signals && llvm::any_of(agents, [&](const AgentStatus &agent) {
          return agent.wait && agent.wait->barrier == next->signals;
        }))
      return true;
    for (const std::shared_ptr<AsyncOp> &other : inFlight)
      if (llvm::any_of(other->after, [&](const auto &before) {
            return before.get() == next;
          }))
        reached.insert(other.get());
  }
  return false;
}

/// Chooses a step: the policy's, or that of a search, which may end the run.
std::optional<unsigned> Scheduler::choose(ArrayRef<unsigned> ready, bool runsOn,
                                          ArrayRef<size_t> completing) {
  PartialOrderSearch *search = policy.getSearch();
  if (!search)
    return policy.choose(ready.size(), runsOn, completing.size());
  SmallVector<Process> possible;
  for (unsigned agent : ready)
    possible.push_back({agent, 0});
  for (size_t i : completing)
    possible.push_back({inFlight[i]->agent, inFlight[i]->number});
  return search->choose(possible);
}

/// Tells a search which agents wait for a barrier when it ends a run.
void Scheduler::noteBlocked() const {
  for (auto [i, agent] : llvm::enumerate(agents))
    if (agent.isLive && !agent.canRun() && agent.wait->barrier)
      policy.getSearch()->addBlocked(
          {unsigned(i), 0}, {TouchKind::Wait, agent.wait->barrier->number,
                             agent.wait->barrier->phase, agent.wait->parity});
}

/// Executes steps until an agent continues, and returns that agent. `agent` ran
/// last.
unsigned Scheduler::pick(unsigned agent) {
  while (!isFailed) {
    SmallVector<unsigned, 4> ready;
    for (unsigned i = 0; i < agents.size(); ++i) {
      unsigned other = (agent + i) % agents.size();
      if (agents[other].canRun())
        ready.push_back(other);
    }
    SmallVector<size_t> completing;
    for (auto [i, op] : llvm::enumerate(inFlight))
      if (op->canComplete())
        completing.push_back(i);
    if (prefersAwaited && ready.empty()) {
      auto awaited = llvm::to_vector(llvm::make_filter_range(
          completing, [&](size_t i) { return isAwaited(*inFlight[i]); }));
      if (!awaited.empty())
        completing.assign(awaited.begin(), awaited.end());
    }
    if (ready.empty() && completing.empty()) {
      isFailed = true;
      onDeadlock();
      break;
    }
    bool runsOn = !ready.empty() && ready.front() == agent;
    std::optional<unsigned> chosen = choose(ready, runsOn, completing);
    if (!chosen) {
      isFailed = true;
      noteBlocked();
      break;
    }
    if (*chosen < ready.size()) {
      if (!runsOn || *chosen != 0)
        LDBG() << "agent " << ready[*chosen] << " continues, of "
               << ready.size() << " agents that can; " << completing.size()
               << " operations can complete";
      return ready[*chosen];
    }
    (void)completeOne(completing[*chosen - ready.size()]);
  }
  return getAnyLive(agent);
}

void Scheduler::passTo(unsigned next) {
  std::lock_guard<std::mutex> lock(mutex);
  current = next;
  agents[next].resumed->notify_one();
}

void Scheduler::awaitControl(unsigned agent) {
  std::unique_lock<std::mutex> lock(mutex);
  std::shared_ptr<std::condition_variable> resumed = agents[agent].resumed;
  auto hasControl = [&] { return current == agent; };
  if (interruption)
    interruption->wait(*resumed, lock, hasControl);
  else
    resumed->wait(lock, hasControl);
}

/// Lets others run until `pick` chooses the agent again.
LogicalResult Scheduler::giveUpControl(unsigned agent) {
  unsigned next = pick(agent);
  if (next != agent) {
    passTo(next);
    awaitControl(agent);
  }
  return failure(isFailed);
}

LogicalResult Scheduler::yield(unsigned agent) {
  bool isAlone = agents.size() == 1 && inFlight.empty() && !isStepwise();
  if (policy.isEager() || isAlone)
    return success();
  return giveUpControl(agent);
}

LogicalResult Scheduler::waitUntil(unsigned agent, const Wait &wait) {
  if (policy.isEager() && wait.isOver())
    return success();
  agents[agent].wait = &wait;
  LogicalResult result = giveUpControl(agent);
  agents[agent].wait = nullptr;
  return result;
}

LogicalResult Scheduler::runAgents(unsigned parent, ArrayRef<Body> bodies) {
  unsigned first = agents.size();
  {
    // Threads of agents that were made before may be about to read the list.
    std::lock_guard<std::mutex> lock(mutex);
    agents.resize(first + bodies.size());
  }
  agents[parent].children = bodies.size();
  if (PartialOrderSearch *search = policy.getSearch())
    for (unsigned agent = first; agent < first + bodies.size(); ++agent)
      search->getTrace().start({agent, 0});
  std::vector<std::thread> threads;
  for (unsigned agent = first; agent < first + bodies.size(); ++agent)
    threads.emplace_back([this, bodies, parent, first, agent] {
      awaitControl(agent);
      if (!isFailed && failed(bodies[agent - first]()))
        isFailed = true;
      agents[agent].isLive = false;
      --agents[parent].children;
      passTo(pick(agent));
    });
  // The parent continues when all of its agents have ended.
  auto isOver = [&] { return agents[parent].children == 0; };
  Wait wait;
  wait.isOver = isOver;
  agents[parent].wait = &wait;
  LogicalResult result = giveUpControl(parent);
  agents[parent].wait = nullptr;
  for (std::thread &thread : threads)
    thread.join();
  if (succeeded(result))
    for (unsigned agent = first; agent < first + bodies.size(); ++agent)
      orderAfter({agent, 0});
  return result;
}

SmallVector<std::pair<unsigned, const Wait *>> Scheduler::getWaits() const {
  SmallVector<std::pair<unsigned, const Wait *>> waits;
  for (auto [i, agent] : llvm::enumerate(agents))
    if (agent.isLive && agent.wait && agent.wait->inst)
      waits.emplace_back(i, agent.wait);
  return waits;
}
