//===- ThreadCode.h - The code of one thread ------------------ -*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_THREADCODE_H
#define TILEWS_CONVERSION_COMMON_THREADCODE_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace tilews {

/// Emits an error unless everything in `root` is code of one thread, as
/// --convert-tile-to-nvvm and --convert-tile-to-rocdl make it: operations of
/// scalars, vectors, pointers and memrefs in global memory. Fragments
/// (tensors), shared buffers and operations of the tile dialect are not.
mlir::LogicalResult checkThreadCode(mlir::Operation *root);

/// Emits an error at `root` unless `bits` is a width that `index` can have in
/// code of one thread.
mlir::LogicalResult checkIndexBitwidth(mlir::Operation *root, unsigned bits);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_THREADCODE_H
