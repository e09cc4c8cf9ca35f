//===- SimulatorCAPI.cpp - C interface of the simulator -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the options of a run from C structs to `LaunchOptions`, and recorded
// events back. Operations of an order are given by their number in a preorder
// walk of the kernel, which is how a counterexample file names them. Callbacks
// are called while the kernel runs, possibly from other threads than the
// caller's.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Simulator.h"
#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Simulator/Interpreter.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/IRMapping.h"

using namespace tilews;

static sim::Argument convert(const TilewsSimArgument &argument) {
  sim::Argument result;
  switch (argument.kind) {
  case TilewsSimArgumentMemory:
    result.kind = sim::Argument::Kind::Memory;
    result.memory.data = argument.data;
    result.memory.shape.assign(argument.shape, argument.shape + argument.rank);
    result.memory.strides.assign(argument.strides,
                                 argument.strides + argument.rank);
    result.memory.storageBits = argument.storageBits;
    result.memory.writable = argument.writable;
    return result;
  case TilewsSimArgumentInteger:
    result.kind = sim::Argument::Kind::Integer;
    result.integer = argument.integer;
    return result;
  case TilewsSimArgumentReal:
    result.kind = sim::Argument::Kind::Real;
    result.real = argument.real;
    return result;
  }
  llvm_unreachable("covered switch");
}

/// Finds the operations of an order by their number. Fails if the kernel has
/// fewer operations.
static mlir::LogicalResult
getOrder(mlir::gpu::GPUFuncOp kernel, const TilewsSimOptions &options,
         llvm::SmallVectorImpl<sim::OrderedEvent> &order) {
  std::vector<mlir::Operation *> operations;
  kernel->walk<mlir::WalkOrder::PreOrder>(
      [&](mlir::Operation *op) { operations.push_back(op); });
  for (const TilewsSimOrderedEvent &event :
       llvm::ArrayRef(options.order, options.numOrdered)) {
    if (event.op >= operations.size())
      return kernel->emitError("has ")
             << operations.size() << " operations, but the order of events is "
             << "of one that has operation " << event.op;
    order.push_back({event.agent, operations[event.op]});
  }
  return mlir::success();
}

static sim::Timing getTiming(const TilewsSimOptions &options) {
  sim::Timing timing;
  timing.kind = static_cast<sim::TimingKind>(options.timing);
  timing.seed = options.seed;
  timing.runs = options.runs;
  timing.reduces = options.reduces;
  timing.isOfExhaustive = options.isOfExhaustive;
  llvm::copy(options.block, timing.block.begin());
  timing.choices.assign(options.choices, options.choices + options.numChoices);
  return timing;
}

static void report(const sim::Exploration &found,
                   const TilewsSimOptions &options) {
  TilewsSimExploration converted = {
      {found.block[0], found.block[1], found.block[2]},
      found.runs,
      found.cutOff,
      found.traces,
      found.isExhausted};
  if (options.explored)
    options.explored(&converted, options.exploredUserData);
}

static void report(const sim::RecordedEvent &event,
                   const TilewsSimOptions &options) {
  auto accesses = llvm::map_to_vector(
      event.accesses, [](const sim::AccessedBytes &bytes) -> TilewsSimBytes {
        return {bytes.memory, bytes.first, bytes.last, bytes.isWritten};
      });
  TilewsSimEvent converted = {wrap(event.op),
                              wrap(llvm::StringRef(event.role)),
                              static_cast<TilewsSimUnit>(event.unit),
                              event.begin,
                              event.end,
                              event.barrier,
                              event.slot,
                              event.phase,
                              event.bytes,
                              event.number,
                              event.work,
                              intptr_t(accesses.size()),
                              accesses.data()};
  options.record(&converted, options.recordUserData);
}

MlirLogicalResult tilewsSimRun(MlirOperation kernel, intptr_t numArguments,
                               const TilewsSimArgument *arguments,
                               const TilewsSimOptions *options) {
  auto func = mlir::dyn_cast<mlir::gpu::GPUFuncOp>(unwrap(kernel));
  if (!func)
    return wrap(mlir::LogicalResult(
        unwrap(kernel)->emitError("is not a kernel; expected a gpu.func")));
  auto print = [&](llvm::StringRef text) {
    if (options->print)
      options->print(wrap(text), options->printUserData);
  };
  sim::LaunchOptions launch;
  if (const int64_t *grid = options->grid)
    launch.grid = {grid[0], grid[1], grid[2]};
  launch.maxSteps = options->maxSteps;
  launch.threads = options->threads;
  launch.print = print;
  launch.timing = getTiming(*options);
  llvm::SmallVector<sim::OrderedEvent> order;
  if (failed(getOrder(func, *options, order)))
    return wrap(mlir::failure());
  launch.order = order;
  launch.barriers = static_cast<sim::BarrierMode>(options->barriers);
  auto progress = [&](int64_t done, int64_t blocks) {
    if (options->progress)
      options->progress(done, blocks, options->progressUserData);
  };
  launch.progress = progress;
  auto interrupted = [&] {
    return options->interrupted(options->interruptedUserData);
  };
  if (options->interrupted)
    launch.interrupted = interrupted;
  auto explored = [&](const sim::Exploration &found) {
    report(found, *options);
  };
  launch.explored = explored;
  auto record = [&](const sim::RecordedEvent &event) {
    report(event, *options);
  };
  if (options->record)
    launch.record = record;
  llvm::copy(options->recordedBlock, launch.recordedBlock.begin());
  auto converted =
      llvm::map_to_vector(llvm::ArrayRef(arguments, numArguments), convert);
  return wrap(sim::runKernel(func, converted, launch));
}

MlirOperation tilewsSimCopy(MlirOperation operation) {
  mlir::Operation *root = unwrap(operation);
  while (mlir::Operation *parent = root->getParentOp())
    root = parent;
  mlir::IRMapping mapping;
  root->clone(mapping);
  return wrap(mapping.lookup(unwrap(operation)));
}

void tilewsSimFindDisjointArguments(MlirOperation kernel,
                                    void (*add)(intptr_t written,
                                                intptr_t other, void *userData),
                                    void *userData) {
  for (auto [written, other] : tile::findDisjointArguments(unwrap(kernel)))
    add(written, other, userData);
}
