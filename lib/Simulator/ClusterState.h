//===- ClusterState.h - Blocks that run together ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster that write into each other's memory run together: their
// agents are numbered through, and one scheduler chooses among all that can
// happen in any of them. Other blocks are clusters of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H
#define TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H

#include "BlockState.h"
#include "Follower.h"

namespace tilews::sim {

class ClusterState {
public:
  /// The blocks from `first` on; a single one is agent 0, of several agent 0
  /// does nothing but start them.
  ClusterState(const Launch &launch, Int3 first, Policy &policy);

  /// Runs `body` on each block; returns why it failed if it did.
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
  /// Null unless the blocks follow an order of events.
  Follower *getFollower() { return follower.get(); }
  unsigned makeComponent() { return numComponents++; }

  /// The threads of all blocks meet.
  mlir::LogicalResult meet(Frame &frame, const Instruction &inst);

  /// Stops the blocks; the first reason counts.
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
  /// How often all have met, how many have come since, and what they know.
  uint64_t meetings = 0;
  size_t waiting = 0;
  Knowledge arriving, met;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_CLUSTERSTATE_H
