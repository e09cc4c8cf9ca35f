//===- Interruption.h - The end of a run on request -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SIMULATOR_INTERRUPTION_H
#define TILEWS_SIMULATOR_INTERRUPTION_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tilews::sim {

/// Asks the caller of a run, every 50 ms and on its own thread, whether the run
/// has to end. All threads of the run see the answer.
///
/// Example: a user presses Ctrl-C while the calling thread waits for the roles
/// of a block. The thread wakes up and asks, and the roles fail at their next
/// operations.
class Interruption {
public:
  explicit Interruption(llvm::function_ref<bool()> ask)
      : ask(ask), caller(std::this_thread::get_id()),
        next(Clock::now() + kInterval) {}

  /// Returns whether the run has to end.
  bool isRequested() {
    if (requested || !canAsk())
      return requested;
    Clock::time_point now = Clock::now();
    if (now < next)
      return false;
    requested = ask();
    next = Clock::now() + kInterval;
    return requested;
  }

  /// Waits until `isOver` returns true. The calling thread still asks.
  template <typename Predicate>
  void wait(std::condition_variable &changed,
            std::unique_lock<std::mutex> &lock, Predicate isOver) {
    if (!canAsk())
      return changed.wait(lock, isOver);
    while (!changed.wait_for(lock, kInterval, isOver)) {
      lock.unlock();
      (void)isRequested();
      lock.lock();
    }
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{50};

  bool canAsk() const { return ask && std::this_thread::get_id() == caller; }

  llvm::function_ref<bool()> ask;
  std::thread::id caller;
  Clock::time_point next;
  std::atomic<bool> requested = false;
};

} // namespace tilews::sim

#endif // TILEWS_SIMULATOR_INTERRUPTION_H
