//===- OperandAccess.cpp - Warp accesses to operands of matmuls -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches a layout of a shared operand without bank conflicts. The reads of a
// warp, by ldmatrix, transposing reads or single registers, and the writes of
// the copy that fills the buffer are evaluated on the candidate, one phase of
// threads after the other. Candidates are panels of 128 bytes down to 16 and
// plain rows, each with all swizzles that stay within the panel. The first
// candidate without conflicts wins, or else the one with the fewest
// wavefronts.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/OperandAccess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::SmallVector;

OperandAccess tilews::getMatrixRowAccess(const MmaInstruction &mma, bool isLhs,
                                         bool transposed) {
  // Dimensions as in (m, k) or (k, n).
  int64_t outer = isLhs ? 0 : 1, inner = 1 - outer;
  // The rows are along K unless the buffer is stored the other way around.
  bool alongK = isLhs != transposed;
  // The matrices of a left operand follow along M, then along K; those of a
  // right operand along K, then along N. An operand's last registers differ
  // in the matrix along K.
  Mode alongInner = (isLhs ? mma.lhs : mma.rhs).getValueModes().back();
  Mode alongOuter = {4 / alongInner.extent, 8, outer};
  SmallVector<Mode> thread = {{8, 1, alongK ? outer : inner},
                              isLhs ? alongOuter : alongInner,
                              isLhs ? alongInner : alongOuter};
  FragmentLayout lanes(thread, {});
  return {transposed ? lanes.transpose({1, 0}) : lanes, 16};
}

OperandAccess tilews::getRegisterAccess(const MmaInstruction &mma, bool isLhs,
                                        bool transposed) {
  const FragmentLayout &lanes = isLhs ? mma.lhs : mma.rhs;
  return {transposed ? lanes.transpose({1, 0}) : lanes, 0};
}

std::optional<TransposedRead> tilews::getTransposedRead(int64_t elementBits,
                                                        bool hasInstruction) {
  if (elementBits != 8 && elementBits != 16)
    return std::nullopt;
  // "AMD Instinct CDNA4 Instruction Set Architecture", "MFMA Transpose Load
  // from LDS".
  if (hasInstruction)
    return TransposedRead{/*lanes=*/16, /*bytes=*/8};
  return TransposedRead{/*lanes=*/4, /*bytes=*/4 * elementBits / 8};
}

std::optional<FragmentLayout>
tilews::getTransposedRuns(const MmaInstruction &mma, bool isLhs,
                          int64_t elementBits, TransposedRead read) {
  int64_t perLane = read.bytes * 8 / elementBits;
  int64_t outer = isLhs ? 0 : 1, inner = 1 - outer;
  const FragmentLayout &operand = isLhs ? mma.lhs : mma.rhs;
  ArrayRef<Mode> thread = operand.getThreadModes();
  ArrayRef<Mode> value = operand.getValueModes();
  auto isRun = [](ArrayRef<Mode> modes, int64_t dim, int64_t least) {
    return !modes.empty() && modes.front().dim == dim &&
           modes.front().stride == 1 && modes.front().extent % least == 0;
  };
  if (!isRun(thread, outer, read.lanes) || !isRun(value, inner, perLane))
    return std::nullopt;
  SmallVector<Mode> lanes = {
      {read.lanes / perLane, perLane, outer},
      {perLane, 1, inner},
      {thread.front().extent / read.lanes, read.lanes, outer}};
  llvm::append_range(lanes, thread.drop_front());
  SmallVector<Mode> reads = {{value.front().extent / perLane, perLane, inner}};
  llvm::append_range(reads, value.drop_front());
  return FragmentLayout(lanes, reads);
}

OperandAccess tilews::getTransposedAccess(const MmaInstruction &mma, bool isLhs,
                                          bool transposed, int64_t elementBits,
                                          bool hasInstruction) {
  if (auto read = getTransposedRead(elementBits, hasInstruction))
    if (auto runs = getTransposedRuns(mma, isLhs, elementBits, *read))
      return {transposed ? runs->transpose({1, 0}) : *runs, read->bytes};
  return getRegisterAccess(mma, isLhs, transposed);
}

/// Returns the worst of the accesses, each to `vector` registers of `numLanes`
/// lanes.
static Expected<BankConflicts>
getWorst(const FragmentLayout &lanes, int64_t numLanes, int64_t step,
         int64_t vector, const SharedLayout &layout, int64_t elementBits,
         SharedBanks banks, bool isWrite) {
  SmallVector<int64_t> shape = layout.getShape();
  BankConflicts worst;
  for (int64_t value = 0; value < lanes.getNumValues(); value += step) {
    SmallVector<int64_t> offsets;
    for (int64_t lane = 0; lane < numLanes; ++lane) {
      SmallVector<int64_t> coords = lanes.getCoords(lane, value, shape.size());
      // A small buffer lacks some elements; they are not accessed.
      bool isInside = llvm::all_of(llvm::zip(coords, shape), [](auto pair) {
        return std::get<0>(pair) < std::get<1>(pair);
      });
      offsets.push_back(isInside ? layout.getOffset(coords, elementBits) *
                                       elementBits / 8
                                 : -1);
    }
    Expected<BankConflicts> next =
        getBankConflicts(offsets, vector * elementBits / 8, banks, isWrite);
    if (!next)
      return next;
    if (next->wavefronts > worst.wavefronts)
      worst = *next;
  }
  return worst;
}

