//===- CountWords.h - Bank conflicts by counting words ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_UNITTESTS_LAYOUT_COUNTWORDS_H
#define TILEWS_UNITTESTS_LAYOUT_COUNTWORDS_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <set>

namespace tilews {

/// What a count of words says about an access of a warp.
struct WordCount {
  int64_t phases = 0, wavefronts = 0, degree = 1;
};

/// Counts the words of 4 bytes that each of 32 banks serves. Accesses of 8
/// bytes are served by 16 threads at a time, those of 16 bytes by 8.
inline WordCount countWords(llvm::ArrayRef<int64_t> offsets, int64_t bytes) {
  WordCount count;
  size_t threads = bytes <= 4 ? 32 : 128 / bytes;
  for (size_t first = 0; first < offsets.size(); first += threads) {
    std::set<int64_t> words[32];
    for (int64_t offset : offsets.slice(first).take_front(threads))
      for (int64_t byte = offset; byte < offset + bytes; ++byte)
        words[byte / 4 % 32].insert(byte / 4);
    int64_t most = 1;
    for (const std::set<int64_t> &bank : words)
      most = std::max<int64_t>(most, bank.size());
    ++count.phases;
    count.wavefronts += most;
    count.degree = std::max(count.degree, most);
  }
  return count;
}

} // namespace tilews

#endif // TILEWS_UNITTESTS_LAYOUT_COUNTWORDS_H
