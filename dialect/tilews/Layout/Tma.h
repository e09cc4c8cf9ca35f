//===- Tma.h - Boxes of the tensor memory accelerator -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which TMA instructions copy a region of shared memory, derived from its
// layout (CUDA Driver API, "cuTensorMapEncodeTiled"; CUDA C++ Programming
// Guide, "Using TMA to transfer multi-dimensional arrays").
//
// An instruction moves a box of a tensor map. In shared memory the box has no
// gaps, its innermost dimension fastest; then the swizzle is applied to the
// address.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_TMA_H
#define TILEWS_LAYOUT_TMA_H

#include "tilews/Layout/Layout.h"

#include "llvm/Support/Error.h"

namespace tilews {

/// A region of a shared buffer and the global memory it is copied from or to.
struct TmaRegion {
  SharedLayout layout;
  int64_t elementBits = 0;
  /// The region's first element and extents; both empty for the whole buffer.
  llvm::SmallVector<int64_t> offsets, sizes;
  /// The global dimension of each shared one. Where the region has extent one
  /// there need be none: any number will do.
  llvm::SmallVector<int64_t> globalDims;
  int64_t globalRank = 0;
  /// The global dimension whose elements lie side by side.
  int64_t innerDim = 0;
};

/// One TMA instruction, which copies a box.
struct TmaInstruction {
  /// Bytes from the start of the buffer to the box, a multiple of 128.
  int64_t sharedBytes;
  /// Distance from the region's first element to the box's, by global
  /// dimension.
  llvm::SmallVector<int64_t> coords;
};

/// The instructions for a region, all with one tensor map.
///
/// Example: 64 x 128 f16 in two panels of 64 columns has boxes of 64 x 64
/// (extents 64, 64, the columns first) and two instructions: 0 bytes at (0, 0),
/// and 8192 bytes at (0, 64).
struct TmaBoxes {
  /// The global dimension of each dimension of the tensor map, innermost first.
  llvm::SmallVector<int64_t> dims;
  /// The box's extents in that order, in elements.
  llvm::SmallVector<int64_t> extents;
  /// The swizzle mode: 0 for none, 32, 64 or 128.
  int64_t swizzleBytes = 0;
  llvm::SmallVector<TmaInstruction> instructions;
  /// For boxes that several blocks share: the step from one share to the next.
  /// `instructions` are those of the first share.
  TmaInstruction nextShare = {0, {}};

  /// Bytes that an instruction moves, elements past the tensor's end included.
  int64_t getBoxBytes(int64_t elementBits) const;
  /// Divides the boxes among `shares` blocks: whole boxes, or rows of a box in
  /// multiples of the swizzle's atom.
  llvm::Error shareOut(int64_t shares, int64_t elementBits);
};

/// Returns the boxes of a region, or an error that says why TMA cannot copy it.
/// The buffer must start at a multiple of 128 bytes and of its swizzle's atom.
llvm::Expected<TmaBoxes> getTmaBoxes(const TmaRegion &region);

} // namespace tilews

#endif // TILEWS_LAYOUT_TMA_H
