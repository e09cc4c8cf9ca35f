//===- SharedBanks.cpp - The banks of shared memory -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase serves as many threads as move the width of all banks together. They
// are neighbors, except for reads of 16 bytes on AMD's CDNA chips, where groups
// of four threads are paired:
//
//   gfx90a, gfx942  32 banks; AMD's documentation of Composable Kernel, "LDS
//                   bank conflicts"
//   gfx950          reads see 64 banks, writes 32; measured by HipKittens
//                   (2025, analysis/paper_experiments), and in AMD's blog on
//                   GEMM kernels for CDNA4 (2026)
//
// Nobody published the phases of gfx950's reads of 4 bytes and less: they are
// taken as neighbors, too.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/SharedBanks.h"

#include <algorithm>

using namespace tilews;

SharedBanks::SharedBanks(llvm::StringRef chip) {
  if (chip == "gfx950")
    kind = Kind::CDNA4;
  else if (chip.starts_with("gfx9"))
    kind = Kind::CDNA3;
}

int64_t SharedBanks::getNumBanks(bool isWrite) const {
  return kind == Kind::CDNA4 && !isWrite ? kMostBanks : 32;
}

int64_t SharedBanks::getPhase(int64_t thread, int64_t bytes,
                              bool isWrite) const {
  // The phase of each four threads, in half a wave.
  static constexpr int64_t kCDNA3[] = {0, 1, 2, 3, 1, 0, 3, 2};
  static constexpr int64_t kCDNA4[] = {0, 1, 1, 0, 1, 0, 0, 1};
  if (bytes == 16 && !isWrite && kind == Kind::CDNA3)
    return thread / 32 * 4 + kCDNA3[thread % 32 / 4];
  if (bytes == 16 && !isWrite && kind == Kind::CDNA4)
    return thread / 32 * 2 + kCDNA4[thread % 32 / 4];
  return thread /
         (getNumBanks(isWrite) * kBankBytes / std::max(bytes, kBankBytes));
}
