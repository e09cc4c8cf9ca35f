//===- OperandAccess.h - How warps read operands of products ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reads of a warp that holds its operands in registers, and layouts of the
// shared buffer in which the banks serve them without conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_OPERANDACCESS_H
#define TILEWS_LAYOUT_OPERANDACCESS_H

#include "tilews/Layout/MmaLayouts.h"
#include "tilews/Layout/SwizzledLayout.h"

namespace tilews {

/// How a warp reads one instruction's operand from a buffer.
struct OperandAccess {
  /// The elements that the lanes give an address of, in the buffer's
  /// coordinates.
  FragmentLayout lanes;
  /// Bytes that every lane's address stands for, as ldmatrix has it; zero if
  /// lanes read their registers, as many at a time as lie side by side.
  int64_t rowBytes = 0;
};

/// The rows of 16 bytes that ldmatrix reads for an operand (PTX ISA,
/// "ldmatrix"): lanes 8 * i to 8 * i + 7 give those of matrix i. `transposed`
/// says that the buffer is K x M, or N x K. Rows run along the buffer's last
/// dimension.
OperandAccess getMatrixRowAccess(const MmaInstruction &mma, bool isLhs,
                                 bool transposed);
/// The registers of an operand, read one by one or in vectors.
OperandAccess getRegisterAccess(const MmaInstruction &mma, bool isLhs,
                                bool transposed);

/// The worst of a warp's reads.
llvm::Expected<BankConflicts> getBankConflicts(const OperandAccess &access,
                                               const SharedLayout &layout,
                                               int64_t elementBits);

/// The worst access of a warp that copies a buffer, in vectors of up to 16
/// bytes, with `numThreads` threads.
llvm::Expected<BankConflicts> getCopyConflicts(const SharedLayout &layout,
                                               int64_t elementBits,
                                               int64_t numThreads);

/// Panels as wide as possible, or else rows, whose swizzle lets the banks serve
/// the reads and the copy that fills the buffer without conflicts or, if no
/// swizzle does, with the fewest.
SharedLayout getOperandLayout(llvm::ArrayRef<int64_t> shape,
                              int64_t elementBits, const OperandAccess &access,
                              int64_t numThreads);

} // namespace tilews

#endif // TILEWS_LAYOUT_OPERANDACCESS_H
