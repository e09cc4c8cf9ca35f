//===- SharedBanks.h - The banks of shared memory ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_SHAREDBANKS_H
#define TILEWS_LAYOUT_SHAREDBANKS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tilews {

/// How the shared memory of a chip serves the accesses of a warp: in phases of
/// some threads, each by banks of 4 bytes.
///
/// Example: when threads read 16 bytes each, NVIDIA serves 8 neighbors in a
/// phase by 32 banks, and gfx950 serves 16 threads by 64 banks: 0 to 3, 12 to
/// 15 and 20 to 27 first.
class SharedBanks {
public:
  /// The banks of NVIDIA, and of AMD's chips for graphics.
  SharedBanks() = default;
  /// The banks of a chip such as `gfx950`.
  explicit SharedBanks(llvm::StringRef chip);

  static constexpr int64_t kBankBytes = 4;
  static constexpr int64_t kMostBanks = 64;

  int64_t getNumBanks(bool isWrite) const;
  /// Returns the phase in which a thread's access of `bytes` is served.
  int64_t getPhase(int64_t thread, int64_t bytes, bool isWrite) const;

private:
  enum class Kind { Neighbors, CDNA3, CDNA4 };
  Kind kind = Kind::Neighbors;
};

} // namespace tilews

#endif // TILEWS_LAYOUT_SHAREDBANKS_H
