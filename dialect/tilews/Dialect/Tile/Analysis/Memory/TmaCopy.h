//===- TmaCopy.h - Copies that the TMA does ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions of the tensor memory accelerator (TMA) that do a
// `tile.copy`. They depend on the layout of the shared buffer; a buffer without
// one counts as row-major.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Layout/Tma.h"

namespace tilews::tile {

/// A copy between a kernel's argument and shared memory. For
///
/// ```mlir
/// tile.copy %A[%m, %k] to %3[0, 0] [128, 64] {tile.inst = #tile.inst<tma>}
///   : memref<?x?xf16> to memref<128x64xf16, #tile.shared<...128-byte swizzle>>
/// ```
///
/// the map has boxes of 64 x 128 elements (innermost first) with the 128-byte
/// swizzle, there is one instruction, and `bytes` is 128 * 64 * 2 = 16384.
struct TmaCopy {
  /// Whether data moves from shared to global memory.
  bool isStore;
  /// The map of the argument that all instructions use.
  TensorMap map;
  TmaBoxes boxes;
  /// The bytes of all boxes, those past the argument's ends included. If the
  /// blocks of a cluster share the copy, the bytes of all shares.
  int64_t bytes;

  /// The example prints `load of 16384 bytes in 1 boxes of 64x128 (dimensions
  /// 1, 0) of argument 0, swizzle of 128 bytes`.
  void print(llvm::raw_ostream &os) const;
};

/// Returns whether `op` has `tile.inst = #tile.inst<tma>`.
bool isTma(mlir::Operation *op);

/// Whether `operand` is the metadata of a sparse matmul. Threads read it
/// themselves when the matmul starts, also if the matmul is asynchronous.
bool isMetadata(mlir::OpOperand &operand);

/// Whether the operation accesses the shared memory of `operand` through the
/// asynchronous proxy: by TMA or wgmma, but for metadata.
bool isByAsyncProxy(mlir::OpOperand &operand);

/// Returns how TMA does `op`, or an error that says why it cannot. A base
/// address or stride that is not static is assumed to be a multiple of 16
/// bytes; the launch checks that.
llvm::Expected<TmaCopy> getTmaCopy(CopyOp op);

/// Returns success if TMA can do `op` in the layout that TMA likes best for the
/// shared buffer, otherwise an error that says why not. The rows of the
/// argument, and the region in its rows, must provably start at multiples of 16
/// bytes.
llvm::Error checkTma(CopyOp op, Divisibility &divisibility);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_TMACOPY_H
