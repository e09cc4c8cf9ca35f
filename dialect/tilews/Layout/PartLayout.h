//===- PartLayout.h - Layouts of parts of a buffer --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of a shared buffer is a box whose offsets are multiples of its sizes.
// So all parts of some sizes have one layout, at different distances from the
// start of the buffer. Dimensions of size one have none in the layout of a
// part.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_PARTLAYOUT_H
#define TILEWS_LAYOUT_PARTLAYOUT_H

#include "tilews/Layout/Layout.h"

#include "llvm/Support/Error.h"

namespace tilews {

/// Returns the layout of the parts of `sizes` of a buffer with `layout`. Fails
/// if the parts differ: a digit of a coordinate is in two parts, or a part does
/// not start at a multiple of the swizzle's atom.
///
/// Example: columns 32 to 63 of (64, 128):(128, 1) are (64, 32):(128, 1).
llvm::Expected<SharedLayout> getPartLayout(const SharedLayout &layout,
                                           llvm::ArrayRef<int64_t> sizes,
                                           int64_t elementBits);

/// Returns the layout of a buffer of `shape` whose parts of `sizes` have the
/// layout `part`, one part after the other in the order of panels. Each starts
/// at a multiple of the swizzle's atom and of 128 bytes, which TMA needs.
///
/// Example: parts (32, 16):(16, 1) make (64, (16, 2)):(16, (1, 1024)).
llvm::Expected<SharedLayout> repeatPart(const SharedLayout &part,
                                        llvm::ArrayRef<int64_t> shape,
                                        llvm::ArrayRef<int64_t> sizes,
                                        int64_t elementBits);

} // namespace tilews

#endif // TILEWS_LAYOUT_PARTLAYOUT_H
