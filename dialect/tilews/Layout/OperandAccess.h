//===- OperandAccess.h - Warp accesses to operands of matmuls ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accesses by which a warp reads operands of a matmul from shared memory
// into registers, and layouts of the buffer in which they have no bank
// conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_OPERANDACCESS_H
#define TILEWS_LAYOUT_OPERANDACCESS_H

#include "tilews/Layout/MmaLayouts.h"
#include "tilews/Layout/SwizzledLayout.h"

#include <optional>

namespace tilews {

/// How a warp reads the operand of one instruction from a buffer.
struct OperandAccess {
  /// The elements whose addresses the lanes provide, in coordinates of the
  /// buffer.
  FragmentLayout lanes;
  /// Bytes at the address of each lane, for instructions that exchange them
  /// between lanes. Zero if lanes read their own registers, in vectors of
  /// adjacent elements.
  int64_t rowBytes = 0;
};

/// Returns the rows of 16 bytes that ldmatrix reads for an operand (PTX ISA,
/// "ldmatrix"): lanes 8 * i to 8 * i + 7 provide those of matrix i.
/// `transposed` means that the buffer is K x M, or N x K. Rows run along the
/// buffer's last dimension.
OperandAccess getMatrixRowAccess(const MmaInstruction &mma, bool isLhs,
                                 bool transposed);
/// Returns the access that reads registers of an operand by ordinary loads.
OperandAccess getRegisterAccess(const MmaInstruction &mma, bool isLhs,
                                bool transposed);

/// A read by which lanes transpose a matrix: each lane provides a run of a row,
/// and gets as many elements of a column.
struct TransposedRead {
  /// The lanes that make a matrix with as many columns.
  int64_t lanes;
  /// The bytes of a run.
  int64_t bytes;
};

/// Returns the read by which a chip transposes elements of `elementBits`: by
/// one instruction if it `hasInstruction`, as gfx950 does, or else by exchanges
/// within each four lanes. None if the elements do not have 8 or 16 bits.
std::optional<TransposedRead> getTransposedRead(int64_t elementBits,
                                                bool hasInstruction);

/// Returns the runs of the lanes, in coordinates of the operand, (m, k) or
/// (k, n). Value i is the run of the i-th read. None if the operand is not made
/// of such reads. The runs are along M or N, and a lane gets neighbors along K.
/// By the instruction for 16 bits, in 16 lanes
///
///   lane 5 provides  columns 4 to 7 of row 1
///   lane 5 gets      rows 0 to 3 of column 5
std::optional<FragmentLayout> getTransposedRuns(const MmaInstruction &mma,
                                                bool isLhs, int64_t elementBits,
                                                TransposedRead read);

/// Returns the access of such reads, or else by ordinary loads.
OperandAccess getTransposedAccess(const MmaInstruction &mma, bool isLhs,
                                  bool transposed, int64_t elementBits,
                                  bool hasInstruction);

/// Returns the conflicts of the worst read of a warp.
llvm::Expected<BankConflicts> getBankConflicts(const OperandAccess &access,
                                               const SharedLayout &layout,
                                               int64_t elementBits,
                                               SharedBanks banks = {});

/// Returns the conflicts of the worst access of a warp when `numThreads`
/// threads copy a buffer in vectors of up to 16 bytes.
llvm::Expected<BankConflicts> getCopyConflicts(const SharedLayout &layout,
                                               int64_t elementBits,
                                               int64_t numThreads,
                                               SharedBanks banks = {});

/// Returns the layout with the fewest bank conflicts of the reads and of the
/// copy that fills the buffer: panels as wide as possible, or else rows, with a
/// swizzle.
SharedLayout chooseOperandLayout(llvm::ArrayRef<int64_t> shape,
                                 int64_t elementBits,
                                 const OperandAccess &access,
                                 int64_t numThreads, SharedBanks banks = {});

} // namespace tilews

#endif // TILEWS_LAYOUT_OPERANDACCESS_H
