//===- BankConflicts.cpp - Accesses to the banks of shared memory ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the cycles in which the banks of shared memory serve an access.
// Threads are served in phases, which depend on the chip. In a phase each bank
// delivers one 4-byte word a cycle; threads that need the same word share it.
// So a phase takes as many cycles as the busiest bank has different words:
//
//   32 threads, 4 bytes each, 8 bytes apart, 32 banks: words 0 and 32 share
//   bank 0, degree 2, two wavefronts instead of one
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/SwizzledLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

static constexpr int64_t kBankBytes = SharedBanks::kBankBytes;

namespace {
/// A word of memory, and the first thread of the phase that accesses it.
struct Word {
  int64_t number, thread;
};

/// The access of one thread.
struct ThreadAccess {
  int64_t thread, offset;
};
} // namespace

/// Adds one phase: threads that are served together by `numBanks` banks.
static void addPhase(ArrayRef<ThreadAccess> accesses, int64_t bytes,
                     int64_t numBanks, BankConflicts &result) {
  std::array<SmallVector<Word>, SharedBanks::kMostBanks> banks;
  int64_t degree = 1;
  const SmallVector<Word> *worst = nullptr;
  for (auto [thread, offset] : accesses)
    for (int64_t byte = 0; byte < bytes; byte += kBankBytes) {
      int64_t word = (offset + byte) / kBankBytes;
      SmallVector<Word> &bank = banks[word % numBanks];
      // Threads that access the same word are served at once.
      if (llvm::none_of(bank, [&](Word w) { return w.number == word; }))
        bank.push_back({word, thread});
      if (int64_t(bank.size()) > degree) {
        degree = bank.size();
        worst = &bank;
      }
    }
  ++result.phases;
  result.wavefronts += degree;
  if (degree > result.degree) {
    result.degree = degree;
    result.clash = {(*worst)[0].thread, (*worst)[1].thread};
  }
}

static Error checkBytes(int64_t bytes) {
  if (bytes >= 1 && bytes <= 16 && llvm::isPowerOf2_64(bytes))
    return Error::success();
  return makeLayoutError("a thread accesses 1, 2, 4, 8 or 16 bytes at a time, "
                         "found ",
                         bytes);
}

Expected<BankConflicts> tilews::getBankConflicts(ArrayRef<int64_t> byteOffsets,
                                                 int64_t bytes,
                                                 SharedBanks banks,
                                                 bool isWrite) {
  if (Error error = checkBytes(bytes))
    return std::move(error);
  std::vector<SmallVector<ThreadAccess>> phases;
  for (auto [index, offset] : llvm::enumerate(byteOffsets)) {
    int64_t thread = index;
    if (offset < 0)
      continue;
    if (offset % bytes != 0)
      return makeLayoutError("thread ", thread, " accesses ", bytes,
                             " bytes at offset ", offset,
                             ", which is not a multiple of that");
    size_t phase = banks.getPhase(thread, bytes, isWrite);
    if (phase >= phases.size())
      phases.resize(phase + 1);
    phases[phase].push_back({thread, offset});
  }
  BankConflicts result;
  for (ArrayRef<ThreadAccess> phase : phases)
    if (!phase.empty())
      addPhase(phase, bytes, banks.getNumBanks(isWrite), result);
  return result;
}

/// Returns the byte offsets of the vectors that start at value `value` of
/// `count` threads from `first` on.
static Expected<SmallVector<int64_t>> getVectors(const SwizzledLayout &layout,
                                                 int64_t first, int64_t count,
                                                 int64_t value, int64_t vector,
                                                 int64_t elementBits) {
  int64_t threads = layout.layout.getMode(0).getSize();
  SmallVector<int64_t> offsets;
  for (int64_t thread = first; thread < first + count; ++thread) {
    int64_t start = layout(thread + value * threads);
    for (int64_t i = 1; i < vector; ++i)
      if (layout(thread + (value + i) * threads) != start + i)
        return makeLayoutError("values ", value, " to ", value + vector - 1,
                               " of thread ", thread,
                               " do not lie side by side");
    offsets.push_back(start * elementBits / 8);
  }
  return offsets;
}

Expected<BankConflicts>
tilews::getBankConflicts(const SwizzledLayout &layout, int64_t elementBits,
                         int64_t vector, int64_t warpSize, SharedBanks banks,
                         bool isWrite) {
  const Layout &plain = layout.layout;
  if (plain.getShape().isLeaf() || plain.getRank() != 2)
    return makeLayoutError("expected the modes (thread, value), found ",
                           plain.str());
  int64_t threads = plain.getMode(0).getSize();
  int64_t values = plain.getMode(1).getSize();
  if (vector < 1 || values % vector != 0 || warpSize < 1 || elementBits < 1 ||
      elementBits > 128 || multiply(vector, elementBits) % 8 != 0)
    return makeLayoutError("vectors of ", vector, " elements of ", elementBits,
                           " bits do not divide the ", values,
                           " values of a thread into whole bytes");
  int64_t bytes = multiply(vector, elementBits) / 8;
  if (Error error = checkBytes(bytes))
    return std::move(error);
  if (multiply(threads, values) > (1 << 24))
    return makeLayoutError("the layout ", plain.str(),
                           " has too many elements to look at each");
  BankConflicts worst;
  for (int64_t first = 0; first < threads; first += warpSize)
    for (int64_t value = 0; value < values; value += vector) {
      Expected<SmallVector<int64_t>> offsets =
          getVectors(layout, first, std::min(warpSize, threads - first), value,
                     vector, elementBits);
      if (!offsets)
        return offsets.takeError();
      Expected<BankConflicts> next =
          getBankConflicts(*offsets, bytes, banks, isWrite);
      if (!next)
        return next;
      if (next->clash) {
        next->clash->first += first;
        next->clash->second += first;
      }
      if (next->wavefronts > worst.wavefronts)
        worst = *next;
    }
  return worst;
}
