//===- PipelinePlan.h - The software pipeline of a loop ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An `scf.if` around copies is a guard: what it holds is scheduled like the
// operations of the loop's own body. Together these are the loop's statements;
// each
//
// * produces: fills shared memory from memory that the loop does not write,
//   without any help of the consumers, or
// * consumes: everything else that has an effect or computes fragments, or
// * is replayed: computed wherever its result is needed.
//
// A buffer that producers fill and consumers read is *piped*: with a version
// for each turn in flight, producers may run ahead.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Refusal.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

using RefuseFn = llvm::function_ref<void(const Refusal &)>;

/// Buffers that must not be piped, and why.
using ForbiddenBuffers = llvm::DenseMap<mlir::Operation *, Refusal>;

enum class Part { Replay, Produce, Consume };

struct Statement {
  mlir::Operation *op;
  Part part = Part::Consume;
  int64_t stage = 0;
  int64_t order = 0;
  llvm::SmallVector<MemoryAccess, 0> accesses;

  bool isScheduled() const { return part != Part::Replay; }
};

/// The guards around a statement, outermost first: condition and branch.
using GuardPath = llvm::SmallVector<std::pair<mlir::Value, unsigned>, 1>;

/// The statements of a loop.
class LoopStatements {
public:
  /// `scf.if`s for which `isGuard` holds are guards.
  LoopStatements(mlir::scf::ForOp loop, const MemoryAccesses &memory,
                 llvm::function_ref<bool(mlir::scf::IfOp)> isGuard);

  mlir::scf::ForOp getLoop() const { return loop; }
  int64_t getNumStages() const;
  /// In program order, without allocations.
  llvm::MutableArrayRef<Statement> getAll() { return statements; }
  llvm::ArrayRef<Statement> getAll() const { return statements; }
  void setPart(mlir::Operation *statement, Part part) {
    statements[indices.at(statement)].part = part;
  }
  /// The statement that `op`, an operation of the loop, is or is part of; null
  /// for guards and terminators.
  const Statement *find(mlir::Operation *op) const;

  bool isGuard(mlir::Operation *op) const { return guards.contains(op); }
  GuardPath getGuards(mlir::Operation *op) const;
  /// `op` or its ancestor that has `depth` guards around it.
  mlir::Operation *getAtDepth(mlir::Operation *op, unsigned depth) const;

  /// A statement that another one needs, and from how many turns ago.
  struct Need {
    const Statement *statement;
    int64_t distance;
  };
  /// What `statement` computes with: the conditions of its guards, values that
  /// it or its regions use, and what these are made from. Values carried by the
  /// loop come from the turn before. Goes on behind statements only where
  /// `enter` says so.
  llvm::SmallVector<Need>
  getNeeds(const Statement &statement,
           llvm::function_ref<bool(const Statement &)> enter) const;
  /// The same for a value that the loop yields.
  llvm::SmallVector<Need>
  getNeeds(mlir::Value value,
           llvm::function_ref<bool(const Statement &)> enter) const;

  /// The values of the loop that `statements` and `yielded`, values at the end
  /// of its body, are computed with: results, carried values, and results of
  /// guards.
  llvm::DenseSet<mlir::Value>
  getNeededValues(llvm::ArrayRef<const Statement *> statements,
                  llvm::ArrayRef<mlir::Value> yielded) const;

  /// Whether it reads at most, and nothing that the loop writes.
  bool isReplayable(const Statement &statement) const;
  /// The first statement that writes what `access` touches.
  const Statement *findWriter(const MemoryAccess &access) const;

private:
  void flatten(mlir::Block &block, const MemoryAccesses &memory,
               llvm::function_ref<bool(mlir::scf::IfOp)> isGuard);
  using Distances = llvm::SmallVector<std::pair<mlir::Value, int64_t>>;
  Distances getUses(const Statement &statement, int64_t distance) const;
  llvm::SmallVector<Need>
  follow(Distances values, llvm::function_ref<bool(const Statement &)> enter,
         llvm::DenseSet<std::pair<mlir::Value, int64_t>> &seen) const;

