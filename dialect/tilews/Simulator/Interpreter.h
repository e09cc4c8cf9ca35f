//===- Interpreter.h - Reference interpreter of tile kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel on the CPU, one operation after the other. The results define
// what every lowering must compute. If the dialect leaves a choice, the
// interpreter takes the most exact one: matmuls and reductions are summed in
// double precision (integers modulo 2^64) and rounded to their type once.
//
// Operations with poison upstream have a value here: a shift by the width or
// more shifts everything out, a conversion to an integer saturates and turns
// NaN into zero. Errors are: reads of shared memory that was never written,
// accesses of single elements out of bounds, divisions by zero, and signed
// divisions that overflow.
//
// Schedules run under a timing policy. It decides when copies, matmuls and
// arrivals complete and which role runs next. docs/simulator.md has the model.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SIMULATOR_INTERPRETER_H
#define TILEWS_SIMULATOR_INTERPRETER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/LLVM.h"

#include <array>

namespace tilews::sim {

/// Memory for a memref argument. Strides count elements.
struct MemoryArgument {
  void *data = nullptr;
  llvm::SmallVector<int64_t> shape, strides;
  /// Bits from one element to the next: the element's width or, for elements
  /// of less than a byte that are not packed, 8.
  unsigned storageBits = 8;
  bool writable = true;
};

/// One argument of a kernel: memory, an integer or a floating point number.
struct Argument {
  enum class Kind { Memory, Integer, Real };
  Kind kind = Kind::Integer;
  MemoryArgument memory;
  int64_t integer = 0;
  double real = 0;
};

using Int3 = std::array<int64_t, 3>;

/// How the simulator chooses among several possible steps.
enum class TimingKind {
  /// Asynchronous operations complete at once. A role runs until it must wait.
  Earliest,
  /// Asynchronous operations complete when no role can run, the newest first.
  Latest,
  /// Any possible step, with equal probability.
  Random,
  /// A search over runs, up to a number of runs per block.
  Worst,
  /// All runs that differ in more than the order of independent steps, up to a
  /// number of runs per block.
  Exhaustive,
  /// The given choices, in one block.
  Replay
};

struct Timing {
  TimingKind kind = TimingKind::Earliest;
  uint64_t seed = 0;
  /// Worst, Exhaustive: the number of runs per block.
  unsigned runs = 1000;
  /// Exhaustive: whether one run stands for all that differ in the order of
  /// independent steps. If not, every order is run, which tests compare.
  bool reduces = true;
  /// Replay: the block and its choices. Other blocks run with Earliest.
  Int3 block = {0, 0, 0};
  llvm::SmallVector<unsigned> choices;
  /// Replay: whether the choices are those of a run of Exhaustive.
  bool isOfExhaustive = false;
};

/// What the policy Exhaustive did in a block.
struct Exploration {
  Int3 block;
  /// All runs; those that were given up, because others cover what could
  /// follow; and how many differ in more than the order of independent steps.
  uint64_t runs, cutOff, traces;
  /// Whether nothing is left to run. False after a fault.
  bool isExhausted;
};

/// An operation of an agent of a block. Agent 0 is the block outside of roles;
/// the roles follow in order.
struct OrderedEvent {
  unsigned agent;
  mlir::Operation *op;
};

/// Whether the kernel has its barriers and proxy fences (after
/// `--tile-insert-barriers`), or accesses of a role are in program order.
enum class BarrierMode { Detect, Implied, Explicit };

/// The unit that executes an event: a role, or a unit that runs concurrently.
enum class RecordUnit { Role, Tma, CpAsync, Tensor, Arrival };

/// Bytes `first` to `last` (exclusive) of a memory: the shared arena of the
/// block, a buffer without a planned offset, or global memory that the kernel
/// writes. Memories are numbered from 0 in the order of their first access.
struct AccessedBytes {
  int64_t memory, first, last;
  bool isWritten;
};

/// An event of a block. Numbers that do not apply are -1.
struct RecordedEvent {
  mlir::Operation *op;
  /// The role's name; empty for the block outside of roles.
  std::string role;
  RecordUnit unit;
  /// Logical times. `end` is -1 if the event never ended.
  int64_t begin, end;
  /// The number of the barrier in the block, its slot, and the phase of the
  /// wait, the arrival or the landed bytes.
  int64_t barrier, slot, phase;
  /// Bytes of memory that are accessed, copied, or expected.
  int64_t bytes;
  /// The number of an asynchronous copy or matmul among those of its role, from
  /// 1 on. For waits: how many are complete after the wait.
  int64_t number;
  /// Multiplications of a matmul; elements of other fragments.
  int64_t work;
  /// Accesses of the operation, or of what it starts, to memory that some agent
  /// writes.
  llvm::ArrayRef<AccessedBytes> accesses;
};

struct LaunchOptions {
  /// Blocks in x, y and z; `tile.grid` of the kernel if absent.
  std::optional<Int3> grid;
  /// Operations that a block may execute; 0 for any number.
  uint64_t maxSteps = 0;
  /// CPU threads that run blocks; 0 for one per processor. Kernels that print
  /// or use atomics run on one thread, so that their results are reproducible.
  unsigned threads = 0;
  Timing timing;
  /// An order of events that the first block must follow, whatever the timing;
  /// a deviation is an error. After the last event the block continues freely.
  llvm::ArrayRef<OrderedEvent> order;
  BarrierMode barriers = BarrierMode::Detect;
  /// Receives the lines that `tile.print` prints.
  llvm::function_ref<void(llvm::StringRef)> print;
  /// Receives the events of block `recordedBlock`, also if the block failed.
  llvm::function_ref<void(const RecordedEvent &)> record;
  Int3 recordedBlock = {0, 0, 0};
  /// Called after each block under Exhaustive.
  llvm::function_ref<void(const Exploration &)> explored;
  /// Called after each block with the number of finished blocks.
  llvm::function_ref<void(int64_t done, int64_t blocks)> progress;
  /// Asked about every 50 ms, on the calling thread; the run fails soon after
  /// it has returned true.
  llvm::function_ref<bool()> interrupted;
};

/// Runs `kernel` over its grid. On failure, emits the error of the failing
/// block with the smallest number.
mlir::LogicalResult runKernel(mlir::gpu::GPUFuncOp kernel,
                              llvm::ArrayRef<Argument> arguments,
                              const LaunchOptions &options);

} // namespace tilews::sim

#endif // TILEWS_SIMULATOR_INTERPRETER_H
