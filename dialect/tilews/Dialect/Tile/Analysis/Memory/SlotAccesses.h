//===- SlotAccesses.h - Accesses to the slots of channels -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says which channel's slot an operation accesses. Passes and analyses of this
// dialect ask here; the verifier and the simulator derive it independently, so
// that they can find mistakes in this file.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SLOTACCESSES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SLOTACCESSES_H

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

namespace tilews::tile {

// The examples below are about this kernel:
//
//   %a = tile.alloc_shared : memref<3x64x64xf16, #shared>
//   %c = tile.channel(%a) : ... -> !tile.channel<3>
//   tile.specialize { tile.role @load warps(1) {
//     %s = tile.slot %a[%cursor] : ... -> ...
//     %v = tile.view %s : ... to ...
//     tile.copy %A[...] to %v[...] {tile.inst = #tile.inst<tma>} ...

/// Returns the channel that hands on `buffer`, an allocation: %c for %a. Null
/// if there is none.
ChannelOp getChannelOf(mlir::Value buffer);

/// Returns the slot that `buffer` is, or is a view of: %s for %s and for %v.
/// Null if there is none.
SlotOp getViewedSlot(mlir::Value buffer);

/// Returns the channel of the slot that `buffer` is, or is a view of: %c for %s
/// and for %v. Null if it is no slot, or the slot of a buffer without channel.
ChannelOp getSlotChannel(mlir::Value buffer);

/// Returns the channel through which a TMA copy to shared memory completes: it
/// fills a slot of that channel, in a role. Null if there is none.
ChannelOp getCompletedChannel(CopyOp op);

/// A use of a channel's slot, or of a view of it, by an operation other than a
/// view: %v by the copy.
struct SlotUse {
  /// The buffer of the channel: %a.
  mlir::Value buffer;
  mlir::OpOperand *operand;
};
/// Returns the uses of the slots of all buffers of `channel`.
llvm::SmallVector<SlotUse> getSlotUses(ChannelOp channel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_SLOTACCESSES_H