Expected<BankConflicts> tilews::getBankConflicts(const OperandAccess &access,
                                                 const SharedLayout &layout,
                                                 int64_t elementBits,
                                                 SharedBanks banks) {
  int64_t numLanes = access.lanes.getNumThreads();
  if (access.rowBytes)
    return getWorst(access.lanes, numLanes, 1,
                    access.rowBytes * 8 / elementBits, layout, elementBits,
                    banks, /*isWrite=*/false);
  int64_t run = std::min(access.lanes.getContiguity(1), 128 / elementBits);
  int64_t vector = std::gcd(run, layout.getContiguity(elementBits));
  return getWorst(access.lanes, numLanes, vector, vector, layout, elementBits,
                  banks, /*isWrite=*/false);
}

Expected<BankConflicts> tilews::getCopyConflicts(const SharedLayout &layout,
                                                 int64_t elementBits,
                                                 int64_t numThreads,
                                                 SharedBanks banks) {
  int64_t vector =
      std::min(layout.getContiguity(elementBits), 128 / elementBits);
  FragmentLayout lanes =
      getBlockedLayout(layout.getShape(), numThreads, vector);
  return getWorst(lanes, std::min<int64_t>(numThreads, 32), vector, vector,
                  layout, elementBits, banks, /*isWrite=*/true);
}

/// Returns swizzles of chunks within spans of `span` bytes. Chunks of 16 bytes
/// come first, then larger ones, which keep more bytes together, then smaller
/// ones.
static SmallVector<Swizzle> getSwizzles(int64_t span) {
  SmallVector<Swizzle> swizzles;
  for (int64_t chunk : {16, 32, 64, 8, 4}) {
    int64_t base = llvm::Log2_64(chunk);
    int64_t most = int64_t(llvm::Log2_64(span)) - base;
    for (int64_t skipped = 0; skipped < 4; ++skipped)
      for (int64_t bits = most; bits > 0 && bits > most - 2; --bits)
        swizzles.push_back({bits, base, 7 - base + skipped});
  }
  return swizzles;
}

namespace {
/// Searches for the layout with the fewest wavefronts.
struct LayoutSearch {
  int64_t elementBits;
  const OperandAccess &access;
  int64_t numThreads;
  SharedBanks banks;
  SharedLayout best;
  std::optional<int64_t> fewest; // wavefronts

  /// Tries a layout. Returns whether it has no conflicts at all.
  bool isFree(const SharedLayout &layout) {
    // The bytes at the address of a lane must lie side by side.
    if (layout.getContiguity(elementBits) * elementBits < access.rowBytes * 8)
      return false;
    Expected<BankConflicts> reads =
        getBankConflicts(access, layout, elementBits, banks);
    if (!reads) {
      llvm::consumeError(reads.takeError());
      return false;
    }
    // If the reads alone are worse than the best layout, copies are not
    // counted.
    if (reads->degree > 1 && fewest && reads->wavefronts >= *fewest)
      return false;
    Expected<BankConflicts> copies =
        getCopyConflicts(layout, elementBits, numThreads, banks);
    if (!copies) {
      llvm::consumeError(copies.takeError());
      return false;
    }
    int64_t wavefronts = reads->wavefronts + copies->wavefronts;
    if (!fewest || wavefronts < *fewest) {
      best = layout;
      fewest = wavefronts;
    }
    return reads->degree == 1 && copies->degree == 1;
  }
  /// Tries all swizzles within spans of a layout that need no further bytes.
  bool findFree(const SharedLayout &plain, int64_t span) {
    int64_t size = plain.getCosize(elementBits);
    for (Swizzle swizzle : getSwizzles(span)) {
      SharedLayout layout(plain.getModes(), swizzle);
      if (layout.getCosize(elementBits) == size && isFree(layout))
        return true;
    }
    return isFree(plain);
  }
};
} // namespace

SharedLayout tilews::chooseOperandLayout(ArrayRef<int64_t> shape,
                                         int64_t elementBits,
                                         const OperandAccess &access,
                                         int64_t numThreads,
                                         SharedBanks banks) {
  SharedLayout rows = SharedLayout::getRowMajor(shape);
  LayoutSearch search = {elementBits, access, numThreads,
                         banks,       rows,   std::nullopt};
  int64_t rowBytes = shape.back() * elementBits / 8;
  // The largest power of two that divides a row.
  int64_t widest = std::min<int64_t>(rowBytes & -rowBytes, 128);
  for (int64_t span = widest; span >= 16; span /= 2) {
    if (search.findFree(
            SharedLayout(
                SharedLayout::getPanels(shape, elementBits, span).getModes()),
            span))
      return search.best;
    if (span == widest && search.findFree(rows, span))
      return search.best;
  }
  search.findFree(rows, widest);
  return search.best;
}
