//===- BlockState.h - State shared by the agents of a block -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The agents of a block, their vector clocks, and the barriers and buffers of
// the block.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_BLOCKSTATE_H
#define TILEWS_LIB_SIMULATOR_BLOCKSTATE_H

#include "AccessCheck.h"
#include "Barriers.h"
#include "Recorder.h"
#include "Scheduler.h"

namespace tilews::sim {

class Follower;
class ClusterState;

/// A thread of execution: a role or, outside of roles, the whole block.
///
/// It may stand for many threads, so it has two clocks. `all` holds what
/// happens before the next step of every one of its threads. `each` also holds
/// what happens before the next step of some of them only. After 128 threads
/// have each waited for their own cp.async copies, `each` has the copies and
/// `all` does not: a thread may not read what another one copied. A barrier of
/// the agent makes `all` equal to `each`.
struct Agent {
  /// For messages: "role @math" or "the block".
  std::string name;
  /// The role; null for the block.
  mlir::Operation *role = nullptr;
  const class BlockState *block = nullptr;
  /// Whether one thread does all of its work.
  bool isOneThread = false;
  /// The components of its ordinary accesses, its copies by cp.async, its
  /// copies by TMA to global memory, and its asynchronous matmuls.
  unsigned accesses = 0, copies = 0, stores = 0, matmuls = 0;
  /// The present time of `accesses`, and how many of the others have started.
  uint32_t time = 1, copiesStarted = 0, storesStarted = 0, matmulsStarted = 0;
  Clocks all, each;
  /// The number of the last copy of each closed group.
  std::vector<uint32_t> groups;

  /// Returns how many copies are in groups other than the last `pending` ones.
  uint32_t getCopiesBefore(size_t pending) const {
    return groups.size() > pending ? groups[groups.size() - 1 - pending] : 0;
  }
};

/// The state of one block while it runs.
class BlockState {
public:
  BlockState(const Launch &launch, Int3 block, int64_t rank,
             ClusterState &cluster);

  Scheduler &scheduler;
  /// Whether only barriers order the threads of an agent, as on the GPU. If
  /// not, an agent counts as one thread.
  bool isExplicit;

  //===--------------------------------------------------------------------===//
  // Agents and barriers
  //===--------------------------------------------------------------------===//

  Agent &getAgent(unsigned number) const;
  /// Returns the number of the agent that is the block outside of roles.
  unsigned getMainAgent() const { return main; }
  /// Returns whether an agent belongs to this block.
  bool owns(unsigned agent) const { return getAgent(agent).block == this; }
  /// Adds a role, whose clocks start as those of all threads of the block.
  unsigned addRole(mlir::Operation *role, std::string name, bool isOneThread);
  /// Joins the clocks of a role that has ended into those of the block.
  void joinRole(unsigned number);

  std::shared_ptr<BarrierArray> makeBarriers(mlir::Value value,
                                             std::string name, int64_t slots,
                                             int64_t count);
  /// Returns whether no phase has depended on the order of its updates.
  bool isRegular() const;
  /// Makes the barriers so far usable for the block, or for the cluster.
  void makeBarriersReady(bool inCluster);

  //===--------------------------------------------------------------------===//
  // The cluster
  //===--------------------------------------------------------------------===//

  ClusterState &getCluster() { return cluster; }
  int64_t getRank() const { return rank; }
  Int3 getBlock() const { return block; }
  /// Returns the blocks of the cluster with these ranks, one bit each.
  llvm::SmallVector<BlockState *> getBlocks(uint32_t ranks);
  /// Returns this block's barriers that the same operation as `barriers` made,
  /// for an agent of another block. Fails if they are not usable yet.
  mlir::FailureOr<BarrierArray *> getBarriersFor(Frame &frame,
                                                 const Instruction &inst,
                                                 const BarrierArray &barriers);
  /// Returns a view of this block's buffer at the place of another block's.
  mlir::FailureOr<MemRef> getMemRefFor(Frame &frame, const Instruction &inst,
                                       const MemRef &memref);
  void addBuffer(const Instruction &alloc, std::shared_ptr<Buffer> buffer) {
    buffers[&alloc] = std::move(buffer);
  }
  /// Notes that an agent of another block accesses this one from now on.
  void addGuest(const Agent &agent, const Instruction &inst) {
    guests.push_back({agent.accesses, agent.time, &inst});
  }
  /// Ends the block. Fails if other blocks may still access it.
  mlir::LogicalResult leave();

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// Synchronizes the agent's threads: a barrier.
  void synchronize(Agent &agent);
  /// Synchronizes agents whose threads count as one, after a change of `each`.
  void synchronizeImplicitly(Agent &agent);
  /// Makes the agent's ordinary writes, and those ordered before it, visible to
  /// the async proxy.
  void fence(Agent &agent);
  /// Returns the clocks that an arrival passes on: those of all threads, or of
  /// one of them.
  Clocks makeArrivalClocks(Agent &agent, bool byOneThread);
  /// Joins clocks into those of every thread of the agent.
  void joinClocks(Agent &agent, const Clocks &clocks);
  /// Waits for the agent's first `count` operations of a kind, by each thread
  /// for its own.
  mlir::LogicalResult finish(Frame &frame, AsyncKind kind, uint32_t count);
  /// Returns whether an asynchronous matmul of the agent has yet to write the
  /// value.
  bool isUnfinished(unsigned agent, const Datum &datum) const {
    if (!datum.fragment || datum.fragment->matmul == 0)
      return false;
    const Agent &own = getAgent(agent);
    return datum.fragment->matmul > own.each.done.get(own.matmuls);
  }
  AccessChecker &getAccesses() { return accesses; }

  //===--------------------------------------------------------------------===//
  // Asynchronous operations and records
  //===--------------------------------------------------------------------===//

  /// Starts an operation and records it as one of `unit`.
  mlir::LogicalResult start(std::shared_ptr<AsyncOp> op, RecordUnit unit,
                            const Record &details);
  /// Adds a copy by TMA that some agent has to wait for.
  void addLoad(std::shared_ptr<AsyncOp> op) { loads.push_back(std::move(op)); }
  /// Fails if no agent has waited for some copy by TMA.
  mlir::LogicalResult checkLoads();

  /// Returns null unless the block follows an order of events.
  Follower *getFollower();
  /// Returns null unless the block is recorded.
  Recorder *getRecorder() { return recorder.get(); }
  /// Passes the records to the launch.
  void emitRecords() const;

  /// Stops the cluster. The first reason is reported.
  void fail(Failure reason);

private:
  mlir::LogicalResult checkPresence(Frame &frame, const Instruction &inst,
                                    bool isHere);

  /// An access by an agent of another block.
  struct Guest {
    unsigned component;
    uint32_t time;
    const Instruction *inst;
  };

  const Launch &launch;
  Int3 block;
  int64_t rank;
  ClusterState &cluster;
  unsigned main;
  bool hasLeft = false;
  std::unique_ptr<Recorder> recorder;
  std::vector<Guest> guests;
  llvm::DenseMap<const Instruction *, std::shared_ptr<Buffer>> buffers;
  std::vector<std::shared_ptr<BarrierArray>> barriers;
  std::vector<std::shared_ptr<AsyncOp>> loads;
  AccessChecker accesses;
  unsigned numBarriers = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BLOCKSTATE_H
