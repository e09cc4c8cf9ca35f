//===- ContextThreadsCAPI.cpp - The threads of contexts -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that is forked, as by Python's multiprocessing, has the pools of
// its parent without their threads: work for such a pool, and its destruction,
// never end. So a pool of ours is a shell around LLVM's, which a child replaces
// in all shells. The child leaks the old ones, whose locks may be held.
//
//   parent: context -> ProcessPool -> DefaultThreadPool with threads
//   child:  context -> ProcessPool -> another one, which starts its own threads
//
// Contexts share one such pool, unless they are given another one.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/ContextThreads.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>
#include <pthread.h>

using namespace mlir;

namespace {
class ProcessPool;

/// The live pools of this process.
class PoolRegistry {
public:
  static PoolRegistry &get();

  void add(ProcessPool *pool) {
    std::lock_guard<std::mutex> lock(mutex);
    pools.insert(pool);
  }
  void remove(ProcessPool *pool) {
    std::lock_guard<std::mutex> lock(mutex);
    pools.erase(pool);
  }

private:
  PoolRegistry();

  /// Lets all pools start anew, without the threads so far.
  void replaceAll();

  std::mutex mutex;
  llvm::DenseSet<ProcessPool *> pools;
};

/// Passes work on to a pool of this process.
class ProcessPool : public llvm::ThreadPoolInterface {
public:
  ProcessPool() { PoolRegistry::get().add(this); }
  ~ProcessPool() override {
    PoolRegistry::get().remove(this);
    delete pool;
  }

  void wait() override { pool->wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool->wait(group); }
  unsigned getMaxConcurrency() const override {
    return pool->getMaxConcurrency();
  }

  /// Starts anew. The pool so far cannot be deleted: it would wait for threads.
  void replace() { pool = new llvm::DefaultThreadPool(); }

private:
  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override {
    if (group)
      pool->async(*group, std::move(task));
    else
      pool->async(std::move(task));
  }

  llvm::DefaultThreadPool *pool = new llvm::DefaultThreadPool();
};

/// The contexts with calls, and how many each has.
struct Calls {
  std::mutex mutex;
  llvm::DenseMap<void *, unsigned> counts;
};
} // namespace

PoolRegistry &PoolRegistry::get() {
  // Is never deleted: pools may outlive what the process destroys at exit.
  static auto *registry = new PoolRegistry();
  return *registry;
}

PoolRegistry::PoolRegistry() {
  // Another thread may change the set while this one forks.
  pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                 [] { get().replaceAll(); });
}

void PoolRegistry::replaceAll() {
  for (ProcessPool *pool : pools)
    pool->replace();
  mutex.unlock();
}

static ProcessPool &getProcessPool() {
  // Is never deleted: contexts may outlive what the process destroys at exit.
  static auto *pool = new ProcessPool();
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

MlirLlvmThreadPool tilewsThreadPoolCreate() { return wrap(new ProcessPool()); }

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
