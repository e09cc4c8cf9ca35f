//===- CopiedReads.h - Reads of what a copy brought -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

namespace tilews::tile {

/// The copy from global to shared memory whose source holds what `read`, a
/// `memref.load` or a `tile.load`, reads from shared memory, whenever it does:
/// the only operation that writes the buffer, all of it, before the read and in
/// a block around it, from memory that the kernel does not write. Null if there
/// is none.
CopyOp findCopyOf(mlir::Operation *read, mlir::gpu::GPUFuncOp kernel,
                  const MemoryAccesses &memory);

/// For each dimension of the source of `copy` the one of the destination, which
/// the copy fills, that it goes to; none for those of one element, which count
/// on neither side.
llvm::SmallVector<std::optional<unsigned>> getDestDims(CopyOp copy);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_COPIEDREADS_H
