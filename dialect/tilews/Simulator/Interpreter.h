//===- Interpreter.h - Reference interpreter of tile kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel as it is written: one block after the other, one operation
// after the other. It defines what every lowering has to compute. Where the
// dialect leaves a choice, the interpreter takes the most exact one: matrix
// products and sums add up in double precision (integers modulo 2^64) and are
// rounded to their type once.
//
// Where upstream's semantics give poison, there is a value: a shift by the
// width or more shifts everything out, a conversion to an integer saturates
// and takes NaN to zero. Reading shared memory that was never written,
// accesses of single elements out of bounds, divisions by zero, and signed
// divisions that overflow are errors.
//
// Schedules run under a timing policy, which decides when copies, products and
// arrivals complete and which role runs next; docs/simulator.md has the model.
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

/// Who decides what happens next where more than one thing can.
enum class TimingKind {
  /// What is asynchronous completes at once; a role runs until it has to wait.
  Earliest,
  /// What is asynchronous completes when nothing else can happen, the last one
  /// first.
  Latest,
  /// Anything that can happen may be next.
  Random,
  /// All that can happen, one after the other, up to a number of runs.
  Worst,
  /// As `choices` say, in one block.
  Replay
};

struct Timing {
  TimingKind kind = TimingKind::Earliest;
  uint64_t seed = 0;
  /// Worst: runs a block.
  unsigned runs = 1000;
  /// Replay: the block, and the choices in it; others run as with Earliest.
  Int3 block = {0, 0, 0};
  llvm::SmallVector<unsigned> choices;
};

/// An operation of an agent of a block: 0 is the block outside of its roles,
/// then come the roles in order.
struct OrderedEvent {
  unsigned agent;
  mlir::Operation *op;
};

/// Whether barriers and proxy fences stand in the kernel (behind
/// `--tile-insert-barriers`), or accesses are ordered as they are written.
enum class BarrierMode { Detect, Implied, Explicit };

/// Where something happens: in a role, or beside it.
enum class RecordUnit { Role, Tma, CpAsync, Tensor, Arrival };

/// Bytes `first` to `last` (exclusive) of a memory of the block: of its shared
/// arena, of a buffer without a place there, or of global memory that is
/// written. Memories are numbered from 0 on as they are met.
struct AccessedBytes {
  int64_t memory, first, last;
  bool isWritten;
};

/// Something that happened in a block. Numbers that do not apply are -1.
struct RecordedEvent {
  mlir::Operation *op;
  /// The role's name; empty for the block outside of roles.
  std::string role;
  RecordUnit unit;
  /// Logical times; `end` is -1 if it never ended.
  int64_t begin, end;
  /// The barrier's number in the block, its slot, and the phase that is waited
  /// for, arrived in, or landed in.
  int64_t barrier, slot, phase;
  /// Bytes of memory that are accessed, copied, or expected.
  int64_t bytes;
  /// Asynchronous copies and products: the how manieth of the role it is; waits
  /// for them: how many are complete behind it.
  int64_t number;
  /// Products: multiplications; others: elements of the fragment.
  int64_t work;
  /// What the operation of a role, or what it starts, accesses of the memory
  /// that somebody writes.
  llvm::ArrayRef<AccessedBytes> accesses;
};

struct LaunchOptions {
  /// Blocks in x, y and z; `tile.grid` of the kernel if absent.
  std::optional<Int3> grid;
  /// Operations a block may execute before it counts as endless; 0: any number.
  uint64_t maxSteps = 0;
  /// Threads to run blocks on; 0: one for each processor. Kernels that print or
  /// use atomics run on one, so that their results are always the same.
  unsigned threads = 0;
  Timing timing;
  /// An order of events that the first block has to follow, whatever the timing
  /// is; to do something else is an error. Behind its end the block runs on.
  llvm::ArrayRef<OrderedEvent> order;
  BarrierMode barriers = BarrierMode::Detect;
  /// Receives what `tile.print` prints, line by line.
  llvm::function_ref<void(llvm::StringRef)> print;
  /// Receives what happened in block `recordedBlock`, also if it failed.
  llvm::function_ref<void(const RecordedEvent &)> record;
  Int3 recordedBlock = {0, 0, 0};
  /// Called each time a block has run, with the number of those that have.
  llvm::function_ref<void(int64_t done, int64_t blocks)> progress;
};

/// Runs `kernel` over its grid. Errors are emitted as diagnostics, the first
/// failing block's.
mlir::LogicalResult runKernel(mlir::gpu::GPUFuncOp kernel,
                              llvm::ArrayRef<Argument> arguments,
                              const LaunchOptions &options);

} // namespace tilews::sim

#endif // TILEWS_SIMULATOR_INTERPRETER_H
