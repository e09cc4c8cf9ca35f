//===- ClusterPlaces.h - What is the same in a cluster ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How values depend on the place of a block in its cluster, along one dimension
// of it. What is known of an integer is
//
//   value = base + slope * place
//
// with a base that is the same in all blocks that differ along the dimension
// only, and a known divisor of it. A block's id is a multiple of the cluster's
// extent plus the place. A quotient by k then is the same for all of them if
// slope * place stays below every common divisor of the base and k.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

namespace tilews::tile {

class ClusterPlaces {
public:
  ClusterPlaces(mlir::gpu::GPUFuncOp kernel, mlir::gpu::Dimension dim);

  /// Whether all blocks that differ along the dimension only have the same.
  bool isSame(mlir::Value value);
  /// The innermost loop or guard around `op` that may go different ways in such
  /// blocks; null if there is none.
  mlir::Operation *getDivergence(mlir::Operation *op);

private:
  struct Form {
    int64_t slope = 0;
    /// Of the base; 0 if that is zero.
    int64_t divisor = 1;
  };
  using Known = std::optional<Form>;

  Known get(mlir::Value value);
  Known compute(mlir::Value value);
  Known computeArgument(mlir::BlockArgument argument);
  Known computeResult(mlir::OpResult result);
  Known computeArithmetic(mlir::Operation *op);
  Known computeQuotient(mlir::Value value, mlir::Value by, bool isRemainder);
  Known computeProduct(mlir::Value lhs, mlir::Value rhs);
  bool isSameCondition(mlir::arith::CmpIOp op);
  /// Whether the sign of `lhs - rhs` is, zero counting as positive.
  bool isSameOrder(mlir::Value lhs, mlir::Value rhs);
  /// Whether an operation with the same operands gives the same.
  bool givesTheSame(mlir::Operation *op);
  bool turnsAreSame(mlir::scf::ForOp loop);
  bool isKept(mlir::BlockArgument argument, mlir::Value init, mlir::Value next);
  bool isBelow(const Form &form, int64_t divisor) const;
  bool areSame(mlir::ValueRange values) {
    return llvm::all_of(values, [&](auto value) { return isSame(value); });
  }
  Known sameIf(bool same, mlir::Value value);

  mlir::gpu::Dimension dim;
  int64_t extent;
  Divisibility divisibility;
  llvm::DenseSet<mlir::Value> written; // arguments
  bool writesUnknown = false;
  llvm::DenseMap<mlir::Value, Known> known;
  llvm::SmallVector<mlir::Value> found; // the keys of `known`, in order
  /// Values carried by loops that are taken to be the same while it is checked
  /// that turns keep them so.
  llvm::DenseSet<mlir::Value> assumed;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H
