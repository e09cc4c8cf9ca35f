//===- ConcurrentBlocks.h - Blocks that wait for each other -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_CONCURRENTBLOCKS_H
#define TILEWS_LIB_SIMULATOR_CONCURRENTBLOCKS_H

#include "tilews/Simulator/Interruption.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace tilews::sim {

/// Runs blocks one at a time, and another one whenever a block polls memory in
/// a loop. A block starts only when all that have started poll, so that a block
/// may wait for any other one.
///
/// Example: block 0 spins on a flag that block 1 sets. Block 0 polls, block 1
/// starts, sets the flag and ends, and block 0 goes on.
class ConcurrentBlocks {
public:
  /// `run` runs block `index` to its end; false stops the other ones.
  ConcurrentBlocks(int64_t count, Interruption &interruption,
                   llvm::function_ref<bool(int64_t index)> run)
      : count(count), interruption(interruption), run(run) {}

  /// Runs all blocks, or until none can go on.
  void runAll();

  /// Lets other blocks run. Fails if no block has changed memory for so many
  /// polls that none will go on. Called by the block that runs.
  mlir::LogicalResult poll();
  /// The block that runs has changed memory, so that others may go on.
  void noteChange() { idlePolls = 0; }

  /// Returns how many blocks have started and not ended.
  size_t countLive() const { return live.size(); }

private:
  struct Block {
    std::condition_variable resumed;
  };

  bool canStart() const;
  void joinEnded();
  void start();
  void passOn();

  int64_t count;
  Interruption &interruption;
  llvm::function_ref<bool(int64_t)> run;
  std::mutex mutex;
  std::condition_variable ended;
  /// The threads that are not joined, and whether their blocks have ended.
  std::vector<std::pair<bool, std::thread>> threads;
  /// The blocks that have started and not ended.
  std::map<int64_t, Block> live;
  /// The block that runs, and the next one to start.
  int64_t current = -1, next = 0;
  /// Polls since a block changed memory, started, or ended.
  int64_t idlePolls = 0;
  bool isStuck = false;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_CONCURRENTBLOCKS_H
