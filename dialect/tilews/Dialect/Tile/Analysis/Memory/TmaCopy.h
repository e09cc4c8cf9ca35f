//===- TmaCopy.h - Copies that the TMA does ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a `tile.copy` becomes if the tensor memory accelerator does it. Depends
// on the layout of the shared buffer; without one, the buffer is taken to be
// row-major.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Layout/Tma.h"

namespace tilews::tile {

/// A copy between a kernel's argument and shared memory.
struct TmaCopy {
  /// Whether it is from shared to global memory.
  bool isStore;
  /// The map of the argument that all instructions use.
  TensorMap map;
  TmaBoxes boxes;
  /// Bytes of all boxes, those past the argument's ends included; of a copy
  /// that blocks do together, of all shares.
  int64_t bytes;
};

/// Whether `op` has `tile.inst = #tile.inst<tma>`.
bool isTma(mlir::Operation *op);
/// The channel that a copy of TMA to shared memory completes through: it fills
/// a slot of one, in a role. Null if there is none.
ChannelOp getCompletedChannel(CopyOp op);
/// How TMA does `op`, or why it cannot. Base address and strides are assumed to
/// be multiples of 16 bytes where they are not static; the launch checks.
llvm::Expected<TmaCopy> getTmaCopy(CopyOp op);
/// Why TMA cannot do `op`, whatever layout the shared buffer gets: success if
/// it can. Rows of the argument have to be known to begin at multiples of 16
/// bytes.
llvm::Error checkTma(CopyOp op, Divisibility &divisibility);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H
