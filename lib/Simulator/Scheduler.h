//===- Scheduler.h - Agents run one at a time -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The block and its roles are agents. One of them runs at a time. Each has an
// operating-system thread, so that it can stop in the middle of nested loops.
// Asynchronous operations in flight run beside them; the policy decides when
// each completes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_SCHEDULER_H
#define TILEWS_LIB_SIMULATOR_SCHEDULER_H

#include "PartialOrderSearch.h"
#include "Policy.h"

#include "tilews/Simulator/Interruption.h"

#include <condition_variable>
#include <mutex>

namespace tilews::sim {

struct Instruction;
struct MBarrier;

/// An operation that completes at any time after its start.
///
/// Example: the second cp.async of role @load has the component of the role's
/// copies and time 2. An agent whose clock has 2 or more for that component is
/// ordered after it.
struct AsyncOp {
  AsyncKind kind;
  unsigned agent = 0;
  /// Its number among the operations that the agent has started, from 1 on.
  unsigned number = 0;
  const Instruction *inst = nullptr;
  /// Its completion is event `time` of `component`.
  unsigned component = 0;
  uint32_t time = 0;
  /// The barrier in memory at which it arrives, or on which its bytes land.
  const MBarrier *signals = nullptr;
  /// Called when it completes. Failure stops the block.
  std::function<mlir::LogicalResult()> complete;
  /// Operations that must complete before it.
  llvm::SmallVector<std::shared_ptr<AsyncOp>, 2> after;
  bool isDone = false;

  bool canComplete() const {
    return llvm::all_of(after, [](auto &op) { return op->isDone; });
  }
};

/// A wait of an agent: the operation, when it is over, and what to report if it
/// never is.
struct Wait {
  const Instruction *inst = nullptr;
  llvm::function_ref<bool()> isOver;
  /// Adds notes to a report of all waiting agents.
  llvm::function_ref<void(struct Failure &)> describe;
  /// The barrier in memory that the agent waits for, if it is one, and the
  /// parity.
  const MBarrier *barrier = nullptr;
  int64_t parity = 0;
};

/// Runs the agents of a block or a cluster, one at a time.
///
/// Example: @load starts a copy and waits for a free slot. `waitUntil` asks the
/// policy, which may complete the copy, continue @math, or do both in either
/// order, until the wait of @load is over and the policy chooses @load.
class Scheduler {
public:
  /// Calls `onDeadlock` when no step is possible.
  Scheduler(Policy &policy, Interruption *interruption,
            std::function<void()> onDeadlock)
      : policy(policy), interruption(interruption),
        onDeadlock(std::move(onDeadlock)), agents(1) {}
  ~Scheduler();

  /// When no agent can run, prefers operations that an agent waits for.
  void preferAwaited() { prefersAwaited = true; }

  using Body = std::function<mlir::LogicalResult()>;
  /// Runs one new agent for each body, concurrently, until all have ended. The
  /// first gets number `getNextAgent()`. `parent` waits.
  mlir::LogicalResult runAgents(unsigned parent, llvm::ArrayRef<Body> bodies);
  unsigned getNextAgent() const { return agents.size(); }

  /// Lets the policy continue another agent. Fails if the block has failed.
  mlir::LogicalResult yield(unsigned agent);
  /// Lets other agents run until the wait is over.
  mlir::LogicalResult waitUntil(unsigned agent, const Wait &wait);

  /// Starts an asynchronous operation.
  mlir::LogicalResult start(std::shared_ptr<AsyncOp> op);
  /// Completes the operations in flight for which `select` returns true, in the
  /// order of their start. Stepwise, the agent waits until they have completed.
  mlir::LogicalResult
  complete(unsigned agent, llvm::function_ref<bool(const AsyncOp &)> select);
  llvm::ArrayRef<std::shared_ptr<AsyncOp>> getInFlight() const {
    return inFlight;
  }

  /// Returns whether each effect on other agents is a step of its own.
  bool isStepwise() const { return policy.isStepwise(); }
  /// Tells a search that the present step uses a barrier or memory.
  void touch(const Touch &touch) const {
    if (PartialOrderSearch *search = policy.getSearch())
      search->getTrace().touch(touch);
  }

  /// Returns the waiting agents that have not ended, with their waits.
  llvm::SmallVector<std::pair<unsigned, const Wait *>> getWaits() const;

private:
  struct AgentStatus {
    bool isLive = true;
    const Wait *wait = nullptr;
    /// How many of the agents that it started have not ended.
    unsigned children = 0;
    /// How many asynchronous operations it has started.
    unsigned operations = 0;
    /// Signalled when it may continue. Shared, so that agents can be moved.
    std::shared_ptr<std::condition_variable> resumed =
        std::make_shared<std::condition_variable>();

    bool canRun() const { return isLive && (!wait || wait->isOver()); }
  };

  bool isAwaited(const AsyncOp &op) const;
  mlir::LogicalResult
  awaitAll(unsigned agent, llvm::function_ref<bool(const AsyncOp &)> select);
  std::optional<unsigned> choose(llvm::ArrayRef<unsigned> ready, bool runsOn,
                                 llvm::ArrayRef<size_t> completing);
  void orderAfter(Process process) const;
  void noteBlocked() const;
  mlir::LogicalResult completeOne(size_t number);
  unsigned pick(unsigned agent);
  unsigned getAnyLive(unsigned agent) const;
  void passTo(unsigned next);
  void awaitControl(unsigned agent);
  mlir::LogicalResult giveUpControl(unsigned agent);

  Policy &policy;
  Interruption *interruption;
  std::function<void()> onDeadlock;
  std::vector<AgentStatus> agents;
  std::vector<std::shared_ptr<AsyncOp>> inFlight;
  /// Stepwise: all operations that were ever started.
  std::vector<std::shared_ptr<AsyncOp>> started;
  /// Whether the block has failed. Agents then end one after the other.
  bool isFailed = false;
  bool prefersAwaited = false;

  std::mutex mutex;
  unsigned current = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_SCHEDULER_H
