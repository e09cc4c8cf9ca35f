//===- Interpreter.cpp - Reference interpreter of tile kernels ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Simulator/Interpreter.h"
#include "Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Whether the outcome may depend on the order of blocks.
static bool isOrdered(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    return isa<tile::AtomicRMWOp, tile::PrintOp, memref::AtomicRMWOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
/// Hands out blocks in order and keeps the first block's failure.
class BlockQueue {
public:
  BlockQueue(const Launch &launch, const Program &program,
             ArrayRef<Datum> arguments)
      : launch(launch), program(program), arguments(arguments),
        count(launch.grid[0] * launch.grid[1] * launch.grid[2]) {}

  /// Runs blocks until there are none or one has failed.
  void work() {
    for (int64_t i; (i = next++) < count && i < firstFailed;)
      runBlock(i);
  }
  int64_t size() const { return count; }
  const std::optional<Failure> &getFailure() const { return failure; }

private:
  void runBlock(int64_t index) {
    const Int3 &grid = launch.grid;
    Frame frame(
        launch,
        {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]},
        std::vector<Datum>(program.numSlots));
    if (succeeded(frame.run(program.code, arguments)))
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (index < firstFailed) {
      firstFailed = index;
      failure = frame.getFailure();
    }
  }

  const Launch &launch;
  const Program &program;
  ArrayRef<Datum> arguments;
  int64_t count;
  std::atomic<int64_t> next = 0;
  std::atomic<int64_t> firstFailed = std::numeric_limits<int64_t>::max();
  std::mutex mutex;
  std::optional<Failure> failure;
};
} // namespace

LogicalResult sim::runKernel(gpu::GPUFuncOp kernel,
                             ArrayRef<Argument> arguments,
                             const LaunchOptions &options) {
  if (kernel.getBody().empty())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName() << "' has no body";
  if (kernel.getBody().getNumArguments() != kernel.getNumArguments())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' has memory attributions, which the interpreter does not "
              "know; use tile.alloc_shared";
  FailureOr<Program> program = translateKernel(kernel);
  SmallVector<Datum> values;
  if (failed(program) || failed(bindArguments(kernel, arguments, values)))
    return failure();
  FailureOr<Int3> grid = getGrid(kernel, values, options);
  if (failed(grid))
    return failure();

  Launch launch{*grid, tile::getNumThreads(kernel), options.maxSteps,
                options.print};
  BlockQueue queue(launch, *program, values);
  int64_t threads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = isOrdered(kernel) ? 1 : std::min(threads, queue.size());
  std::vector<std::thread> helpers;
  for (int64_t i = 1; i < threads; ++i)
    helpers.emplace_back([&] { queue.work(); });
  queue.work();
  for (std::thread &helper : helpers)
    helper.join();
  const std::optional<Failure> &reason = queue.getFailure();
  if (!reason)
    return success();
  InFlightDiagnostic diag = emitError(reason->location) << reason->message;
  for (auto &[location, note] : reason->notes)
    diag.attachNote(location) << note;
  return diag;
}
