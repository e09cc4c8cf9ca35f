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

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace tilews::tile {

/// Whether a value is a fragment.
inline bool isFragment(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}

/// The operation that makes `value`, or whose block it is an argument of.
mlir::Operation *getMaker(mlir::Value value);
/// The number of threads that hold `value`: those its maker runs on.
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

/// The blocked layout for `threads` threads, with vectors of at most
/// `vectorElements` as long as no thread goes without work.
FragmentLayout chooseBlockedLayout(llvm::ArrayRef<int64_t> shape,
                                   int64_t threads, int64_t vectorElements);

/// A layout that holds each row along `axis` within one warp, in vectors along
/// the last dimension. Along another axis it holds rows within one thread.
FragmentLayout getRowLayout(llvm::ArrayRef<int64_t> shape, int64_t threads,
                            int64_t vectorElements, int64_t axis,
                            int64_t warpSize);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H
