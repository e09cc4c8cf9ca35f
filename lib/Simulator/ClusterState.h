//===- ClusterState.h - Blocks that run together ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster that access the memory of each other run together: their
// agents have consecutive numbers, and one scheduler chooses among the steps of
// all of them. Other blocks are clusters of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H
#define TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H

#include "BlockState.h"
#include "Follower.h"

namespace tilews::sim {

/// The state of the blocks that run together.
///
/// Example: a cluster of 2 x 1 blocks with two roles each has agents 0 (starts
/// the blocks), 1 and 2 (the blocks), and 3 to 6 (the roles, in the order in
/// which the blocks start them).
class ClusterState {
public:
  /// Makes the blocks of the cluster that starts at block `first`. A single
  /// block is agent 0; with several blocks, agent 0 only starts them.
  ClusterState(const Launch &launch, Int3 first, Policy &policy);

  /// Runs `body` on each block. Returns the first failure, if any.
  std::optional<Failure>
  run(llvm::function_ref<mlir::LogicalResult(BlockState &)> body);

  llvm::ArrayRef<std::unique_ptr<BlockState>> getBlocks() const {
    return blocks;
  }
  const tile::Cluster &getExtents() const { return launch.cluster; }

  Agent &getAgent(unsigned number) { return *agents[number]; }
  unsigned addAgent(std::unique_ptr<Agent> agent) {
    agents.push_back(std::move(agent));
    return agents.size() - 1;
  }
  /// Returns null unless the blocks follow an order of events.
  Follower *getFollower() { return follower.get(); }
  unsigned makeComponent() { return numComponents++; }

  /// Synchronizes the threads of all blocks: a barrier of the cluster.
  mlir::LogicalResult synchronize(Frame &frame, const Instruction &inst);

  /// Stops the blocks. The first reason is reported.
  void fail(Failure reason) {
    if (!failure)
      failure = std::move(reason);
  }

  Scheduler scheduler;

private:
  mlir::LogicalResult checkOrder();
  void reportDeadlock();

  const Launch &launch;
  std::vector<std::unique_ptr<Agent>> agents;
  std::vector<std::unique_ptr<BlockState>> blocks;
  std::unique_ptr<Follower> follower;
  unsigned numComponents = 0;
  std::optional<Failure> failure;
  /// The barrier of the cluster: how often it was complete, the blocks that
  /// have arrived since, their joined clocks, and those of the last time.
  uint64_t generation = 0;
  size_t numArrived = 0;
  Clocks arriving, released;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H
