//===- WgmmaDescriptor.h - Shared operands of wgmma -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix descriptors of wgmma, derived from a layout (PTX ISA,
// "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix
// Descriptor Format").
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_WGMMADESCRIPTOR_H
#define TILEWS_LAYOUT_WGMMADESCRIPTOR_H

#include "tilews/Layout/Algebra.h"
#include "tilews/Layout/Layout.h"

namespace tilews {

/// A shared operand, of two dimensions, and the part that one instruction
/// reads.
struct WgmmaOperand {
  SharedLayout layout;
  int64_t elementBits = 0;
  /// The dimension along K; the other one runs along M or N.
  int64_t kDim = 1;
  /// The instruction's M (or N) and K.
  int64_t extent = 0, k = 0;
};

/// How the instructions of a matmul address an operand.
///
/// Example: 64 x 64 f16 in rows of 128 bytes with Sw<3,4,3>, K along the rows:
/// `strideBytes` 1024 (8 rows), `kStarts` 4:32 (16 elements along K each).
struct WgmmaDescriptor {
  /// Whether 16-byte rows run along K, otherwise along M or N.
  bool majorK = true;
  /// The swizzle mode: 0 for none, 32, 64 or 128.
  int64_t swizzleBytes = 0;
  int64_t leadingBytes = 0, strideBytes = 0;
  /// `starts(i) + kStarts(j)` is the distance in bytes from the start of the
  /// buffer to the part of instruction i along M (or N) and j along K.
  Layout starts, kStarts;

  /// Returns the descriptor without the address.
  int64_t getBits() const;
};

/// Returns the descriptor of an operand, or an error that says why wgmma cannot
/// read the layout. The buffer must start at a multiple of its swizzle's atom.
llvm::Expected<WgmmaDescriptor> getWgmmaDescriptor(const WgmmaOperand &operand);

} // namespace tilews

#endif // TILEWS_LAYOUT_WGMMADESCRIPTOR_H