  mlir::scf::ForOp loop;
  llvm::SmallPtrSet<mlir::Operation *, 2> guards;
  llvm::SmallVector<Statement, 0> statements;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
};

/// A buffer that a loop's producers fill for its consumers.
struct PipedBuffer {
  AllocSharedOp alloc;
  /// Around all writers; readers may have further ones.
  GuardPath guards;
  /// Statements in program order.
  llvm::SmallVector<mlir::Operation *> writers, readers;
  int64_t versions = 1;
};

/// Parts, stages and orders of a loop's statements.
class PipelinePlan {
public:
  /// Chooses them. Reports each operation that could produce and does not.
  static PipelinePlan compute(mlir::scf::ForOp loop,
                              const MemoryAccesses &memory,
                              const ForbiddenBuffers &forbidden,
                              RefuseFn refuse);
  /// Takes them from the operations' attributes and reports what is wrong with
  /// them.
  static PipelinePlan read(mlir::scf::ForOp loop, const MemoryAccesses &memory,
                           const ForbiddenBuffers &forbidden, RefuseFn refuse);
  /// Whether operations of `loop` have a stage or an order.
  static bool isAnnotated(mlir::scf::ForOp loop);

  /// Writes stages and orders to the operations.
  void annotate() const;

  const LoopStatements &getStatements() const { return statements; }
  mlir::scf::ForOp getLoop() const { return statements.getLoop(); }
  /// None if nothing is pipelined. In the order of their first writers.
  llvm::ArrayRef<PipedBuffer> getBuffers() const { return buffers; }
  const PipedBuffer *find(AllocSharedOp alloc) const;

private:
  explicit PipelinePlan(LoopStatements statements)
      : statements(std::move(statements)) {}

  void choose(const ForbiddenBuffers &forbidden, RefuseFn refuse);
  MaybeRefusal checkProducer(const Statement &statement);
  MaybeRefusal checkReads(const Statement &statement);
  bool pinSharedReads();
  MaybeRefusal findBuffers(const ForbiddenBuffers &forbidden);
  MaybeRefusal checkBuffer(PipedBuffer &buffer);
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
  /// Reads of shared memory that consumers need, so that producers cannot make
  /// them ahead of time.
  llvm::SmallPtrSet<mlir::Operation *, 2> pinned;
};

/// The loops of a kernel that have `tile.num_stages` and no channels yet, inner
/// ones first.
llvm::SmallVector<mlir::scf::ForOp>
getLoopsToPipeline(mlir::gpu::GPUFuncOp kernel);

/// The operations of a loop, guards entered, that a plan gives a stage and an
/// order: those with an effect, and those that make fragments. In program
/// order.
llvm::SmallVector<mlir::Operation *>
getOperationsToSchedule(mlir::scf::ForOp loop);

/// The plans of loops of a kernel, inner ones first: read from those that are
/// annotated, computed for the others. Buffers are piped in these loops only if
/// the rest of the kernel does not need them.
class KernelPipelines {
public:
  KernelPipelines(mlir::gpu::GPUFuncOp kernel,
                  llvm::ArrayRef<mlir::scf::ForOp> loops);

  llvm::ArrayRef<PipelinePlan> getPlans() const { return plans; }
  /// Emits what is wrong with annotated loops; fails if anything is.
  llvm::LogicalResult emitErrors() const;
  /// What is not pipelined in others.
  llvm::ArrayRef<Refusal> getRefusals() const { return refusals; }

private:
  void plan(llvm::ArrayRef<mlir::scf::ForOp> loops,
            const ForbiddenBuffers &forbidden);
  bool forbid(mlir::gpu::GPUFuncOp kernel, ForbiddenBuffers &forbidden) const;

  MemoryAccesses memory;
  llvm::SmallVector<PipelinePlan, 0> plans;
  llvm::SmallVector<Refusal> errors, refusals;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEPLAN_H
