//===- Simulator.h - C interface of the simulator ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_SIMULATOR_H
#define TILEWS_C_SIMULATOR_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

enum TilewsSimArgumentKind {
  TilewsSimArgumentMemory,
  TilewsSimArgumentInteger,
  TilewsSimArgumentReal
};

/// One argument of a kernel. Only the members of its kind are read.
typedef struct TilewsSimArgument {
  enum TilewsSimArgumentKind kind;
  /// Memory: the address of element (0, ..., 0), extents, and strides in
  /// elements.
  void *data;
  intptr_t rank;
  const int64_t *shape;
  const int64_t *strides;
  /// Bits from one element to the next: the element's width or, for elements
  /// of less than a byte that are not packed, 8.
  unsigned storageBits;
  bool writable;
  int64_t integer;
  double real;
} TilewsSimArgument;

enum TilewsSimTiming {
  TilewsSimTimingEarliest,
  TilewsSimTimingLatest,
  TilewsSimTimingRandom,
  TilewsSimTimingWorst,
  TilewsSimTimingExhaustive,
  TilewsSimTimingReplay
};

enum TilewsSimBarriers {
  TilewsSimBarriersDetect,
  TilewsSimBarriersImplied,
  TilewsSimBarriersExplicit
};

enum TilewsSimUnit {
  TilewsSimUnitRole,
  TilewsSimUnitTma,
  TilewsSimUnitCpAsync,
  TilewsSimUnitTensor,
  TilewsSimUnitArrival
};

/// Bytes of a memory; see AccessedBytes in Interpreter.h.
typedef struct TilewsSimBytes {
  int64_t memory, first, last;
  int isWritten;
} TilewsSimBytes;

/// An event of a block; see RecordedEvent in Interpreter.h.
typedef struct TilewsSimEvent {
  MlirOperation op;
  MlirStringRef role;
  enum TilewsSimUnit unit;
  int64_t begin, end, barrier, slot, phase, bytes, number, work;
  intptr_t numAccesses;
  const TilewsSimBytes *accesses;
} TilewsSimEvent;

/// An event of an order; see OrderedEvent in Interpreter.h. Operations are
/// numbered in the kernel as they are printed; the kernel is 0.
typedef struct TilewsSimOrderedEvent {
  unsigned agent;
  uint64_t op;
} TilewsSimOrderedEvent;

/// What the policy exhaustive did in a block; see Exploration in Interpreter.h.
typedef struct TilewsSimExploration {
  int64_t block[3];
  uint64_t runs, cutOff, traces;
  bool isExhausted;
} TilewsSimExploration;

typedef struct TilewsSimOptions {
  /// Blocks in x, y and z; null for the kernel's `tile.grid`.
  const int64_t *grid;
  /// Operations that a block may execute; 0 for any number.
  uint64_t maxSteps;
  /// CPU threads that run blocks; 0 for one per processor.
  unsigned threads;
  /// The timing policy and its parameters: a seed (random), the number of runs
  /// per block (worst, exhaustive), whether runs stand for others (exhaustive),
  /// a block and its choices (replay), and whether these are of exhaustive.
  enum TilewsSimTiming timing;
  uint64_t seed;
  unsigned runs;
  bool reduces;
  int64_t block[3];
  intptr_t numChoices;
  const unsigned *choices;
  bool isOfExhaustive;
  /// The order of events that the first block must follow; may be empty.
  intptr_t numOrdered;
  const TilewsSimOrderedEvent *order;
  /// Whether the kernel contains its barriers.
  enum TilewsSimBarriers barriers;
  /// Receives the events of a block after its run. May be null.
  void (*record)(const TilewsSimEvent *event, void *userData);
  void *recordUserData;
  int64_t recordedBlock[3];
  /// Called after each block of the policy exhaustive. May be null.
  void (*explored)(const TilewsSimExploration *exploration, void *userData);
  void *exploredUserData;
  /// Called after each block, possibly from several threads, one at a time. May
  /// be null.
  void (*progress)(int64_t done, int64_t blocks, void *userData);
  void *progressUserData;
  /// Asked about every 50 ms, on the calling thread; the run fails soon after
  /// it has returned true. May be null.
  bool (*interrupted)(void *userData);
  void *interruptedUserData;
  /// Receives the text that the kernel prints, on the calling thread. May be
  /// null.
  MlirStringCallback print;
  void *printUserData;
} TilewsSimOptions;

/// Runs `kernel`, a `gpu.func`, with the reference interpreter. Errors are
/// emitted as diagnostics of the kernel's context.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsSimRun(
    MlirOperation kernel, intptr_t numArguments,
    const TilewsSimArgument *arguments, const TilewsSimOptions *options);

/// Returns `operation` in a copy of the whole IR that it is in. The outermost
/// operation of the copy belongs to the caller. So a kernel can run while other
/// threads change the IR.
MLIR_CAPI_EXPORTED MlirOperation tilewsSimCopy(MlirOperation operation);

/// Calls `add` with each pair of arguments of a `gpu.func` that must not
/// overlap in memory. The kernel writes the first and accesses the second.
MLIR_CAPI_EXPORTED void tilewsSimFindDisjointArguments(
    MlirOperation kernel,
    void (*add)(intptr_t written, intptr_t other, void *userData),
    void *userData);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_SIMULATOR_H
