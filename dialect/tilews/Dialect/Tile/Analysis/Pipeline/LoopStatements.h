//===- LoopStatements.h - Statements of a pipelined loop --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_LOOPSTATEMENTS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_LOOPSTATEMENTS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// What a statement of a loop does in the pipeline.
enum class Part {
  /// It is computed wherever its result is needed, like an address.
  Replay,
  /// It fills shared memory from memory that the loop does not write, without
  /// results of consumers.
  Produce,
  /// It does anything else that has an effect or computes fragments.
  Consume
};

/// An operation of a loop's body or of a guard in it.
struct Statement {
  mlir::Operation *op;
  Part part = Part::Consume;
  int64_t stage = 0;
  int64_t order = 0;
  llvm::SmallVector<MemoryAccess, 0> accesses;

  bool isScheduled() const { return part != Part::Replay; }

  /// Prints "produce, stage 0, order 1: tile.copy %arg0, %3".
  void print(BriefPrinter &printer) const;
};

/// The guards around a statement, outermost first: condition and branch.
using GuardPath = llvm::SmallVector<std::pair<mlir::Value, unsigned>, 1>;

/// The statements of a loop. An `scf.if` around copies is a *guard*: the
/// operations in it are statements like those of the loop's own body. Other
/// operations with regions are one statement.
///
/// ```mlir
/// scf.for %i = ... iter_args(%old = %a, %older = %b) {
///   %new = tile.load %A[%i]        // statement
///   scf.if %ragged {               // guard
///     tile.copy %B[%i] to %s       // statement
///   }
///   tile.store %older to %C[%i]    // statement
///   scf.yield %new, %old
/// }
/// ```
///
/// The store needs the %new of two iterations ago.
///
/// It prints each statement with its part and its needs:
///
/// ```
/// produce, stage 0, order 0: tile.copy %arg1, %7, %5
///   needs replay: %7 = arith.muli %arg4, %c64
/// consume, stage 2, order 1: tile.store %arg6, %arg2, %arg4
///   needs consume, 2 iterations ago: %6 = tile.load %arg0, %arg4
/// ```
class LoopStatements {
public:
  /// An `scf.if` for which `isGuard` holds is a guard.
  LoopStatements(mlir::scf::ForOp loop, const MemoryAccesses &memory,
                 llvm::function_ref<bool(mlir::scf::IfOp)> isGuard);

  mlir::scf::ForOp getLoop() const { return loop; }
  int64_t getNumStages() const;
  /// Returns the statements in program order, without allocations.
  llvm::MutableArrayRef<Statement> getAll() { return statements; }
  llvm::ArrayRef<Statement> getAll() const { return statements; }
  void setPart(mlir::Operation *statement, Part part) {
    statements[indices.at(statement)].part = part;
  }
  /// Returns the statement that `op`, an operation of the loop, is or is part
  /// of; null for guards and terminators.
  const Statement *find(mlir::Operation *op) const;

  bool isGuard(mlir::Operation *op) const { return guards.contains(op); }
  GuardPath getGuards(mlir::Operation *op) const;
  /// Returns `op` or its ancestor that has `depth` guards around it.
  mlir::Operation *getAtDepth(mlir::Operation *op, unsigned depth) const;

  /// A statement whose result another one uses, and how many iterations lie
  /// between the two: 0 in the same iteration, 1 for a value that the loop
  /// carries, 2 if the loop carries it on to another argument.
  struct Need {
    const Statement *statement;
    int64_t distance;
  };
  using EnterFn = llvm::function_ref<bool(const Statement &)>;
  /// Returns the backward slice of `statement` in the loop: producers of its
  /// guards' conditions and of its operands, transitively. Operands of
  /// operations in its regions count too. The search passes through a statement
  /// only if `enter` returns true for it. A statement may be listed twice: for
  /// the use in the same iteration, and for the nearest use in a later one.
  llvm::SmallVector<Need> getNeeds(const Statement &statement,
                                   EnterFn enter) const;
  /// Returns the same for a value that the loop yields.
  llvm::SmallVector<Need> getNeeds(mlir::Value value, EnterFn enter) const;

  /// Returns the values of the loop (results, carried values, and results of
  /// guards) from which `statements` and `yielded`, values at the end of its
  /// body, are computed.
  llvm::DenseSet<mlir::Value>
  getNeededValues(llvm::ArrayRef<const Statement *> statements,
                  llvm::ArrayRef<mlir::Value> yielded) const;

  /// Returns whether the statement at most reads, and reads nothing that the
  /// loop writes.
  bool isReplayable(const Statement &statement) const;
  /// Returns the first statement that may write what `access` touches.
  const Statement *findWriter(const MemoryAccess &access) const;

  void print(llvm::raw_ostream &os) const;

private:
  void flatten(mlir::Block &block, const MemoryAccesses &memory,
               llvm::function_ref<bool(mlir::scf::IfOp)> isGuard);
  /// A value that is used `distance` iterations after it was computed.
  struct Use {
    mlir::Value value;
    int64_t distance;

    bool isCarried() const { return distance > 0; }
  };
  using Uses = llvm::SmallVector<Use>;
  class NeedSearch;

  Uses getUses(const Statement &statement, int64_t distance) const;

  mlir::scf::ForOp loop;
  llvm::SmallPtrSet<mlir::Operation *, 2> guards;
  llvm::SmallVector<Statement, 0> statements;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_LOOPSTATEMENTS_H
