//===- Interpreter.cpp - Reference interpreter of tile kernels ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry point of the simulator: translates the kernel, binds arguments and the
// grid, and runs the blocks on several CPU threads. Blocks are independent, so
// a queue hands out their numbers in order. After a failure, blocks with larger
// numbers are skipped, and the failure of the block with the smallest number is
// reported: the result does not depend on the number of CPU threads.
//
// Kernels with loops in which a block may wait for another one run all blocks
// concurrently (ConcurrentBlocks.h).
//
// Kernels that print or update memory atomically, and searches, which restore
// the memory between runs, use one CPU thread.
//
//===----------------------------------------------------------------------===//

#include "tilews/Simulator/Interpreter.h"
#include "BlockRunner.h"
#include "ConcurrentBlocks.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Simulator/Interruption.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Returns whether the outcome may depend on the order of blocks.
static bool isOrdered(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    return isa<tile::AtomicOpInterface, tile::PrintOp, memref::AtomicRMWOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Returns whether a block may wait for another one: a loop repeats an access
/// that others may change the result of.
static bool mayWait(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](tile::AtomicOpInterface op) {
    return op->getNumResults() > 0 && op->getParentOfType<scf::WhileOp>()
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Returns the cluster if its blocks access the memory of each other, so that
/// they must run together, and else a cluster of one block.
static tile::Cluster getSharedCluster(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    auto ready = dyn_cast<tile::MBarrierReadyOp>(op);
    auto arrive = dyn_cast<tile::MBarrierArriveOp>(op);
    auto copy = dyn_cast<tile::CopyOp>(op);
    bool isShared = isa<tile::ClusterBarrierOp>(op) ||
                    (ready && ready.getCluster()) ||
                    (arrive && arrive.getPeers()) ||
                    (copy && copy.getSignal() && copy.getMulticast());
    return isShared ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted() ? tile::Cluster::get(kernel) : tile::Cluster();
}

/// Returns whether barriers have been inserted into the kernel, so that only
/// they order the threads.
static bool hasExplicitBarriers(gpu::GPUFuncOp kernel, BarrierMode mode) {
  if (mode != BarrierMode::Detect)
    return mode == BarrierMode::Explicit;
  WalkResult result = kernel.walk([](Operation *op) {
    auto wait = dyn_cast<tile::WaitOp>(op);
    bool isFenced = wait && wait.getProxyFence();
    return isFenced || isa<tile::BarrierOp, gpu::BarrierOp, tile::MBarrierOp,
                           tile::CopyGroupWaitOp, tile::ProxyFenceOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Marks the arguments that the kernel writes; all of them if an access cannot
/// be traced to one. Fails if one is read-only, also if no block would write
/// it.
static LogicalResult markWritten(gpu::GPUFuncOp kernel,
                                 ArrayRef<Datum> arguments) {
  auto mark = [&](Value buffer) {
    BlockArgument written = tile::getKernelArgument(buffer);
    for (auto [argument, datum] :
         llvm::zip_equal(kernel.getArguments(), arguments))
      if (datum.memref && tile::mayAlias(written, argument))
        datum.memref->buffer->isWritten = true;
  };
  auto visit = [&](Operation *op) -> WalkResult {
    for (tile::SharedAccess &access : tile::getGlobalAccesses(op)) {
      if (!access.writes())
        continue;
      mark(access.operand->get());
      BlockArgument written = tile::getKernelArgument(access.operand->get());
      const Datum *datum =
          written ? &arguments[written.getArgNumber()] : nullptr;
      if (datum && datum->memref && !datum->memref->buffer->writable)
        return mlir::emitError(op->getLoc(), "'")
               << op->getName() << "' op writes argument "
               << written.getArgNumber() << ": expected an array that may be "
               << "written, found a read-only one";
    }
    return WalkResult::advance();
  };
  return failure(kernel.walk(visit).wasInterrupted());
}

namespace {
/// Hands out the numbers of blocks, in order, to several CPU threads, and keeps
/// the failure of the block with the smallest number.
class BlockQueue {
public:
  BlockQueue(int64_t count, const BlockRunner &runner,
             function_ref<void(int64_t, int64_t)> progress)
      : runner(runner), count(count), progress(progress) {}

  /// Runs blocks until none is left or one with a smaller number has failed.
  void work() {
    for (int64_t i; (i = next++) < count && i < firstFailed;)
      runBlock(i);
  }
  /// Runs one block, unless one has failed. The first failure in time counts:
  /// later ones are of blocks that waited for that one.
  bool workOn(int64_t index) {
    if (!failure)
      runBlock(index);
    if (failure)
      firstFailed = -1;
    return !failure;
  }
  int64_t size() const { return count; }
  const std::optional<Failure> &getFailure() const { return failure; }

private:
  void runBlock(int64_t index) {
    std::optional<Failure> reason = runner.run(index);
    std::lock_guard<std::mutex> lock(mutex);
    if (progress)
      progress(++done, count);
    if (reason && index < firstFailed) {
      firstFailed = index;
      failure = std::move(reason);
    }
  }

  const BlockRunner &runner;
  int64_t count, done = 0;
  function_ref<void(int64_t, int64_t)> progress;
  std::atomic<int64_t> next = 0;
  std::atomic<int64_t> firstFailed = std::numeric_limits<int64_t>::max();
  std::mutex mutex;
  std::optional<Failure> failure;
};
} // namespace

/// Fails if the kernel has a form that the interpreter cannot run.
static LogicalResult checkForm(gpu::GPUFuncOp kernel) {
  if (kernel.getBody().empty())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName() << "' has no body";
  if (kernel.getBody().getNumArguments() != kernel.getNumArguments())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' has memory attributions, which the interpreter does not "
              "know; use tile.alloc_shared";
  return success();
}

/// Fails if the grid or the order of events does not fit the cluster.
static LogicalResult checkCluster(gpu::GPUFuncOp kernel, const Launch &launch) {
  if (!launch.order.empty() && launch.cluster.size() > 1)
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' runs in clusters of blocks, but an order of events is of a "
              "block that runs alone";
  for (auto [count, extent] : llvm::zip(launch.grid, launch.cluster.extents))
    if (count % extent != 0)
      return mlir::emitError(kernel.getLoc(), "'")
             << kernel.getName() << "' expects a grid of whole clusters of "
             << toString(launch.cluster.extents) << " blocks, found "
             << toString(launch.grid);
  return success();
}

/// Fails if the policy `exhaustive` does not know what orders the steps.
static LogicalResult checkExhaustive(gpu::GPUFuncOp kernel,
                                     const Launch &launch,
                                     const Timing &timing) {
  if (timing.kind != TimingKind::Exhaustive && !timing.isOfExhaustive)
    return success();
  if (launch.cluster.size() > 1)
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' runs in clusters of blocks, but the policy 'exhaustive' is "
              "about blocks that run alone; use 'worst'";
  if (!launch.order.empty())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' is given an order of events, but the policy 'exhaustive' "
              "tries all orders";
  return success();
}

/// The CPU threads of a run. A system has no threads for all blocks of a grid.
static constexpr int64_t kMostThreads = 256;

/// Runs all blocks of the queue on `threads` CPU threads, this one included.
static void runBlocks(BlockQueue &queue, int64_t threads,
                      Interruption &interruption) {
  std::mutex mutex;
  std::condition_variable ended;
  int64_t working = std::max<int64_t>(threads - 1, 0);
  std::vector<std::thread> helpers;
  for (int64_t i = 1; i < threads; ++i)
    helpers.emplace_back([&] {
      queue.work();
      std::lock_guard<std::mutex> lock(mutex);
      if (--working == 0)
        ended.notify_one();
    });
  queue.work();
  {
    std::unique_lock<std::mutex> lock(mutex);
    interruption.wait(ended, lock, [&] { return working == 0; });
  }
  for (std::thread &helper : helpers)
    helper.join();
}

/// Runs all blocks of a kernel whose blocks may wait for each other.
static void runWaitingBlocks(BlockQueue &queue, Launch &launch) {
  auto run = [&](int64_t index) { return queue.workOn(index); };
  ConcurrentBlocks blocks(queue.size(), *launch.interruption, run);
  launch.concurrent = &blocks;
  blocks.runAll();
}

static LogicalResult report(const Failure &reason) {
  InFlightDiagnostic diag = emitError(reason.location) << reason.message;
  for (auto &[location, note] : reason.notes)
    diag.attachNote(location) << note;
  return diag;
}

LogicalResult sim::runKernel(gpu::GPUFuncOp kernel,
                             ArrayRef<Argument> arguments,
                             const LaunchOptions &options) {
  if (failed(checkForm(kernel)))
    return failure();
  FailureOr<Program> program = translateKernel(kernel);
  SmallVector<Datum> values;
  if (failed(program) || failed(bindArguments(kernel, arguments, values)))
    return failure();
  FailureOr<Int3> grid = getGrid(kernel, values, options);
  if (failed(grid))
    return failure();

  if (failed(markWritten(kernel, values)))
    return failure();
  Launch launch{*grid,
                tile::getNumThreads(kernel),
                options.maxSteps,
                hasExplicitBarriers(kernel, options.barriers),
                options.print,
                options.record,
                options.recordedBlock,
                getSharedCluster(kernel),
                options.order,
                options.explored};
  if (failed(checkExhaustive(kernel, launch, options.timing)) ||
      failed(checkCluster(kernel, launch)))
    return failure();
  Interruption interruption(options.interrupted);
  launch.interruption = &interruption;
  BlockRunner runner(launch, *program, values, options.timing);
  int64_t blocks = (*grid)[0] * (*grid)[1] * (*grid)[2];
  BlockQueue queue(blocks / launch.cluster.size(), runner, options.progress);
  int64_t threads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  bool isSearch = options.timing.kind == TimingKind::Worst ||
                  options.timing.kind == TimingKind::Exhaustive;
  if (isSearch && mayWait(kernel))
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' has loops in which blocks may wait for each other, but a "
              "search runs each block alone; use the policy 'random'";
  if (mayWait(kernel))
    runWaitingBlocks(queue, launch);
  else
    runBlocks(queue,
              isSearch || isOrdered(kernel)
                  ? 1
                  : std::min({threads, queue.size(), kMostThreads}),
              interruption);
  if (queue.getFailure())
    return report(*queue.getFailure());
  return success();
}
