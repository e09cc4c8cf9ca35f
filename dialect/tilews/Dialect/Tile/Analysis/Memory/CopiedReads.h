//===- CopiedReads.h - Reads of copied shared memory ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

namespace tilews::tile {

/// Returns the copy from global to shared memory whose source holds what
/// `read`, a `memref.load` or a `tile.load`, reads from shared memory:
///
/// ```mlir
/// tile.copy %mask[%b] to %s[0] [64] : ...   // this one
/// ...
/// %bit = memref.load %s[%i] : ...           // reads %mask[%b + %i]
/// ```
///
/// The copy must be the only operation that writes the buffer, must write all
/// of it before each execution of the read, and must read memory that the
/// kernel does not write. Its source must be a region: no rows at indices, no
/// limit. Null if there is no such copy.
CopyOp findCopyOf(mlir::Operation *read, mlir::gpu::GPUFuncOp kernel,
                  const MemoryAccesses &memory);

/// Returns, for each dimension of the source of `copy`, the dimension of the
/// destination that it goes to; none for a dimension of one element. The copy
/// has to fill its destination. A copy of [1, 64, 32] to a 64x32 buffer has the
/// dimensions (none, 0, 1).
llvm::SmallVector<std::optional<unsigned>> getDestDims(CopyOp copy);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H
