//===- Scheduler.h - The agents of a block take turns -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The block and its roles are agents, of which one at a time runs. Each has a
// thread of its own, so that it can stop in the middle of nested loops. Beside
// them there are operations under way, which the policy completes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_SCHEDULER_H
#define TILEWS_LIB_SIMULATOR_SCHEDULER_H

#include "Policy.h"

#include <condition_variable>
#include <mutex>

namespace tilews::sim {

struct Instruction;
struct MBarrier;

enum class AsyncKind {
  /// A copy by TMA to shared memory, whose bytes land on a barrier.
  Load,
  /// A copy by cp.async.
  Copy,
  /// A copy by TMA to global memory.
  Store,
  /// A product that reads its operands.
  Product,
  /// Arrivals at a barrier.
  Arrival
};

/// An operation that completes at any time from its start on.
struct AsyncOp {
  AsyncKind kind;
  unsigned agent = 0;
  const Instruction *inst = nullptr;
  /// Those who know `component` up to `time` know that it is complete.
  unsigned component = 0;
  uint32_t time = 0;
  /// The barrier in memory that it arrives at, or reports bytes to.
  const MBarrier *signals = nullptr;
  /// What it does when it completes. It may fail the block.
  std::function<mlir::LogicalResult()> complete;
  /// What has to be complete before.
  llvm::SmallVector<std::shared_ptr<AsyncOp>, 2> after;
  bool isDone = false;

  bool canComplete() const {
    return llvm::all_of(after, [](auto &op) { return op->isDone; });
  }
};

/// What an agent waits for.
struct Wait {
  const Instruction *inst = nullptr;
  llvm::function_ref<bool()> isOver;
  /// Text and further notes for a report of all who wait.
  llvm::function_ref<void(struct Failure &)> describe;
  /// The barrier in memory that is waited for, if it is one.
  const MBarrier *barrier = nullptr;
};

class Scheduler {
public:
  /// Calls `fail` when nothing can happen any more.
  Scheduler(Policy &policy, std::function<void()> onDeadlock)
      : policy(policy), onDeadlock(std::move(onDeadlock)), agents(1) {}

  /// Where no agent can run, lets complete first what one of them waits for.
  void completeWhatIsAwaited() { isPurposeful = true; }

  using Body = std::function<mlir::LogicalResult()>;
  /// Lets agent `parent` run others beside each other, the first of which gets
  /// the next number, until all have ended.
  mlir::LogicalResult runAgents(unsigned parent, llvm::ArrayRef<Body> bodies);
  unsigned getNextAgent() const { return agents.size(); }

  /// Lets others run, if the policy says so. Fails if the block has failed.
  mlir::LogicalResult yield(unsigned agent);
  /// Lets others run until a wait is over.
  mlir::LogicalResult waitUntil(unsigned agent, const Wait &wait);

  /// Starts an operation.
  mlir::LogicalResult start(std::shared_ptr<AsyncOp> op);
  /// Completes the operations under way that `select` holds for, in the order
  /// of their start.
  mlir::LogicalResult
  complete(llvm::function_ref<bool(const AsyncOp &)> select);
  llvm::ArrayRef<std::shared_ptr<AsyncOp>> getUnderWay() const {
    return underWay;
  }

  /// What the agents wait for that have not ended; null for those that do not.
  llvm::SmallVector<std::pair<unsigned, const Wait *>> getWaits() const;

private:
  struct Agent {
    bool isLive = true;
    const Wait *wait = nullptr;
    /// The agents that it runs and that have not ended.
    unsigned children = 0;
    /// Shared, so that agents can be moved.
    std::shared_ptr<std::condition_variable> turn =
        std::make_shared<std::condition_variable>();

    bool canRun() const { return isLive && (!wait || wait->isOver()); }
  };

  bool isAwaited(const AsyncOp &op) const;
  mlir::LogicalResult completeOne(size_t number);
  unsigned pick(unsigned agent);
  unsigned getAnyLive(unsigned agent) const;
  void passTo(unsigned next);
  void awaitTurn(unsigned agent);
  mlir::LogicalResult leaveTurn(unsigned agent);

  Policy &policy;
  std::function<void()> onDeadlock;
  std::vector<Agent> agents;
  std::vector<std::shared_ptr<AsyncOp>> underWay;
  /// Set when the block has failed: agents then end one after the other.
  bool isFailed = false;
  bool isPurposeful = false;

  std::mutex mutex;
  unsigned current = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_SCHEDULER_H
