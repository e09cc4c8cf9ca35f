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

/// Reads the metadata of a 2:4 sparse matmul, from shared memory or a fragment,
/// as the 32-bit words that its instructions take: 16 positions of 2 bits in
/// each.
class MetadataReader {
public:
  /// `metadata` is the converted operand.
  MetadataReader(mlir::ImplicitLocOpBuilder &b, tile::MatmulOpInterface op,
                 const tile::MatmulPlan &plan, mlir::Value metadata,
                 mlir::Value threadId);

  /// Returns the words along K of one repeat along M, each an i32.
  llvm::SmallVector<mlir::Value> read(int64_t repeat);
  /// Returns how many steps along K read the same word. Step i of them has
  /// selector i.
  int64_t getStepsPerWord() const { return layout.stepsPerWord; }

private:
  mlir::Value makeWord(llvm::ArrayRef<mlir::Value> registers);

  mlir::ImplicitLocOpBuilder &b;
  MetadataLayout layout;
  /// The number of registers for a repeat along M, and for a word.
  int64_t perRepeat, perWord;
  llvm::SmallVector<mlir::Value> registers;
  mlir::Value threadId;
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_METADATAREADER_H
