//===- MetadataReader.h - Metadata of sparse matmuls ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_METADATAREADER_H
#define TILEWS_CONVERSION_COMMON_METADATAREADER_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/SparseMmaLayouts.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

/// Reads the metadata of a sparse product, from shared memory or a fragment, as
/// the words that its instructions take.
class MetadataReader {
public:
  /// The converted operand is `metadata`.
  MetadataReader(mlir::ImplicitLocOpBuilder &b, tile::MatmulOpInterface op,
                 const tile::MatmulPlan &plan, mlir::Value metadata,
                 mlir::Value threadId);

  /// The words along K of one repeat along M, each an i32.
  llvm::SmallVector<mlir::Value> read(int64_t repeat);
  /// How many steps along K take their metadata from one word: with selectors
  /// from zero on.
  int64_t getStepsPerWord() const { return layout.stepsPerWord; }

private:
  mlir::Value makeWord(llvm::ArrayRef<mlir::Value> registers);

  mlir::ImplicitLocOpBuilder &b;
  MetadataLayout layout;
  /// Of a repeat along M, and of a word.
  int64_t perRepeat, perWord;
  llvm::SmallVector<mlir::Value> registers;
  mlir::Value threadId;
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_METADATAREADER_H
