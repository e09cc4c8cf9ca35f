//===- WaveCopy.h - Copies from global memory to LDS ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_WAVECOPY_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_WAVECOPY_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/LdsDma.h"

namespace tilews::tile {

/// Returns how the threads around `copy` copy its tile by instructions of AMD's
/// waves that write shared memory directly. `layout` is that of the
/// destination, and `sourceVector` are the elements that can be read at once.
/// Fails with the reason if they cannot.
llvm::Expected<LdsDma> getWaveCopy(CopyOp copy, const SharedLayout &layout,
                                   int64_t sourceVector);

/// Returns the least number of instructions that a wave has started between
/// the last group of copies that `wait` waits for and `wait` itself, over all
/// paths. `count` returns the instructions of a copy. Only the groups of copies
/// in blocks around `wait` are followed: where others are closed, the search
/// ends early, and the number is too small, which is safe.
///
/// Example, where each copy has 4 instructions:
///
/// ```
///   copy A; commit_group
///   scf.for { copy B; commit_group; wait {pending = 1} }   -> 4
/// ```
int64_t
countYoungerCopies(CopyGroupWaitOp wait,
                   llvm::function_ref<int64_t(mlir::Operation *)> count);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_WAVECOPY_H
