//===- ExtentPremises.h - Promises about extents ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_EXTENTPREMISES_H
#define TILEWS_LIB_VERIFIER_ENGINE_EXTENTPREMISES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

namespace tilews::verifier {

/// What the attributes of a kernel's arguments promise about extents, which is
/// checked at launch:
///
///     %A: memref<?x?xf16> {tile.symbols = ["M", "K"],
///                          tile.divisible = array<i64: 1, 16>}
///     %B: memref<?x?xf16> {tile.symbols = ["K", "N"]}
///
/// Dimension 0 of %B and dimension 1 of %A are one extent, a multiple of 16.
class ExtentPremises {
public:
  /// A dimension of an argument of the kernel.
  using Dimension = std::pair<mlir::Value, int64_t>;
  struct Extent {
    /// The dimensions that have this extent; the first one stands for all.
    llvm::SmallVector<Dimension, 2> dimensions;
    int64_t divisor = 1;
    std::optional<int64_t> constant;
  };

  explicit ExtentPremises(mlir::gpu::GPUFuncOp kernel);

  /// The extent that `op` reads, if it is one of an argument; null otherwise.
  const Extent *find(mlir::Operation *op) const;

  const Extent &get(Dimension dimension) const {
    return extents[numbers.at(dimension)];
  }

private:
  void add(mlir::BlockArgument argument, int64_t dim, llvm::StringRef symbol,
           int64_t divisor, llvm::StringMap<unsigned> &bySymbol);

  std::vector<Extent> extents;
  llvm::DenseMap<Dimension, unsigned> numbers;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_EXTENTPREMISES_H
