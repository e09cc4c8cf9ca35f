//===- ConcurrentBlocks.cpp - Blocks that wait for each other -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each block has an operating-system thread, of which one runs at a time. A
// poll passes control on to the next block that has started, in the order of
// their numbers. When a whole round of polls has changed nothing, the next
// block starts. With all blocks started, the launch is stuck when polls go on
// without a change. They may be part of a loop that gives up after a number of
// attempts, so that not the first idle round decides, but a large number.
//
//===----------------------------------------------------------------------===//

#include "ConcurrentBlocks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::sim;

/// The most blocks that wait at a time: each has a thread.
static constexpr size_t kMostWaiting = 4096;
/// Idle polls after which blocks that only wait are stuck.
static constexpr int64_t kIdlePolls = 200'000;

bool ConcurrentBlocks::canStart() const {
  return next < count && live.size() < kMostWaiting && !isStuck;
}

/// Joins the threads of blocks that have ended, except the calling one. A
/// thread keeps its stack until it is joined, and a grid can have a million
/// blocks.
void ConcurrentBlocks::joinEnded() {
  llvm::erase_if(threads, [](std::pair<bool, std::thread> &entry) {
    auto &[hasEnded, thread] = entry;
    if (!hasEnded || thread.get_id() == std::this_thread::get_id())
      return false;
    thread.join();
    return true;
  });
}

/// Starts the next block on a thread of its own and lets it run.
void ConcurrentBlocks::start() {
  joinEnded();
  int64_t index = next++;
  current = index;
  idlePolls = 0;
  live[index];
  threads.emplace_back(false, std::thread([this, index] {
                         bool succeeded = run(index);
                         std::lock_guard<std::mutex> lock(mutex);
                         isStuck |= !succeeded;
                         live.erase(index);
                         idlePolls = 0;
                         for (auto &[hasEnded, thread] : threads)
                           hasEnded |=
                               thread.get_id() == std::this_thread::get_id();
                         if (live.empty() && !canStart())
                           ended.notify_all();
                         else
                           passOn();
                       }));
}

/// Lets another block run: a new one if all others have polled in vain.
void ConcurrentBlocks::passOn() {
  bool allWait = live.empty() || idlePolls >= int64_t(live.size());
  if (allWait && canStart())
    return start();
  auto it = live.upper_bound(current);
  if (it == live.end())
    it = live.begin();
  current = it->first;
  it->second.resumed.notify_one();
}

LogicalResult ConcurrentBlocks::poll() {
  std::unique_lock<std::mutex> lock(mutex);
  int64_t own = current;
  isStuck |= ++idlePolls > kIdlePolls + int64_t(live.size());
  if (isStuck)
    return failure();
  passOn();
  live[own].resumed.wait(lock, [&] { return current == own; });
  return failure(isStuck);
}

void ConcurrentBlocks::runAll() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    if (!canStart())
      return;
    start();
    interruption.wait(ended, lock, [&] { return live.empty() && !canStart(); });
  }
  for (auto &[hasEnded, thread] : threads)
    thread.join();
}
