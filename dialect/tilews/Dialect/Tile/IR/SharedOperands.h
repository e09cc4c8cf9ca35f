//===- SharedOperands.h - How instructions read shared buffers --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What wgmma and TMA need to know of a shared buffer, for operations.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H
#define TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/Tma.h"
#include "tilews/Layout/WgmmaDescriptor.h"

namespace tilews::tile {

/// The layout wgmma and TMA want for a shared buffer: panels as wide as the
/// largest swizzle that divides a row, or of single 16-byte rows without one.
SharedLayout getSwizzledPanels(mlir::MemRefType type);

/// How wgmma reads `operand`, a buffer that `op` multiplies, if it has
/// `layout`; or why it cannot. The grid of `plan` does not matter.
llvm::Expected<WgmmaDescriptor> getWgmmaDescriptor(MatmulOpInterface op,
                                                   mlir::OpOperand &operand,
                                                   const MatmulPlan &plan,
                                                   const SharedLayout &layout);

/// Why TMA cannot copy between the buffers of `op`, whatever the layout of the
/// shared one is: one of them is an argument of the kernel in global memory, of
/// elements that a tensor map can name, with at most 5 dimensions. Base address
/// and strides are assumed to be multiples of 16 bytes where they are not
/// static; the launch checks.
llvm::Error checkTma(CopyOp op);

/// The TMA instructions that copy the regions of `op`, one in shared and one in
/// global memory, if the shared buffer has `layout`; or why there are none.
llvm::Expected<TmaBoxes> getTmaBoxes(CopyOp op, const SharedLayout &layout);

/// A layout of the shared buffer of `op` that TMA copies between: its own if it
/// has one, else row-major or, for rows that are too long for a box, panels; or
/// why there is none.
llvm::Expected<SharedLayout> chooseTmaLayout(CopyOp op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_SHAREDOPERANDS_H
