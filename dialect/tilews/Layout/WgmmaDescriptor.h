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

/// How the instructions of a product address an operand.
struct WgmmaDescriptor {
  /// Whether 16-byte rows run along K, otherwise along M or N.
  bool majorK = true;
  /// The swizzle mode: 0 for none, 32, 64 or 128.
  int64_t swizzleBytes = 0;
  int64_t leadingBytes = 0, strideBytes = 0;
  /// Bytes from the buffer's begin to the part of the i-th instruction along M
  /// (or N) and of the j-th along K: `starts(i) + kStarts(j)`.
  Layout starts, kStarts;

  /// The descriptor but for the address.
  int64_t getBits() const;
};

/// The descriptor of an operand, or why wgmma cannot read the layout. The
/// buffer has to begin at a multiple of its swizzle's atom.
llvm::Expected<WgmmaDescriptor> getWgmmaDescriptor(const WgmmaOperand &operand);

} // namespace tilews

#endif // TILEWS_LAYOUT_WGMMADESCRIPTOR_H
