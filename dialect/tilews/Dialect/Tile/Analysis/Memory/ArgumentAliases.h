//===- ArgumentAliases.h - Kernel arguments that overlap --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which global buffers of a kernel may be the same memory. Two arguments, of
// which the kernel writes one, do not overlap, unless `tile.may_alias` names
// the pair. A launch checks that: see `findDisjointArguments`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARGUMENTALIASES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARGUMENTALIASES_H

#include "tilews/Dialect/Tile/IR/Kernel.h"

namespace tilews::tile {

/// Returns the kernel argument that global memory belongs to; null if it is not
/// known.
mlir::BlockArgument getKernelArgument(mlir::Value buffer);

/// Returns the smallest number of an argument that `argument` may overlap,
/// directly or through other arguments. With `tile.may_alias` of (0, 2) and
/// (2, 3), this is 0 for the arguments 0, 2 and 3.
unsigned getAliasClass(mlir::BlockArgument argument);

/// Returns whether a write to one kernel argument may change what is read of
/// the other. Null stands for an unknown argument.
bool mayAlias(mlir::BlockArgument a, mlir::BlockArgument b);

/// Returns ": 'C' may overlap 'A' (tile.may_alias)" for two arguments; empty if
/// they are the same, or if one is unknown.
std::string describeAlias(mlir::BlockArgument written,
                          mlir::BlockArgument read);

/// Returns the pairs of arguments that must not overlap. The kernel writes the
/// first, and accesses the second; the smaller number comes first if it writes
/// both. An unknown buffer counts as all arguments.
llvm::SmallVector<ArgumentPair> findDisjointArguments(mlir::Operation *kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARGUMENTALIASES_H
