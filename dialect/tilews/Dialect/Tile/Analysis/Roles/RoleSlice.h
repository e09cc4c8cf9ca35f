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

/// Operations with an effect, or values, and everything that these are computed
/// from: the
/// control flow around them, and of loops and branches only the values that
/// they need.
class RoleSlice {
public:
  /// Adds an operation and what it needs.
  void add(mlir::Operation *op);
  /// Adds what a value is computed from.
  void add(mlir::Value value);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool contains(mlir::Value value) const { return values.contains(value); }
  /// In the order in which they were found.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }

  /// Clones what the slice has of the operations from `first` up to `last`,
  /// which is not cloned any more. Results that `mapping` has are there
  /// already.
  void clone(mlir::OpBuilder &builder, mlir::Block::iterator first,
             mlir::Block::iterator last, mlir::IRMapping &mapping) const;

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
