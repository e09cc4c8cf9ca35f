//===- MatrixTransfers.h - Matrices moved by warps --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions by which a warp moves whole matrices between its registers
// and shared memory (ldmatrix, stmatrix) or tensor memory (tcgen05).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_MATRIXTRANSFERS_H
#define TILEWS_LAYOUT_MATRIXTRANSFERS_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// One ldmatrix or stmatrix. Coordinates are (matrix, row, column); rows are
/// those of shared memory, 16 bytes each.
///
/// Example: in .m8n8.x1, lane 5 holds columns 2 and 3 of row 1, and lane 1
/// provides the address of row 1.
struct MatrixTransfer {
  int64_t matrices = 0, rows = 0, columns = 0;
  /// The elements in the registers of a lane, the lowest bits first.
  FragmentLayout registers;
  /// The row (matrix, row) whose address a lane provides. Lanes whose address
  /// the instruction ignores are replicas.
  FragmentLayout addresses;
};

/// ldmatrix and stmatrix .m8n8 of 1, 2 or 4 matrices of 16-bit elements (PTX
/// ISA, "ldmatrix", "stmatrix").
MatrixTransfer getMatrix8x8(int64_t matrices, bool transposed);
/// ldmatrix .m16n16.trans.b8 of 1 or 2 matrices.
MatrixTransfer getMatrix16x16(int64_t matrices);
/// stmatrix .m16n8.trans.b8 of 1, 2 or 4 matrices, which lie in shared memory
/// as 8 rows of 16.
MatrixTransfer getMatrix16x8(int64_t matrices);

/// The shapes of tcgen05.ld and tcgen05.st (PTX ISA, "Data Movement Shape").
enum class TensorMemoryShape {
  S32x32b,
  S16x64b,
  S16x128b,
  S16x256b,
  S16x32bx2
};

/// Returns which 32-bit word (lane, column) of a warp's part of tensor memory
/// each register of a thread holds, for `repeat` times the shape. The second
/// half of 16x32bx2 follows the first one.
FragmentLayout getTensorMemoryTransfer(TensorMemoryShape shape, int64_t repeat);

} // namespace tilews

#endif // TILEWS_LAYOUT_MATRIXTRANSFERS_H
