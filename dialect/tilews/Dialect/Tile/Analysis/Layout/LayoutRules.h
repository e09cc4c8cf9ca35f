//===- LayoutRules.h - Layouts through one operation ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the layouts of an operation's fragments depend on each other if no
// element moves between threads. For `%r = tile.reduce <sum> %x {axis = 1}`,
// the layout of %r is that of %x without dimension 1. For
// `%y = arith.addf %x, %x`, both are equal.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace tilews::tile {

/// Returns whether a value is a fragment.
inline bool isFragment(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}

/// Returns the operation that makes `value`, or whose block has it as argument.
mlir::Operation *getMaker(mlir::Value value);
/// Returns the number of threads that hold `value`: those that run its maker.
int64_t getNumThreads(mlir::Value value);

/// Returns whether `op` makes a fragment from scalars and constants only. It
/// can then be repeated in any layout instead of being converted.
bool isRepeatable(mlir::Operation *op);
/// Returns whether all fragments of `op` have the same layout.
bool isElementwise(mlir::Operation *op);
/// Returns whether there is a layout rule for the fragments of `op`.
bool hasLayoutRule(mlir::Operation *op);

/// Returns the layout of `op`'s result if its first fragment operand has
/// `source`; none if it does not follow.
std::optional<FragmentLayout> getResultLayout(mlir::Operation *op,
                                              const FragmentLayout &source);
/// Returns the layout that `operand` needs for its owner's result to have
/// layout `result`; none if no layout does it, or every one.
std::optional<FragmentLayout> getOperandLayout(mlir::OpOperand &operand,
                                               const FragmentLayout &result);

/// Returns the blocked layout for `threads` threads, with vectors of at most
/// `vectorElements`. Vectors are shorter if threads would have no elements
/// otherwise.
FragmentLayout chooseBlockedLayout(llvm::ArrayRef<int64_t> shape,
                                   int64_t threads, int64_t vectorElements);

/// Returns a layout that holds each row along `axis` within one warp, in
/// vectors, if `axis` is the last dimension; otherwise within one thread.
FragmentLayout getRowLayout(llvm::ArrayRef<int64_t> shape, int64_t threads,
                            int64_t vectorElements, int64_t axis,
                            int64_t warpSize);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTRULES_H
