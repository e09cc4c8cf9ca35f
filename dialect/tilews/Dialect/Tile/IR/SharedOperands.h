//===- SharedOperands.h - Layouts of operands in shared memory --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions and TMA read shared memory in fixed patterns. These
// functions choose layouts for them, and check whether a layout suits the
// operands of an operation. The patterns themselves are in
// Layout/WgmmaDescriptor.h and Layout/Tma.h.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H
#define TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/Tma.h"
#include "tilews/Layout/WgmmaDescriptor.h"

namespace tilews::tile {

/// Returns the best layout of a shared buffer for wgmma and TMA. It consists of
/// panels whose width is the largest of 128, 64, 32 and 16 bytes that divides a
/// row; panels of more than 16 bytes are swizzled. Row-major if none does.
SharedLayout getSwizzledPanels(mlir::MemRefType type);

/// Returns the descriptor with which wgmma reads `operand`, a buffer of `op`,
/// in `layout`; an error with the reason if wgmma cannot. Ignores the grid of
/// `plan`.
llvm::Expected<WgmmaDescriptor> getWgmmaDescriptor(MatmulOpInterface op,
                                                   mlir::OpOperand &operand,
                                                   const MatmulPlan &plan,
                                                   const SharedLayout &layout);

/// Returns the dimension of a global buffer along which elements are
/// contiguous; nothing if none has a stride of 1.
std::optional<int64_t> getInnerDim(mlir::MemRefType type);

/// Returns an error with the reason if TMA cannot copy between the buffers of
/// `op`, whatever the layout of the shared one. The other buffer must be an
/// argument of the kernel in global memory, with 1 to 5 dimensions, and an
/// element type that tensor maps have. Base addresses and dynamic strides are
/// assumed to be multiples of 16 bytes; the launch checks it.
llvm::Error checkTmaBuffers(CopyOp op);

/// Returns the TMA instructions that copy between the two regions of `op` if
/// the shared buffer has `layout`; an error with the reason if there are none.
llvm::Expected<TmaBoxes> getTmaBoxes(CopyOp op, const SharedLayout &layout);

/// Returns a layout of the shared buffer of `op` that TMA supports: its own if
/// it has one, else row-major, or panels if rows are too long for a box.
/// Returns an error with the reason if there is none.
llvm::Expected<SharedLayout> chooseTmaLayout(CopyOp op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H
