//===- ContextThreadsCAPI.cpp - The threads of contexts -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that is forked, as by Python's multiprocessing, has the pools of
// its parent without their threads: work for such a pool, and its destruction,
// never end. So contexts share one pool, which a child replaces. The child
// leaks the old one, whose locks may be held.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/ContextThreads.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>
#include <pthread.h>

using namespace mlir;

namespace {
/// Passes work on to a pool of this process.
class ProcessPool : public llvm::ThreadPoolInterface {
public:
  void wait() override { pool->wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool->wait(group); }
  unsigned getMaxConcurrency() const override {
    return pool->getMaxConcurrency();
  }

  /// Starts anew, without the threads so far.
  void replace() { pool = new llvm::DefaultThreadPool(); }

private:
  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override {
    if (group)
      pool->async(*group, std::move(task));
    else
      pool->async(std::move(task));
  }

  /// Is never deleted: contexts may outlive what the process destroys at exit.
  llvm::DefaultThreadPool *pool = new llvm::DefaultThreadPool();
};

/// The contexts with calls, and how many each has.
struct Calls {
  std::mutex mutex;
  llvm::DenseMap<void *, unsigned> counts;
};
} // namespace

static ProcessPool &getProcessPool() {
  static ProcessPool *pool = [] {
    auto *made = new ProcessPool();
    static ProcessPool *shared = made;
    pthread_atfork(nullptr, nullptr, [] { shared->replace(); });
    return made;
  }();
  return *pool;
}

static Calls &getCalls() {
  // Threads that end after the main one may have calls.
  static auto *calls = new Calls();
  return *calls;
}

void tilewsContextUseSharedThreads(MlirContext context) {
  unwrap(context)->setThreadPool(getProcessPool());
  unwrap(context)->disableMultithreading();
}

void tilewsContextBeginCall(MlirContext context) {
  Calls &calls = getCalls();
  std::lock_guard<std::mutex> lock(calls.mutex);
  ++calls.counts[context.ptr];
}

void tilewsContextEndCall(MlirContext context) {
  Calls &calls = getCalls();
  std::lock_guard<std::mutex> lock(calls.mutex);
  auto it = calls.counts.find(context.ptr);
  if (--it->second == 0)
    calls.counts.erase(it);
}

bool tilewsContextIsBusy(MlirContext context) {
  Calls &calls = getCalls();
  std::lock_guard<std::mutex> lock(calls.mutex);
  return calls.counts.contains(context.ptr);
}
