//===- LdsDma.h - Copies that waves write to LDS linearly -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_LDSDMA_H
#define TILEWS_LAYOUT_LDSDMA_H

#include "tilews/Layout/Layout.h"

#include "llvm/Support/Error.h"

namespace tilews {

/// How the threads of a block copy a tile from global to shared memory by
/// instructions of AMD's waves that write linearly: lane l of a wave writes
/// `bytes` bytes at a place of the wave plus l * `bytes`. Which element a
/// lane reads is free, so that the swizzle of the shared buffer becomes a
/// permutation of the threads' sources.
///
/// Example: 64x64 f16 in rows of 128 bytes with `Sw<3,4,3>`, 128 threads, 16
/// bytes: 4 instructions. Instruction i of thread t writes byte (128 * i + t) *
/// 16. Thread 9 writes chunk 1 of row 1 with the element that the swizzle puts
/// there, which is chunk 0: the source of thread 8.
struct LdsDma {
  /// Which elements a thread would copy without a swizzle; the first values are
  /// those of the first instruction. Dimensions of extent one are left out.
  FragmentLayout layout;
  /// Bytes of a lane in one instruction.
  int64_t bytes;
  /// The instructions of each wave.
  int64_t count;
  /// The source of thread t is that of thread t ^ ((t >> shift) & mask).
  int64_t shift, mask;

  int64_t getSource(int64_t thread) const {
    return thread ^ ((thread >> shift) & mask);
  }

  /// Returns how `threads` threads copy a whole buffer with layout `dest`,
  /// `bytes` bytes of a lane at a time. Fails with the reason if its places are
  /// not written in such an order.
  static llvm::Expected<LdsDma> get(const SharedLayout &dest,
                                    int64_t elementBits, int64_t threads,
                                    int64_t bytes);
};

} // namespace tilews

#endif // TILEWS_LAYOUT_LDSDMA_H
