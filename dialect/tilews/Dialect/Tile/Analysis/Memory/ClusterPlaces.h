//===- ClusterPlaces.h - Values uniform in a cluster ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How values depend on the place of a block in its cluster, along one
// dimension. The analysis describes an integer as
//
//   value = base + slope * place
//
// where the base is equal in all blocks that differ along this dimension only,
// and has a known divisor. A block's id is base + 1 * place with a base that
// the cluster's extent divides.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Finds the values that are equal in all blocks of a cluster that differ along
/// one dimension only. In clusters of 2 along x:
///
/// ```mlir
/// %x = gpu.block_id x                    // base (divisor 2) + 1 * place
/// %tile = arith.divui %x, %c2 : index    // base + 0 * place: the same
/// %half = arith.remui %x, %c2 : index    // 1 * place: differs
/// %row = arith.muli %x, %c64 : index     // base (divisor 128) + 64 * place
/// %big = arith.divui %row, %c128 : index // the same
/// ```
///
/// A quotient by k is the same if slope * place stays below every common
/// divisor of the base and k: here 64 * 1 < gcd(128, 128).
class ClusterPlaces {
public:
  ClusterPlaces(mlir::gpu::GPUFuncOp kernel, mlir::gpu::Dimension dim);

  /// Returns whether `value` is equal in all blocks that differ along the
  /// dimension only.
  bool isSame(mlir::Value value);
  /// Returns the innermost loop or guard around `op` whose path may differ
  /// among such blocks; null if there is none.
  mlir::Operation *getDivergence(mlir::Operation *op);

  /// Prints the values evaluated so far, in the order of evaluation:
  /// `%3: same, divisor 64`, `%4: 64 * place, divisor 128`, or `%5: unknown`.
  void print(llvm::raw_ostream &os) const;

private:
  struct Form {
    int64_t slope = 0;
    /// A divisor of the base; 0 if the base is zero.
    int64_t divisor = 1;

    friend bool operator==(const Form &a, const Form &b) {
      return a.slope == b.slope && a.divisor == b.divisor;
    }
  };
  using Known = std::optional<Form>;
  struct Fact {
    /// Whether the value was not evaluated yet.
    bool isOpen = true;
    Known form;

    friend bool operator==(const Fact &a, const Fact &b) {
      return a.isOpen == b.isOpen && a.form == b.form;
    }
  };

  Known get(mlir::Value value);
  Fact evaluate(mlir::Value value);
  Known compute(mlir::Value value);
  Known computeArgument(mlir::BlockArgument argument);
  Known computeResult(mlir::OpResult result);
  Known computeArithmetic(mlir::Operation *op);
  Known computeQuotient(mlir::Value value, mlir::Value by, bool isRemainder);
  Known computeProduct(mlir::Value lhs, mlir::Value rhs);
  bool isSameCondition(mlir::arith::CmpIOp op);
  /// Returns whether `lhs < rhs` is the same in all blocks.
  bool isSameOrder(mlir::Value lhs, mlir::Value rhs);
  /// Returns whether the results of `op` are the same in all blocks.
  bool givesTheSame(mlir::Operation *op);
  bool hasSameTripCount(mlir::scf::ForOp loop);
  bool isKept(mlir::Value init, mlir::Value next);
  bool isBelow(const Form &form, int64_t divisor) const;
  bool areSame(mlir::ValueRange values) {
    return llvm::all_of(values, [&](auto value) { return isSame(value); });
  }
  Known sameIf(bool same, mlir::Value value);

  mlir::gpu::Dimension dim;
  int64_t extent;
  Divisibility divisibility;
  /// The arguments that the kernel writes; null for an unknown one.
  llvm::SmallSetVector<mlir::BlockArgument, 4> written;
  SliceSolver<Fact>::Facts known;
  /// The solver of the query that is being answered, and whether the value that
  /// it evaluates needs an open one.
  SliceSolver<Fact> *solver = nullptr;
  bool readsOpen = false;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_CLUSTERPLACES_H
