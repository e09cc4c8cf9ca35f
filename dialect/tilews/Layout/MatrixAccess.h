//===- MatrixAccess.h - Fragments as 8x8 matrices in memory -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix and stmatrix (PTX ISA) move 8x8 matrices of 16-bit elements between
// a warp's registers and shared memory. A lane gives the address of a row, 16
// bytes; lane `l` holds, as one 32-bit word, elements `2 * (l % 4)` and the
// next of row `l / 4`, or of column `l / 4` if the matrix is transposed on the
// way.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_MATRIXACCESS_H
#define TILEWS_LAYOUT_MATRIXACCESS_H

#include "tilews/Layout/Layout.h"

namespace tilews {

/// How a fragment is loaded or stored matrix by matrix.
///
/// Example: a 16 x 16 fragment of f16 in the layout of mma.sync is one
/// instruction of four matrices. Lanes 0 to 7 provide the rows of the first
/// one.
struct MatrixAccess {
  bool transposed = false;
  /// Matrices that one instruction moves: 1, 2 or 4.
  int64_t count = 1;
  /// The first element of the row whose address a thread provides: register `i`
  /// is for instruction `i`.
  FragmentLayout rows;
  /// The fragment's register that holds element `e` of the word of matrix `j`
  /// of instruction `i`, at `(i * count + j) * elements + e`.
  llvm::SmallVector<int64_t> registers;
  int64_t elements = 1; // of a word

  int64_t getNumInstructions() const { return rows.getNumValues(); }
};

/// Returns the access to a fragment of elements of `elementBits`. The buffer's
/// last dimension is the fragment's last one with an extent other than 1, and
/// the region is aligned for runs of `maxVector` elements. None if the layout
/// does not consist of matrices or reaches past `shape`, or if memory has no
/// runs of 16 bytes.
std::optional<MatrixAccess> getMatrixAccess(const FragmentLayout &layout,
                                            llvm::ArrayRef<int64_t> shape,
                                            const SharedLayout &memory,
                                            int64_t maxVector,
                                            int64_t elementBits);

} // namespace tilews

#endif // TILEWS_LAYOUT_MATRIXACCESS_H
