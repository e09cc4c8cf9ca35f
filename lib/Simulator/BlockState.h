//===- BlockState.h - What the agents of a block share ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The agents of a block, what they know of each other, and what they have done
// to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_BLOCKSTATE_H
#define TILEWS_LIB_SIMULATOR_BLOCKSTATE_H

#include "Barriers.h"
#include "Program.h"
#include "Recorder.h"
#include "Scheduler.h"
#include "Shadow.h"

namespace tilews::sim {

struct Box;
class Follower;
class ClusterState;

/// The block outside of its roles, or a role.
struct Agent {
  /// "role @math" or "the block".
  std::string name;
  /// The role, or null.
  mlir::Operation *role = nullptr;
  const class BlockState *block = nullptr;
  /// Whether one thread does all of its work.
  bool isOneThread = false;
  /// The components of its ordinary accesses, its copies by cp.async, its
  /// copies by TMA to global memory, and its asynchronous products.
  unsigned accesses = 0, copies = 0, stores = 0, products = 0;
  /// The present time of `accesses`; what was started of the others so far.
  uint32_t time = 1, copiesStarted = 0, storesStarted = 0, productsStarted = 0;
  /// What all of its threads know, and what each of them knows that has to:
  /// those that have done something know of it, others do once they have met.
  Knowledge all, each;
  /// The number of the last copy of each group that was closed.
  std::vector<uint32_t> groups;

  /// How many copies are in groups other than the last `pending` ones.
  uint32_t getCopiesBefore(size_t pending) const {
    return groups.size() > pending ? groups[groups.size() - 1 - pending] : 0;
  }
};

/// How an operation accesses memory.
struct AccessMode {
  bool writes = false;
  bool isAsyncProxy = false;
  std::optional<tile::AtomicKind> atomic = std::nullopt;
  /// What accesses it, if it is not done at once.
  std::shared_ptr<AsyncOp> op = nullptr;
};

class BlockState {
public:
  BlockState(const Launch &launch, Int3 block, int64_t rank,
             ClusterState &cluster);

  Scheduler &scheduler;
  /// Whether threads of an agent are ordered only where they meet.
  bool isExplicit;

  Agent &getAgent(unsigned number) const;
  /// The number of the agent that is the block outside of roles.
  unsigned getMainAgent() const { return main; }
  /// Whether an agent is one of the block's.
  bool owns(unsigned agent) const { return getAgent(agent).block == this; }
  /// Adds a role; it knows what all threads of the block know.
  unsigned addRole(mlir::Operation *role, std::string name, bool isOneThread);
  /// Hands what a role has done on to the block.
  void joinRole(unsigned number);

  std::shared_ptr<BarrierArray> makeBarriers(mlir::Value value,
                                             std::string name, int64_t slots,
                                             int64_t count);
  /// The barriers made so far can be used, or by all of the cluster.
  void makeBarriersReady(bool inCluster);

  //===--------------------------------------------------------------------===//
  // The cluster
  //===--------------------------------------------------------------------===//

  ClusterState &getCluster() { return cluster; }
  int64_t getRank() const { return rank; }
  Int3 getBlock() const { return block; }
  /// The blocks of the cluster with these ranks, one bit each.
  llvm::SmallVector<BlockState *> getBlocks(uint32_t ranks);
  /// This block's barriers that are made where `barriers` are, for an agent of
  /// another one. Fails if they cannot be used.
  mlir::FailureOr<BarrierArray *> getBarriersFor(Frame &frame,
                                                 const Instruction &inst,
                                                 const BarrierArray &barriers);
  /// A view of this block's buffer that lies where another block's does.
  mlir::FailureOr<MemRef> getMemRefFor(Frame &frame, const Instruction &inst,
                                       const MemRef &memref);
  void addBuffer(const Instruction &alloc, std::shared_ptr<Buffer> buffer) {
    buffers[&alloc] = std::move(buffer);
  }
  /// Notes that an agent of another block reaches into this one now.
  void addGuest(const Agent &agent, const Instruction &inst) {
    guests.push_back({agent.accesses, agent.time, &inst});
  }
  /// The block ends. Fails if others may still reach into it.
  mlir::LogicalResult leave();

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// The agent's threads meet.
  void meet(Agent &agent);
  /// Each thread of the agent has found out something new.
  void settle(Agent &agent);
  /// The agent's ordinary writes, and what it knows of others', become visible
  /// to the async proxy.
  void fence(Agent &agent);
  /// What an arrival of all threads, or of one of them, tells others.
  Knowledge tell(Agent &agent, bool byOneThread);
  /// Waits for the agent's operations of a kind, the first `count` of them;
  /// each of its threads then knows that they are complete.
  mlir::LogicalResult finish(Frame &frame, AsyncKind kind, uint32_t count);
  /// Whether an asynchronous product of the agent writes the value, and has not
  /// been waited for.
  bool isUnfinished(unsigned agent, const Datum &datum) const {
    if (!datum.fragment || datum.fragment->product == 0)
      return false;
    const Agent &own = getAgent(agent);
    return datum.fragment->product > own.each.done.get(own.products);
  }
  /// Tells all threads of the agent.
  void learn(Agent &agent, const Knowledge &knowledge);

  /// The bytes of all buffers that have a place.
  std::shared_ptr<Cells> getArena() { return arena; }
  /// An operation writes its scratch memory, its threads meet, and it reads it.
  mlir::LogicalResult useScratch(Frame &frame, const Instruction &inst);
  /// Notes an access to memory and checks that it is ordered.
  mlir::LogicalResult access(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const AccessMode &mode);

  //===--------------------------------------------------------------------===//
  // Records
  //===--------------------------------------------------------------------===//

  /// Null unless the block follows an order of events.
  Follower *getFollower();
  /// Null unless the block is recorded.
  Recorder *getRecorder() { return recorder.get(); }
  /// Starts an operation and records it as one of `unit`.
  mlir::LogicalResult start(std::shared_ptr<AsyncOp> op, RecordUnit unit,
                            const Record &details);
  /// Hands the records on.
  void emitRecords() const;

  //===--------------------------------------------------------------------===//
  // Failure
  //===--------------------------------------------------------------------===//

  /// Fails if a copy by TMA was not waited for.
  mlir::LogicalResult checkLoads();
  /// Notes a copy by TMA that has to be waited for.
  void addLoad(std::shared_ptr<AsyncOp> op) { loads.push_back(std::move(op)); }

  /// Stops the cluster; the first reason counts.
  void fail(Failure reason);

private:
  /// The event of an access that the shadow has to know of.
  Event makeEvent(unsigned agent, const Instruction &inst,
                  const AccessMode &mode, const void *buffer) const;
  Viewer getViewer(unsigned agent) const;
  bool isInOrder(const Conflict &conflict, unsigned agent) const;
  /// Notes an access in the record of the operation that makes it.
  void note(Frame &frame, const Cells &cells, int64_t first, int64_t count,
            bool writes);
  /// The bytes of a buffer; null if nobody writes it.
  Cells *getCells(const Buffer &buffer);
  mlir::LogicalResult checkPresence(Frame &frame, const Instruction &inst,
                                    bool isHere);
  mlir::LogicalResult failAccess(Frame &frame, const Instruction &inst,
                                 const std::string &place, bool writes,
                                 const Conflict &conflict);

  /// What an agent of another block has done to this one.
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
  Shadow shadow;
  std::shared_ptr<Cells> arena = std::make_shared<Cells>();
  /// Global memory that the kernel writes.
  llvm::DenseMap<const Buffer *, std::unique_ptr<Cells>> global;
  unsigned numBarriers = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BLOCKSTATE_H
