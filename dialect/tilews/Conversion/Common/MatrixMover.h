//===- MatrixMover.h - Fragments moved by matrix instructions ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_MATRIXMOVER_H
#define TILEWS_CONVERSION_COMMON_MATRIXMOVER_H

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Conversion/Common/TargetLowering.h"
#include "tilews/Layout/MatrixAccess.h"

#include <memory>
#include <optional>

namespace tilews {

/// Moves a fragment between registers and shared memory in 8x8 matrices of
/// 16-bit words, by `ldmatrix` and `stmatrix`. A 16x16 f16 tile in the layout
/// of an accumulator is one instruction of four matrices.
class MatrixMover {
public:
  /// Returns none if the target has no such instruction, if the layouts of
  /// fragment and buffer do not fit it, or if elements must be masked. The
  /// arguments are those of RegionAccess.
  static std::optional<MatrixMover>
  get(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
      mlir::MemRefType type, mlir::Value buffer,
      llvm::ArrayRef<SplitOffset> offsets, llvm::ArrayRef<int64_t> sizes,
      int64_t maxVector, const FragmentLayout &layout,
      llvm::ArrayRef<int64_t> shape, mlir::Value threadId, bool isStore);

  mlir::Value load(mlir::Type element, int64_t numRegisters);
  void store(mlir::Value vector);

private:
  /// The addresses of the rows of matrices. `region` has a reference to
  /// `indexer`.
  struct Rows {
    Rows(mlir::ImplicitLocOpBuilder &b, mlir::MemRefType type,
         mlir::Value buffer, llvm::ArrayRef<SplitOffset> offsets,
         llvm::ArrayRef<int64_t> sizes, int64_t maxVector,
         const MatrixAccess &access, llvm::ArrayRef<int64_t> shape,
         mlir::Value threadId)
        : indexer(b, access.rows, shape, threadId),
          region(b, type, buffer, offsets, sizes, maxVector, indexer) {}

    FragmentIndexer indexer;
    RegionAccess region;
  };

  MatrixMover(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
              MatrixAccess access, std::unique_ptr<Rows> rows)
      : b(b), target(target), access(std::move(access)), rows(std::move(rows)) {
  }
  mlir::Value getAddress(int64_t instruction) {
    return rows->region.getAddress(instruction);
  }

  mlir::ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  MatrixAccess access;
  std::unique_ptr<Rows> rows;
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_MATRIXMOVER_H
