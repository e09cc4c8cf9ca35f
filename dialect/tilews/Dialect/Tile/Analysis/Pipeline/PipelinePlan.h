//===- PipelinePlan.h - The software pipeline of a loop ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The software pipeline of a loop. In iteration `t` of the pipelined loop each
// statement runs for iteration `t - stage` of the original one, in ascending
// `order`. Statements that only fill shared memory (producers) get stage 0, all
// others the last one, so that copies run ahead of the code that uses them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H

#include "tilews/Dialect/Tile/Analysis/Pipeline/LoopStatements.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"

namespace tilews::tile {

using RefuseFn = llvm::function_ref<void(const Refusal &)>;

/// Buffers that must not be piped, and why.
using ForbiddenBuffers = llvm::DenseMap<mlir::Operation *, Refusal>;

/// A buffer that a loop's producers fill for its consumers. It is *piped*: with
/// a version for each iteration in flight, producers may run ahead.
struct PipedBuffer {
  AllocSharedOp alloc;
  /// The guards around all writers. Readers may have further ones.
  GuardPath guards;
  /// Statements in program order.
  llvm::SmallVector<mlir::Operation *> writers, readers;
  int64_t versions = 1;
};

/// The parts, stages and orders of a loop's statements, and the buffers that
/// are piped. For
///
/// ```mlir
/// scf.for %k = %c0 to %n step %c64 {
///   tile.copy %A[%m, %k] to %3[0, 0] [64, 64]
///   %a = tile.load %3[0, 0]
///   tile.store %a to %C[%m, %k]
/// } {tile.num_stages = 2 : i32}
/// ```
///
/// it prints
///
/// ```
/// scf.for %c0, %arg2, %c64: 2 stages
///   produce, stage 0, order 0: tile.copy %arg0, %m, %k, %3
///   consume, stage 1, order 1: %4 = tile.load %3
///   consume, stage 1, order 2: tile.store %4, %arg1, %m, %k
///   %3: 2 versions, 1 writer, 1 reader, 0 guards
/// ```
///
/// Version 0 is read while version 1 is filled for the next iteration.
class PipelinePlan {
public:
  /// Chooses a plan. Reports each operation that could produce and does not.
  static PipelinePlan compute(mlir::scf::ForOp loop,
                              const MemoryAccesses &memory,
                              const ForbiddenBuffers &forbidden,
                              RefuseFn refuse);
  /// Reads a plan from the operations' attributes, and reports each mistake.
  static PipelinePlan read(mlir::scf::ForOp loop, const MemoryAccesses &memory,
                           const ForbiddenBuffers &forbidden, RefuseFn refuse);
  /// Returns whether operations of `loop` have a stage or an order.
  static bool isAnnotated(mlir::scf::ForOp loop);

  /// Whether `delay` can be used: all producers are at the start of an
  /// iteration, without guards, and each fills one piped buffer.
  bool canDelay() const;
  /// Lets the writers of some buffers run one iteration later than those of the
  /// others, and before these. So these buffers have one version less. For
  ///
  /// ```
  ///   stage 0: copy -> %as; stage 0: copy -> %bs; stage 2: gemm %as, %bs
  /// ```
  ///
  /// and `%bs`:
  ///
  /// ```
  ///   stage 1: copy -> %bs; stage 0: copy -> %as; stage 2: gemm %as, %bs
  /// ```
  ///
  /// `canDelay` holds before the first call. Each call decides anew.
  void delay(const llvm::SmallPtrSetImpl<mlir::Operation *> &allocs);

  /// Writes stages and orders to the operations.
  void annotate() const;

  const LoopStatements &getStatements() const { return statements; }
  mlir::scf::ForOp getLoop() const { return statements.getLoop(); }
  /// Returns the piped buffers in the order of their first writers; none if
  /// nothing is pipelined.
  llvm::ArrayRef<PipedBuffer> getBuffers() const { return buffers; }
  const PipedBuffer *find(AllocSharedOp alloc) const;

  void print(llvm::raw_ostream &os) const;

private:
  explicit PipelinePlan(LoopStatements statements)
      : statements(std::move(statements)) {}

  void choose(const MemoryAccesses &memory, const ForbiddenBuffers &forbidden,
              RefuseFn refuse);
  MaybeRefusal checkProducer(const Statement &statement);
  MaybeRefusal checkReads(const Statement &statement);
  bool pinSharedReads();
  MaybeRefusal findBuffers(const MemoryAccesses &memory,
                           const ForbiddenBuffers &forbidden);
  MaybeRefusal checkBuffer(PipedBuffer &buffer, const MemoryAccesses &memory);
  MaybeRefusal checkOrderOfAccesses(const PipedBuffer &buffer);
  PipelinePlan
  withGuards(const MemoryAccesses &memory,
             const llvm::SmallPtrSetImpl<mlir::Operation *> &producers,
             const llvm::SmallPtrSetImpl<mlir::Operation *> &guards);
  bool addNeededGuards(llvm::SmallPtrSetImpl<mlir::Operation *> &guards) const;
  void classifyRest();

  void assignOrder();
  void countVersions();
  bool readAttributes(RefuseFn refuse);
  void readParts();
  void verify(RefuseFn refuse);
  void verifySides(RefuseFn refuse);
  void verifyMemory(RefuseFn refuse);
  void verifyGuards(RefuseFn refuse);

  LoopStatements statements;
  llvm::SmallVector<PipedBuffer, 0> buffers;
  /// Reads of shared memory whose results consumers need too, so that producers
  /// cannot do them ahead of time.
  llvm::SmallPtrSet<mlir::Operation *, 2> pinned;
};

/// Returns the operations of a loop and its guards that a plan gives a stage
/// and an order, in program order: those with an effect, and those that make
/// fragments.
llvm::SmallVector<mlir::Operation *>
getOperationsToSchedule(mlir::scf::ForOp loop);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H
