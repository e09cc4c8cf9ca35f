//===- LayoutRules.h - Layouts through one operation ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the layouts of an operation's fragments depend on each other if no
// element is to move between threads.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTRULES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTRULES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace tilews::tile {

/// Whether a value is a fragment.
inline bool isFragment(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}

/// The number of threads that hold `value`: those its operation runs on, or the
/// operation whose block's argument it is.
int64_t getNumThreads(mlir::Value value);

/// Whether `op` makes a fragment of nothing but scalars and constants: it can
/// be repeated in any layout instead of being converted.
bool isRepeatable(mlir::Operation *op);
/// Whether all fragments of `op` have one layout, element by element.
bool isElementwise(mlir::Operation *op);
/// Whether the layout rules know what to do with the fragments of `op`.
bool hasLayoutRule(mlir::Operation *op);

/// The layout of `op`'s result if its first fragment operand has `source`; none
/// if it does not follow.
std::optional<FragmentLayout> getResultLayout(mlir::Operation *op,
                                              const FragmentLayout &source);
/// The layout `operand` needs for its owner's result to have `result`; none if
/// no layout leads there, or any does.
std::optional<FragmentLayout> getOperandLayout(mlir::OpOperand &operand,
                                               const FragmentLayout &result);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTRULES_H
