//===- RoleSlice.h - The part of a kernel that a role executes --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLESLICE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLESLICE_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilews::tile {

/// A backward slice: operations with an effect, or values, and everything that
/// they are computed from. The slice has the control flow around its
/// operations, but only those results and carried values of loops and branches
/// that it needs. The slice of the copy in
///
/// ```mlir
/// %r:2 = scf.for ... iter_args(%i = %c0, %acc = %zero) {
///   tile.copy %A[%i] to %s
///   %acc2 = tile.gemm %x, %y, %acc
///   %i2 = arith.addi %i, %c64
///   scf.yield %i2, %acc2
/// ```
///
/// has the loop, the copy, the addition, %i and %i2, but neither the matmul nor
/// %acc; `clone` makes a loop that carries one value.
class RoleSlice {
public:
  /// Adds an operation and what it needs.
  void add(mlir::Operation *op);
  /// Adds a value and what it is computed from.
  void add(mlir::Value value);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool contains(mlir::Value value) const { return values.contains(value); }
  /// Returns the operations in the order in which they were found.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }

  /// Clones the slice's operations in [first, last). Skips an operation if
  /// `mapping` already has one of its results.
  void clone(mlir::OpBuilder &builder, mlir::Block::iterator first,
             mlir::Block::iterator last, mlir::IRMapping &mapping) const;

  /// Prints the operations, one a line, in the order in which they were found.
  void print(llvm::raw_ostream &os) const;

private:
  void drain();
  void addOp(mlir::Operation *op);
  void addValue(mlir::Value value);
  void addArgument(mlir::BlockArgument argument);
  void addResult(mlir::OpResult result);

  void cloneRegion(mlir::OpBuilder &builder, mlir::Region &from,
                   mlir::Region &to, mlir::IRMapping &mapping,
                   llvm::ArrayRef<bool> arguments,
                   llvm::ArrayRef<bool> yielded) const;
  void cloneFor(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                mlir::IRMapping &mapping) const;
  void cloneIf(mlir::OpBuilder &builder, mlir::scf::IfOp branch,
               mlir::IRMapping &mapping) const;
  void cloneWhile(mlir::OpBuilder &builder, mlir::scf::WhileOp loop,
                  mlir::IRMapping &mapping) const;

  llvm::SetVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> values;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_ROLES_ROLESLICE_H
