//===- OperandAccess.cpp - How warps read operands of products ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Bytes of all banks side by side.
static constexpr int64_t lineBytes = 128;

OperandAccess tilews::getMatrixRowAccess(const MmaInstruction &mma, bool isLhs,
                                         bool transposed) {
  // Dimensions as in (m, k) or (k, n).
  int64_t outer = isLhs ? 0 : 1, inner = 1 - outer;
  // The rows are along K unless the buffer is stored the other way around.
  bool alongK = isLhs != transposed;
  // The matrices of a left operand follow along M, then along K; those of a
  // right operand along K, then along N.
  Mode alongOuter = {2, 8, outer}, alongInner = {2, mma.k / 2, inner};
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

Expected<BankConflicts> tilews::getBankConflicts(const OperandAccess &access,
                                                 const SharedLayout &layout,
                                                 int64_t elementBits) {
  int64_t vector = access.rowBytes * 8 / elementBits;
  if (vector == 0)
    vector = std::gcd(std::min<int64_t>(access.lanes.getContiguity(1),
                                        lineBytes / elementBits),
                      layout.getContiguity(elementBits));
  SmallVector<int64_t> shape = layout.getShape();
  int64_t values = access.lanes.getNumValues();
  BankConflicts worst;
  for (int64_t value = 0; value < values;
       value += access.rowBytes ? 1 : vector) {
    SmallVector<int64_t> offsets;
    for (int64_t lane = 0; lane < access.lanes.getNumThreads(); ++lane) {
      SmallVector<int64_t> coords = access.lanes.getCoords(lane, value, 2);
      // What a small buffer lacks is not read.
      if (coords[0] < shape[0] && coords[1] < shape[1])
        offsets.push_back(layout.getOffset(coords, elementBits) * elementBits /
                          8);
    }
    Expected<BankConflicts> next =
        getBankConflicts(offsets, vector * elementBits / 8);
    if (!next)
      return next;
    if (next->wavefronts > worst.wavefronts)
      worst = *next;
  }
  return worst;
}

/// Swizzles of panels with this span. Those that keep the most bytes together
/// come first, and among them those that look at the line right above.
static SmallVector<Swizzle> getSwizzles(int64_t span) {
  SmallVector<Swizzle> swizzles;
  for (int64_t chunk : {16, 32, 64, 8, 4})
    for (int64_t skipped = 0; skipped < 4; ++skipped)
      for (int64_t bits = int64_t(llvm::Log2_64(span)) - llvm::Log2_64(chunk);
           bits > 0; --bits) {
        int64_t base = llvm::Log2_64(chunk);
        swizzles.push_back({bits, base, 7 - base + skipped});
      }
  return swizzles;
}

SharedLayout tilews::getOperandLayout(ArrayRef<int64_t> shape,
                                      int64_t elementBits,
                                      const OperandAccess &access) {
  int64_t rowBytes = shape.back() * elementBits / 8;
  SharedLayout best = SharedLayout::getRowMajor(shape);
  std::optional<int64_t> bestWavefronts;
  auto isFree = [&](const SharedLayout &layout) {
    Expected<BankConflicts> conflicts =
        getBankConflicts(access, layout, elementBits);
    if (!conflicts) {
      llvm::consumeError(conflicts.takeError());
      return false;
    }
    if (!bestWavefronts || conflicts->wavefronts < *bestWavefronts) {
      best = layout;
      bestWavefronts = conflicts->wavefronts;
    }
    return conflicts->degree == 1;
  };
  for (int64_t span : {128, 64, 32, 16}) {
    if (rowBytes % span != 0)
      continue;
    SharedLayout panels = SharedLayout::getPanels(shape, elementBits, span);
    for (Swizzle swizzle : getSwizzles(span))
      if (isFree(SharedLayout(panels.getModes(), swizzle)))
        return best;
    if (isFree(SharedLayout(panels.getModes())))
      return best;
  }
  isFree(SharedLayout::getRowMajor(shape));
  return best;
}
