//===- MatrixTransfers.cpp - Matrices moved by warps ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables of the instructions that move matrices, from the PTX ISA. A layout is
// written as modes {extent, stride, dimension} of the lane and of the register,
// so the table can be compared with the figures of the document:
//
//   ldmatrix .m8n8: lane {4, 2, column} {8, 1, row}, value {2, 1, column}
//     lane 5 holds columns 2 and 3 of row 1
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/MatrixTransfers.h"

#include "llvm/Support/ErrorHandling.h"

using namespace tilews;

/// Returns the rows whose addresses lanes provide: `rows` lanes for each
/// matrix.
static FragmentLayout getAddresses(int64_t matrices, int64_t rows) {
  return FragmentLayout(
      {{rows, 1, 1}, {matrices, 1, 0}, {32 / (rows * matrices), 0, 0}}, {});
}

MatrixTransfer tilews::getMatrix8x8(int64_t matrices, bool transposed) {
  // A word holds two neighbours along a row or, transposed, along a column.
  int64_t across = transposed ? 1 : 2, along = 3 - across;
  return {matrices, 8, 8,
          FragmentLayout({{4, 2, across}, {8, 1, along}},
                         {{2, 1, across}, {matrices, 1, 0}}),
          getAddresses(matrices, 8)};
}

MatrixTransfer tilews::getMatrix16x16(int64_t matrices) {
  return {matrices, 16, 16,
          FragmentLayout({{4, 4, 1}, {8, 1, 2}},
                         {{2, 1, 1}, {2, 8, 2}, {2, 2, 1}, {matrices, 1, 0}}),
          getAddresses(matrices, 16)};
}

MatrixTransfer tilews::getMatrix16x8(int64_t matrices) {
  return {matrices, 8, 16,
          FragmentLayout({{4, 2, 1}, {8, 1, 2}},
                         {{2, 1, 1}, {2, 8, 2}, {matrices, 1, 0}}),
          getAddresses(matrices, 8)};
}

FragmentLayout tilews::getTensorMemoryTransfer(TensorMemoryShape shape,
                                               int64_t repeat) {
  switch (shape) {
  case TensorMemoryShape::S32x32b:
    return FragmentLayout({{32, 1, 0}}, {{repeat, 1, 1}});
  case TensorMemoryShape::S16x64b:
    return FragmentLayout({{2, 8, 0}, {2, 1, 1}, {8, 1, 0}}, {{repeat, 2, 1}});
  case TensorMemoryShape::S16x128b:
    return FragmentLayout({{4, 1, 1}, {8, 1, 0}}, {{2, 8, 0}, {repeat, 4, 1}});
  case TensorMemoryShape::S16x256b:
    return FragmentLayout({{4, 2, 1}, {8, 1, 0}},
                          {{2, 1, 1}, {2, 8, 0}, {repeat, 8, 1}});
  case TensorMemoryShape::S16x32bx2:
    return FragmentLayout({{16, 1, 0}, {2, repeat, 1}}, {{repeat, 1, 1}});
  }
  llvm_unreachable("covered switch");
}
